//! Failures: what does not depend on the network.

use super::Found;
use crate::{Allocation, Experiment, Fault, FlowControlBy, Losing};

/// Most entries of a plan: each changes the state of the whole fabric.
const MOST: usize = 10_000;

pub(super) fn check(experiment: &Experiment) -> Result<(), Found> {
    let faults = &experiment.faults;
    if faults.plan.len() > MOST {
        let message = format!("{} entries: give at most {MOST}", faults.plan.len());
        return Err(("faults.plan".to_owned(), message));
    }
    for (number, fault) in faults.plan.iter().enumerate() {
        let by_packets = experiment.switch.flow_control == FlowControlBy::Packets;
        entry(fault, by_packets).map_err(|(key, message)| (format!("faults.plan.{number}{key}"), message))?;
    }
    if !faults.plan.is_empty() && experiment.switch.allocation == Allocation::Separable {
        let message = "links cannot fail with `switch.allocation = \"separable\"`: use \"maximal\"";
        return Err(("faults.plan".to_owned(), message.to_owned()));
    }
    Ok(())
}

fn entry(fault: &Fault, by_packets: bool) -> Result<(), (&'static str, String)> {
    if fault.loses == Losing::FlowControl {
        let message = if !by_packets {
            "\"flow-control\" is for `switch.flow_control = \"packets\"` only"
        } else if fault.link.is_none() {
            "\"flow-control\" is for a `link`"
        } else if fault.until.is_none() {
            "\"flow-control\" needs `until`"
        } else {
            ""
        };
        if !message.is_empty() {
            return Err((".loses", message.to_owned()));
        }
    }
    match (&fault.link, &fault.switch) {
        (Some(_), Some(_)) => return Err(("", "give `link` or `switch`, not both".to_owned())),
        (None, None) => return Err(("", "give `link` or `switch`: what fails".to_owned())),
        _ => {}
    }
    match fault.until {
        Some(until) if until <= fault.at => {
            Err((".until", format!("{until} is not allowed: it must be after `at`, {}", fault.at)))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::read;

    fn message(faults: &str) -> String {
        let text =
            format!("topology.mesh = {{ dimensions = [2, 2] }}\nrun.duration = \"1 us\"\n[faults]\n{faults}");
        let experiment = read(&text, "e.toml", &[]).unwrap();
        crate::check(&experiment, "e.toml").err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn each_entry_names_one_thing_and_ends_after_it_begins() {
        for (faults, part) in [
            (
                "plan = [{ link = \"a-b\", loses = \"flow-control\", at = \"1 us\", until = \"2 us\" }]",
                "faults.plan.0.loses: \"flow-control\" is for `switch",
            ),
            (
                "plan = [{ link = \"a-b\", loses = \"flow-control\", at = \"1 us\" }]\n[switch]\nflow_control = \"packets\"",
                "faults.plan.0.loses: \"flow-control\" needs `until`",
            ),
            ("plan = [{ at = \"1 us\" }]", "faults.plan.0: give `link` or `switch`"),
            ("plan = [{ link = \"a-b\", switch = \"a\", at = \"1 us\" }]", "faults.plan.0: give `link` or"),
            (
                "plan = [{ link = \"a-b\", at = \"1 us\" }, { link = \"a-b\", at = \"2 us\", until = \"2 us\" }]",
                "faults.plan.1.until: 2 us is not allowed",
            ),
            ("plan = [{ switch = \"a\", at = \"1 s\", until = \"9000000 s\" }]", "faults.plan.0.until: "),
            ("plan = [{ switch = \"a\", at = \"9000000 s\" }]", "faults.plan.0.at: "),
            ("reroute_after = \"0 s\"", "faults.reroute_after: 0 is not allowed"),
            ("reroute_after = \"61 s\"", "faults.reroute_after: 61 s is not allowed"),
            ("plan = [{ switch = \"a\", at = \"0 s\", until = \"1 us\" }]\nwaiting = \"hold\"", ""),
        ] {
            let message = message(faults);
            assert!(message.contains(part) && message.is_empty() == part.is_empty(), "{faults}: {message}");
        }
    }
}
