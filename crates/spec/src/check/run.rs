//! Rules between the values of the phases of a run.

use fabricsim_units::Time;

use super::{DAY, Problem};
use crate::{Run, SteadyState};

/// Longest warm-up and measurement together: with a steady-state search (twice as long) and the default drain (ten
/// times that) the end stays within the clock's 213 days.
const LONGEST_RUN: Time = Time(7 * DAY.0);

/// Minimum number of batches of a measurement with steady-state detection.
const FEWEST_BATCHES: u64 = 10;

pub(super) fn check(run: &Run) -> Result<(), Problem> {
    let whole = run.warmup.saturating_add(run.duration);
    if whole > LONGEST_RUN {
        let key = if run.duration > LONGEST_RUN { "run.duration" } else { "run.warmup" };
        let message =
            format!("warm-up and duration are {whole} together: give at most {LONGEST_RUN} (7 days)");
        return Err((key, message));
    }
    run.steady_state.as_ref().map_or(Ok(()), |rule| steady_state(rule, run.duration))
}

fn steady_state(rule: &SteadyState, duration: Time) -> Result<(), Problem> {
    let batch = rule.batch.unwrap_or_default();
    if batch > duration / FEWEST_BATCHES {
        let message = format!(
            "{batch} is not allowed: a measurement of {duration} needs room for {FEWEST_BATCHES} batches or more"
        );
        return Err(("run.steady_state.batch", message));
    }
    if rule.of.is_empty() {
        let message = "the list is empty: give one or more numbers, for example [\"latency_ns.mean\"]";
        return Err(("run.steady_state.of", message.to_owned()));
    }
    if let Some(twice) = rule.of.iter().enumerate().find(|(at, metric)| rule.of[..*at].contains(metric)) {
        let message = format!("\"{}\" is there twice: give each name once", twice.1.name());
        return Err(("run.steady_state.of", message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_refused;

    #[test]
    fn runs_that_make_no_sense_are_refused() {
        assert_refused(&[
            ("run.duration", "0 ns", "run.duration: 0 is not allowed"),
            (
                "run.duration",
                "604801 s",
                "run.duration: warm-up and duration are 604801 s together: give at most 604800 s",
            ),
            ("run.warmup", "18446744073709551615 ps", "run.warmup: warm-up and duration are"),
            ("run.drain_limit", "0 s", "run.drain_limit: 0 is not allowed"),
            ("run.drain_limit", "18446744073709551615 ps", "run.drain_limit: "),
            ("run.partitions", "0", "run.partitions: 0 is not allowed: give a number from 1 to 256"),
            ("run.partitions", "257", "run.partitions: 257 is not allowed"),
            ("run.threads", "0", "run.threads: 0 is not allowed: give a number from 1 to 256"),
            ("run.threads", "257", "run.threads: 257 is not allowed"),
            ("run.steady_state.precision", "0.0", "run.steady_state.precision: 0 is not allowed"),
            ("run.steady_state.precision", "nan", "run.steady_state.precision: NaN is not allowed"),
            ("run.steady_state.confidence", "1.0", "give a number between 0 and 1"),
            ("run.steady_state.batch", "0 ns", "run.steady_state.batch: 0 is not allowed"),
            ("run.steady_state.batch", "101 us", "needs room for 10 batches"),
            ("run.steady_state.of", "[]", "run.steady_state.of: the list is empty: give one or more numbers"),
            (
                "run.steady_state.of",
                "[\"accepted_gbps\", \"accepted_gbps\"]",
                "run.steady_state.of: \"accepted_gbps\" is there twice",
            ),
            ("measure.bin", "0 ns", "measure.bin: 0 is not allowed"),
        ]);
    }
}
