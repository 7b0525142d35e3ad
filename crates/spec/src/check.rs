//! Checks of values that are invalid for every network. The layers that build the network check the rest.

use fabricsim_units::{Bytes, Rate, Time};
use serde::Serialize;

mod adapter;
mod age;
mod capture;
mod congestion;
mod faults;
mod mpi;
mod multicast;
mod no_effect;
mod partitions;
mod queue_pairs;
mod routing;
mod run;
mod service_levels;
mod subnet_manager;
mod switch;
mod traffic;
mod training;
mod transport;
mod tune;
mod vl_arbitration;
mod windows;

use crate::allowed::SCHEMA;
use crate::range::all_out_of_range;
use crate::{Experiment, Host, Sink, SpecError};

const DAY: Time = Time(86_400 * SECOND.0);
const SECOND: Time = Time(1_000_000_000_000);

/// An error at a key: the key and the message.
type Problem = (&'static str, String);

/// An error at a key that is composed at run time: the key and the message.
type Found = (String, String);

/// Warnings about settings that are allowed and probably not intended.
pub fn warnings(experiment: &Experiment) -> Vec<String> {
    let mut found = congestion::warnings(experiment);
    found.extend(no_effect::warnings(experiment));
    found
}

/// Checks values that are invalid for every network: first the range of every field, as the field states it, then
/// rules between values. The error names the key.
pub fn check(experiment: &Experiment, file: &str) -> Result<(), SpecError> {
    check_ranges(experiment, file)?;
    problems(experiment, file).next().map_or(Ok(()), Err)
}

/// The first error in each part of an experiment whose values are in their ranges.
pub(crate) fn check_values(experiment: &Experiment, file: &str) -> Vec<SpecError> {
    problems(experiment, file).collect()
}

fn problems<'a>(experiment: &'a Experiment, file: &'a str) -> impl Iterator<Item = SpecError> + 'a {
    let found = CHECKS.iter().filter_map(|check| check(experiment).err());
    found.map(|(key, message)| SpecError::at_key(file, &key, message))
}

type Check = fn(&Experiment) -> Result<(), Found>;

/// Rules between values, by part of an experiment.
const CHECKS: &[Check] = &[
    |of| named(run::check(&of.run)),
    |of| named(switch::check(&of.switch)),
    |of| named(host(&of.host)),
    |of| named(switch::pauses_of_hosts(of)),
    |of| {
        let tables = of.host.vl_arbitration.as_ref();
        tables.map_or(Ok(()), |tables| named(vl_arbitration::check_hosts(&of.switch, tables)))
    },
    traffic::check,
    routing::check,
    service_levels::check,
    partitions::check,
    multicast::check,
    queue_pairs::check,
    mpi::check,
    adapter::check,
    congestion::check,
    age::check,
    transport::check,
    faults::check,
    training::check,
    subnet_manager::check,
    |of| of.capture.as_ref().map_or(Ok(()), capture::check),
    |of| of.tune.as_ref().map_or(Ok(()), tune::check),
];

fn named(result: Result<(), Problem>) -> Result<(), Found> {
    result.map_err(|(key, message)| (key.to_owned(), message))
}

/// Checks the range of every field, as the field states it. The error names the key.
pub fn check_ranges(experiment: &Experiment, file: &str) -> Result<(), SpecError> {
    out_of_ranges(experiment, file).into_iter().next().map_or(Ok(()), Err)
}

/// All values outside the ranges of their fields, of an experiment or of what is written of one.
pub(crate) fn out_of_ranges<T: Serialize>(value: &T, file: &str) -> Vec<SpecError> {
    match all_out_of_range(&SCHEMA, value) {
        Ok(found) => found.iter().map(|found| SpecError::at_key(file, &found.key, found.message())).collect(),
        Err(message) => vec![SpecError { file: file.to_owned(), line: None, key: None, message }],
    }
}

fn host(host: &Host) -> Result<(), Problem> {
    if host.response_queue.is_some() && host.sink != Sink::default() {
        let message =
            "with `host.sink` the sink alone decides when a packet is accepted: leave one of them out";
        return Err(("host.response_queue", message.to_owned()));
    }
    let (work, pause) = match (host.sink.pause_every, host.sink.pause_for) {
        (Some(work), Some(pause)) => (work, pause),
        (None, None) => return Ok(()),
        (Some(_), None) => {
            return Err((
                "host.sink.pause_every",
                "`pause_for` is missing: the length of a pause".to_owned(),
            ));
        }
        (None, Some(_)) => {
            return Err((
                "host.sink.pause_for",
                "`pause_every` is missing: the time between pauses".to_owned(),
            ));
        }
    };
    let taken = taking(host.mtu, host.sink.rate, work, pause);
    if taken > u128::from(DAY.0) {
        let message = format!(
            "with pauses of {pause} after every {work} a host would take more than a day for a packet of {}",
            host.mtu
        );
        return Err(("host.sink.pause_for", message));
    }
    Ok(())
}

/// Picoseconds in which a sink that works and pauses accepts `bytes`: its working time, and the pauses between.
fn taking(bytes: Bytes, rate: Option<Rate>, work: Time, pause: Time) -> u128 {
    let bits = u128::from(bytes.get()) * 8;
    let busy = rate.map_or(0, |rate| bits * u128::from(SECOND.0) / u128::from(rate.bits_per_second()));
    let pauses = busy / u128::from(work.0) + 1;
    busy + pauses * u128::from(pause.0)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const SMALL: &str = "
[topology.mesh]
dimensions = [3, 3]
[run]
duration = '1 ms'
";

    fn checked(key: &str, value: &str) -> Result<(), String> {
        let overrides = [(key.to_owned(), value.to_owned())];
        let experiment = crate::read(SMALL, "e.toml", &overrides).unwrap();
        check(&experiment, "e.toml").map_err(|e| e.located(SMALL, &overrides).to_string())
    }

    /// Asserts that each value of a key is refused with a message.
    pub(super) fn assert_refused(cases: &[(&str, &str, &str)]) {
        for (key, value, expected) in cases {
            let error = checked(key, value).unwrap_err();
            assert!(error.starts_with("e.toml: ") && error.contains(expected), "{error}");
            assert!(error.contains(" (set on top of the file"), "{error}");
        }
    }

    #[test]
    fn switches_that_make_no_sense_are_refused() {
        assert_refused(&[
            (
                "switch.router_delay",
                "1001 ms",
                "switch.router_delay: 1.001 s is not allowed: give at most 1 s",
            ),
            ("switch.credit_delay", "18446744073709551615 ps", "switch.credit_delay: "),
            (
                "switch.speculative",
                "false",
                "switch.speculative: false is only for `allocation = \"separable\"`",
            ),
            (
                "switch.head_delay",
                "101 ns",
                "switch.head_delay: 101 ns is not allowed: it is part of `switch.router_delay`, so at most 100 ns",
            ),
            (
                "switch",
                "{ head_delay = '1 ns', queueing = 'cioq' }",
                "switch.head_delay: not for `queueing = \"cioq\"`: give `switch.staging.delay` instead",
            ),
            (
                "switch.unit_interval",
                "1001 ms",
                "switch.unit_interval: 1.001 s is not allowed: give at most 1 s",
            ),
            (
                "switch",
                "{ unit_interval = '1 ns', queueing = 'fifo', allocation = 'separable' }",
                "switch.unit_interval: only for `queueing = \"fifo\"` and `\"voq\"` with",
            ),
            (
                "switch",
                "{ unit_interval = '1 ns', queueing = 'cioq' }",
                "switch.unit_interval: only for `queueing = \"fifo\"` and `\"voq\"` with",
            ),
            (
                "switch",
                "{ rate_mismatch = 'hold-output', switching = 'store-and-forward' }",
                "switch.rate_mismatch: \"hold-output\" is not for `switching = \"store-and-forward\"`",
            ),
            (
                "switch",
                "{ rate_mismatch = 'hold-output', queueing = 'cioq' }",
                "switch.rate_mismatch: \"hold-output\" is not for `queueing = \"cioq\"`",
            ),
            (
                "switch.allocation",
                "separable",
                "switch.allocation: `separable` is for `queueing = \"fifo\"` only",
            ),
            (
                "switch",
                "{ allocation = 'separable', queueing = 'fifo', arbiter = 'random' }",
                "`separable` is for the arbiters `round-robin` and `oldest-first` only",
            ),
        ]);
    }

    #[test]
    fn link_layers_that_make_no_sense_are_refused() {
        assert_refused(&[
            ("switch.vl_stall_count", "3", "switch.vl_stall_count: `head_of_queue_lifetime` is missing"),
            ("switch.vl_stall_count", "8", "switch.vl_stall_count: 8 is not allowed"),
            ("switch.head_of_queue_lifetime", "0 ns", "switch.head_of_queue_lifetime: 0 is not allowed"),
            (
                "switch",
                "{ head_of_queue_lifetime = '1 us', queueing = 'fifo', allocation = 'separable' }",
                "switch.head_of_queue_lifetime: not with `allocation",
            ),
            (
                "switch",
                "{ lifetime_limit = '1 us', queueing = 'fifo', allocation = 'separable' }",
                "switch.lifetime_limit: not with `allocation",
            ),
            (
                "switch",
                "{ flow_control = 'packets', flow_control_unit = '8 B' }",
                "switch.flow_control: `flow_control_unit` is 8 B: flow-control packets count blocks of 64 B",
            ),
            (
                "switch",
                "{ flow_control = 'packets', queueing = 'fifo', allocation = 'separable' }",
                "switch.flow_control: \"packets\" is not for `allocation",
            ),
            ("switch.flow_control_period", "0 ns", "switch.flow_control_period: 0 is not allowed"),
        ]);
    }

    #[test]
    fn hosts_that_make_no_sense_are_refused() {
        assert_refused(&[
            ("host.open_messages", "0", "host.open_messages: 0 is not allowed"),
            ("host.sink", "{ pause_for = '1 us' }", "host.sink.pause_for: `pause_every` is missing"),
            ("host.sink", "{ pause_every = '1 us' }", "host.sink.pause_every: `pause_for` is missing"),
            ("host.sink", "{ pause_every = '0 ns', pause_for = '1 us' }", "pause_every: 0 is not allowed"),
            (
                "host.sink",
                "{ rate = '1 Mb/s', pause_every = '1 ps', pause_for = '1 s' }",
                "would take more than a day for a packet of 2048 B",
            ),
        ]);
    }

    #[test]
    fn parameters_of_routing_are_within_their_ranges() {
        let cases = [
            ("routing.threshold", "-1.0", "give a number of packets from 0 to 1000000"),
            ("routing.congested", "nan", "routing.congested: NaN is not allowed"),
            ("routing.trigger", "1.5", "routing.trigger: 1.5 is not allowed: give a number from 0 to 1"),
            ("routing.ratio", "inf", "routing.ratio: inf is not allowed"),
            (
                "routing.weights",
                "[1, 0]",
                "routing.weights.1: 0 is not allowed: give a number from 1 to 1000",
            ),
            ("routing.weights", "[1001, 1]", "routing.weights.0: 1001 is not allowed"),
            ("routing.choices", "0", "routing.choices: 0 is not allowed: give a number from 1 to 65535"),
        ];
        for (key, value, expected) in cases {
            let error = checked(key, value).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        assert_eq!(
            checked("routing", "{ weights = [1, 1000], choices = 1, ratio = 1.0, trigger = 0 }"),
            Ok(())
        );
    }

    #[test]
    fn the_ends_of_the_ranges_are_allowed() {
        let cases = [
            ("run.duration", "604800 s"),
            ("run.duration", "1 ps"),
            ("run.drain_limit", "6048000 s"),
            ("run.partitions", "256"),
            ("run.steady_state", "{}"),
            ("run.steady_state.batch", "100 us"),
            ("measure.bin", "1 ps"),
            ("switch.router_delay", "0 ns"),
            ("switch.router_delay", "1 s"),
            ("switch.head_delay", "100 ns"),
            ("switch", "{ head_delay = '0 ns', queueing = 'cioq' }"),
            ("switch", "{ rate_mismatch = 'hold-output', allocation = 'separable', queueing = 'fifo' }"),
            ("switch", "{ rate_mismatch = 'delay-start', switching = 'store-and-forward' }"),
            ("switch", "{ speculative = false, allocation = 'separable', queueing = 'fifo' }"),
            ("switch", "{ allocation = 'separable', queueing = 'fifo', arbiter = 'oldest-first' }"),
            ("host.sink", "{ pause_every = '1 us', pause_for = '0 ns' }"),
            ("host.sink", "{ rate = '32 Gb/s', pause_every = '0.1 us', pause_for = '12.5 ns' }"),
        ];
        for (key, value) in cases {
            assert_eq!(checked(key, value), Ok(()), "{key} = {value}");
        }
    }

    #[test]
    fn an_error_names_the_line_of_the_file() {
        let text = SMALL.replace("1 ms", "0 ms");
        let error = check(&crate::read(&text, "e.toml", &[]).unwrap(), "e.toml").unwrap_err();
        assert!(
            error.located(&text, &[]).to_string().starts_with("e.toml:5: run.duration: 0 is not allowed")
        );
    }
}
