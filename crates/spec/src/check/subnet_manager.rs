//! Subnet managers: what does not depend on the network.

use super::Found;
use crate::{Algorithm, Allocation, Experiment, FlowControlBy, PathChoice, Queueing, name};

/// Virtual lanes of data.
const DATA_LANES: u8 = 15;

/// Most managers: priorities are 0 to 15.
const MOST: usize = 16;

pub(super) fn check(experiment: &Experiment) -> Result<(), Found> {
    if experiment.routing.paths != PathChoice::First && experiment.lmc() == 0 {
        let message = "hosts have one LID: give `routing.lmc`, or `subnet_manager.lmc` with a subnet manager";
        return Err(("routing.paths".to_owned(), message.to_owned()));
    }
    let Some(manager) = &experiment.subnet_manager else { return Ok(()) };
    if experiment.routing.lmc > 0 {
        let message = "a subnet manager assigns the LIDs: give `subnet_manager.lmc` instead";
        return Err(("routing.lmc".to_owned(), message.to_owned()));
    }
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
    if experiment.switch.flow_control != FlowControlBy::Ideal {
        let control = name(&experiment.switch.flow_control);
        let message = format!("not with `switch.flow_control = \"{control}\"`: use \"ideal\"");
        return wrong("", &message);
    }
    if experiment.switch.queueing == Queueing::Cioq {
        return wrong("", "not with `switch.queueing = \"cioq\"`: use \"fifo\" or \"voq\"");
    }
    if experiment.switch.virtual_lanes > DATA_LANES {
        let message = format!(
            "{} are not allowed with a subnet manager: lane 15 is for its datagrams, so give at most {DATA_LANES}",
            experiment.switch.virtual_lanes
        );
        return Err(("switch.virtual_lanes".to_owned(), message));
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
            (&format!("switch.virtual_lanes = 16\n{OPENSM}"), "switch.virtual_lanes: 16 are not allowed"),
            (&format!("switch.virtual_lanes = 15\n{OPENSM}"), ""),
            (&OPENSM.replace("[subnet", "paths = \"in-turn\"\n[subnet"), "routing.paths: hosts have one LID"),
            (&OPENSM.replace("[subnet", "lmc = 1\n[subnet"), "routing.lmc: a subnet manager assigns"),
            (&format!("{}lmc = 1", OPENSM.replace("[subnet", "paths = \"hashed\"\n[subnet")), ""),
        ] {
            let message = message(text);
            assert!(message.contains(part) && message.is_empty() == part.is_empty(), "{text}: {message}");
        }
    }
}
