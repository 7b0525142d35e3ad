//! Rules between routing and the rest.

use fabricsim_units::Time;

use super::Found;
use crate::{Experiment, Queueing, RateMismatch};

pub(super) fn check(experiment: &Experiment) -> Result<(), Found> {
    let Experiment { routing, switch, faults, .. } = experiment;
    if !routing.lookahead {
        return Ok(());
    }
    let message = if switch.router_delay == Time::ZERO {
        "not with `switch.router_delay = \"0 ns\"`: a packet can be sent as it arrives"
    } else if switch.queueing == Queueing::Cioq {
        "not for `switch.queueing = \"cioq\"`: use \"fifo\" or \"voq\""
    } else if switch.rate_mismatch == RateMismatch::HoldOutput {
        "not with `switch.rate_mismatch = \"hold-output\"`: use \"delay-start\""
    } else if !faults.plan.is_empty() {
        "not with `faults.plan`: a packet keeps the hop that was chosen before a fault"
    } else {
        return Ok(());
    };
    Err(("routing.lookahead".to_owned(), message.to_owned()))
}

#[cfg(test)]
mod tests {
    use crate::read;

    fn message(rest: &str) -> String {
        let text = format!(
            "topology.fat-tree = {{ arity = 2, levels = 2 }}\nrun.duration = \"1 us\"\n\
             routing = {{ algorithm = \"up-down-adaptive\", lookahead = true }}\n{rest}"
        );
        let experiment = read(&text, "e.toml", &[]).unwrap();
        crate::check(&experiment, "e.toml").err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn lookahead_needs_a_delay_and_hops_that_are_kept() {
        assert_eq!(message(""), "");
        for (rest, part) in [
            ("switch.router_delay = \"0 ns\"", "not with `switch.router_delay = \"0 ns\"`"),
            ("switch.queueing = \"cioq\"", "not for `switch.queueing = \"cioq\"`"),
            ("switch.rate_mismatch = \"hold-output\"", "not with `switch.rate_mismatch = \"hold-output\"`"),
            ("faults.plan = [{ link = \"a-b\", at = \"1 us\" }]", "not with `faults.plan`"),
        ] {
            let found = message(rest);
            assert!(found.contains(&format!("routing.lookahead: {part}")), "{rest}: {found}");
        }
    }
}
