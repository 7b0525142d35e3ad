//! Subnet managers: what does not depend on the network.

use super::Found;
use crate::{Algorithm, Allocation, Experiment, FlowControlBy, Queueing};

/// Most managers: priorities are 0 to 15.
const MOST: usize = 16;

pub(super) fn check(experiment: &Experiment) -> Result<(), Found> {
    let Some(manager) = &experiment.subnet_manager else { return Ok(()) };
    let wrong = |key: &str, message: &str| Err((format!("subnet_manager{key}"), message.to_owned()));
    if experiment.routing.algorithm != Algorithm::Opensm {
        return wrong(
            "",
            "a subnet manager sets forwarding tables: give `routing.algorithm = \"opensm\"` and `routing.engine`",
        );
    }
    if experiment.switch.allocation == Allocation::Separable {
        return wrong("", "not with `switch.allocation = \"separable\"`: use \"maximal\"");
    }
    if experiment.switch.flow_control == FlowControlBy::Packets {
        return wrong("", "not with `switch.flow_control = \"packets\"`: use \"ideal\"");
    }
    if experiment.switch.queueing == Queueing::Cioq {
        return wrong("", "not with `switch.queueing = \"cioq\"`: use \"fifo\" or \"voq\"");
    }
    if experiment.faults.reroute_after.is_some() {
        return Err((
            "faults.reroute_after".to_owned(),
            "not with `subnet_manager`, which finds the routes after a failure: leave one of them out"
                .to_owned(),
        ));
    }
    if manager.nodes.len() > MOST {
        return wrong(
            ".nodes",
            &format!("{} managers: give at most {MOST}, a priority each", manager.nodes.len()),
        );
    }
    let is_repeated = |(number, node): (usize, &String)| manager.nodes[..number].contains(node);
    if manager.nodes.iter().enumerate().any(is_repeated) {
        return wrong(".nodes", "a node twice: give each once");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::read;

    fn message(text: &str) -> String {
        let text = format!("topology.mesh = {{ dimensions = [2, 2] }}\nrun.duration = \"1 us\"\n{text}");
        let experiment = read(&text, "e.toml", &[]).unwrap();
        crate::check(&experiment, "e.toml").err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_manager_needs_tables_that_it_can_set() {
        const OPENSM: &str = "[routing]\nalgorithm = \"opensm\"\nengine = \"minhop\"\n[subnet_manager]\n";
        for (text, part) in [
            ("[subnet_manager]\n", "subnet_manager: a subnet manager sets forwarding tables"),
            (&format!("switch.queueing = \"cioq\"\n{OPENSM}"), "subnet_manager: not with `switch.queueing"),
            (&format!("faults.reroute_after = \"1 us\"\n{OPENSM}"), "faults.reroute_after: not with"),
            (&format!("{OPENSM}nodes = [\"a\", \"b\", \"a\"]"), "subnet_manager.nodes: a node twice"),
            (&format!("{OPENSM}lmc = 8"), "subnet_manager.lmc: 8 is not allowed"),
            (&format!("{OPENSM}timeout = \"0 s\""), "subnet_manager.timeout: 0"),
            (&format!("{OPENSM}nodes = [\"a\"]"), ""),
        ] {
            let message = message(text);
            assert!(message.contains(part) && message.is_empty() == part.is_empty(), "{text}: {message}");
        }
    }
}
