//! Warnings for lost messages for which others wait for ever, since nothing retransmits them.

use fabricsim_engine::{Engine, Prepared};
use fabricsim_measure::HostsSummary;
use fabricsim_model::Observer;
use fabricsim_spec::{Injection, OrderingMode};
use fabricsim_workload::{StreamInfo, StreamKind};

/// Streams named in one warning.
const NAMED: usize = 3;

/// A warning for jobs that have lost packets, and one for closed loops of requests and responses that have.
pub(crate) fn warnings<B: Observer>(engine: &Engine<B>, prepared: &Prepared) -> Vec<String> {
    let experiment = &prepared.experiment;
    if experiment.queue_pairs.is_some() {
        return Vec::new();
    }
    let is_window = |of: &StreamInfo| {
        let requests = of.key.strip_suffix(".response").unwrap_or(&of.key);
        let number = prepared.workload.streams.iter().position(|other| other.key == requests);
        let traffic = number.and_then(|number| experiment.traffic.get(number));
        traffic.is_some_and(|traffic| traffic.injection == Injection::Window)
    };
    let (mut jobs, mut loops) = (Vec::new(), Vec::new());
    for (number, of) in prepared.workload.streams.iter().enumerate() {
        let lost = engine.lost_of_stream(number as u16);
        if lost == 0 || of.ordering != OrderingMode::None {
            continue;
        }
        let list = match of.kind {
            StreamKind::Job => &mut jobs,
            StreamKind::Request | StreamKind::Response if is_window(of) => &mut loops,
            _ => continue,
        };
        list.push((of.key.as_str(), lost));
    }
    [
        warning(&jobs, "the ranks that need their messages wait for ever"),
        warning(&loops, "each lost request or response leaves a place of the window occupied for ever"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// `streams`: keys, and packets that they have lost.
fn warning(streams: &[(&str, u64)], consequence: &str) -> Option<String> {
    if streams.is_empty() {
        return None;
    }
    let named = streams.iter().take(NAMED).map(|(key, lost)| {
        let plural = if *lost == 1 { "" } else { "s" };
        format!("{key} has lost {lost} packet{plural}")
    });
    let others = streams.len().saturating_sub(NAMED);
    let others = if others > 0 { format!(" and {others} others have lost some") } else { String::new() };
    Some(format!(
        "{}{others}, and nothing retransmits them: {consequence}; give routes that go around failures from the start, \
         faults.waiting = \"hold\", [transport] or [queue_pairs]",
        named.collect::<Vec<_>>().join(", ")
    ))
}

/// Adds lost packets to the reason for which a run counts as saturated: they were offered, and not accepted.
pub(crate) fn name_losses(summary: &mut HostsSummary, lost: u64) {
    if let Some(reason) = summary.saturation.as_mut().filter(|_| lost > 0) {
        let text = format!("; {lost} packets were lost, and count as not accepted");
        reason.push_str(&text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Few streams are named, others counted.
    #[test]
    fn three_streams_are_named() {
        assert_eq!(warning(&[], "x"), None);
        let one = warning(&[("jobs.a", 1)], "ranks wait").unwrap_or_default();
        assert!(
            one.starts_with("jobs.a has lost 1 packet, and nothing retransmits them: ranks wait; give "),
            "{one}"
        );
        let streams: Vec<_> = ["a", "b", "c", "d", "e"].into_iter().zip(2..).collect();
        let five = warning(&streams, "ranks wait").unwrap_or_default();
        assert!(
            five.starts_with("a has lost 2 packets, b has lost 3 packets, c has lost 4 packets and 2 others have lost some, and"),
            "{five}"
        );
    }
}
