//! Checks of age-based arbitration and of switches that are input- and output-queued.

use super::Found;
use crate::{Allocation, Arbiter, CongestionAlgorithm, Experiment, Queueing, SendWhen};

pub(super) fn check(experiment: &Experiment) -> Result<(), Found> {
    let switch = &experiment.switch;
    let fail = |key: &str, message: String| Err((key.to_owned(), message));
    if switch.arbiter == Arbiter::AgeBased && !switch.priority_classes.is_empty() {
        let message =
            "`age-based` has no priorities: use a larger bias for a class (`switch.age.response_bias`)";
        return fail("switch.priority_classes", message.to_owned());
    }
    if switch.allocation == Allocation::Separable && switch.send_when != SendWhen::PacketFits {
        let message =
            "`allocation = \"separable\"` sends when the packet fits: leave this out, or use `maximal`";
        return fail("switch.send_when", message.to_owned());
    }
    if switch.queueing != Queueing::Cioq {
        return Ok(());
    }
    if switch.allocation == Allocation::Separable {
        return fail("switch.allocation", "`separable` is for `queueing = \"fifo\"` only".to_owned());
    }
    let starving = experiment.congestion_control.infiniband.credit_starvation_threshold > 0;
    if experiment.congestion_control.algorithm == CongestionAlgorithm::Infiniband && starving {
        let message =
            "late credits are not for `queueing = \"cioq\"`, whose input buffers do not wait for outputs";
        return fail("congestion_control.infiniband.credit_starvation_threshold", message.to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::check;

    const SMALL: &str = "
[topology.mesh]
dimensions = [3, 3]
[switch]
arbiter = 'age-based'
queueing = 'cioq'
virtual_lanes = 2
service_classes = 2
[run]
duration = '1 ms'
";

    fn checked(key: &str, value: &str) -> Result<(), String> {
        let overrides = [(key.to_owned(), value.to_owned())];
        let read = crate::read(SMALL, "e.toml", &overrides);
        let checked = read.and_then(|experiment| check(&experiment, "e.toml"));
        checked.map_err(|error| error.located(SMALL, &overrides).to_string())
    }

    #[test]
    fn what_the_registers_cannot_hold_is_refused() {
        let cases = [
            (
                "switch.age.bias.all",
                "8",
                "e.toml: switch.age.bias.all: 8 is not allowed: an age bias has three bits, 0 to 7",
            ),
            ("switch.age.bias", "{ dimension = { x = 8 } }", "switch.age.bias.dimension.x: 8 is not allowed"),
            ("switch.age.response_bias.hosts", "9", "switch.age.response_bias.hosts: 9 is not allowed"),
            (
                "switch.age.period",
                "4294967296",
                "switch.age.period: expected a whole number from 0 to 4294967295",
            ),
            ("switch.age.period", "-1", "switch.age.period: expected a whole number from 0 to 4294967295"),
            ("switch.age.cycle", "0 ns", "switch.age.cycle: 0 is not allowed"),
            ("switch.age.cycle", "2 us", "switch.age.cycle: 2 us is not allowed"),
            ("switch.priority_classes", "[1]", "switch.priority_classes: `age-based` has no priorities"),
            ("switch.allocation", "separable", "`separable` is for `queueing = \"fifo\"` only"),
            (
                "switch",
                "{ allocation = 'separable', queueing = 'fifo', send_when = 'largest-packet-fits' }",
                "switch.send_when: `allocation = \"separable\"` sends when the packet fits",
            ),
            ("switch.staging.delay", "2 s", "switch.staging.delay: 2 s is not allowed"),
            (
                "congestion_control",
                "{ algorithm = 'infiniband', infiniband = { credit_starvation_threshold = 3 } }",
                "credit_starvation_threshold: late credits are not for `queueing = \"cioq\"`",
            ),
        ];
        for (key, value, expected) in cases {
            let error = checked(key, value).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn the_ends_of_the_ranges_are_allowed() {
        for (key, value) in [
            ("switch.age.bias.all", "7"),
            ("switch.age.bias.hosts", "0"),
            ("switch.age.period", "0"),
            ("switch.age.period", "4294967295"),
            ("switch.age.cycle", "1 us"),
        ] {
            assert_eq!(checked(key, value), Ok(()), "{key} = {value}");
        }
    }
}
