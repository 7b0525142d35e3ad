//! Arbitration among virtual lanes.

use super::Problem;
use crate::{Allocation, Arbiter, Queueing, Switch, VlArbitration};

const KEY: &str = "switch.vl_arbitration";
const KEY_OF_HOSTS: &str = "host.vl_arbitration";

/// Most entries of a table.
const MOST: usize = 64;

pub(super) fn check(switch: &Switch, tables: &VlArbitration) -> Result<(), Problem> {
    let fail = |message: String| Err((KEY, message));
    if switch.allocation != Allocation::Maximal || switch.queueing == Queueing::Cioq {
        return fail(
            "only for `queueing = \"fifo\"` and `\"voq\"` with `allocation = \"maximal\"`".to_owned(),
        );
    }
    if switch.arbiter != Arbiter::RoundRobin || !switch.priority_classes.is_empty() {
        let message =
            "the tables decide between lanes: leave `arbiter` and `priority_classes` at their defaults";
        return fail(message.to_owned());
    }
    weights(KEY, switch.virtual_lanes, tables)
}

/// Checks the tables of adapters.
pub(super) fn check_hosts(switch: &Switch, tables: &VlArbitration) -> Result<(), Problem> {
    weights(KEY_OF_HOSTS, switch.virtual_lanes, tables)
}

/// Checks that entries are of lanes that exist, and that every lane has a weight.
fn weights(key: &'static str, lanes: u8, tables: &VlArbitration) -> Result<(), Problem> {
    let fail = |message: String| Err((key, message));
    for (name, entries) in [("high", &tables.high), ("low", &tables.low)] {
        if entries.len() > MOST {
            return fail(format!("{} entries of `{name}`: give at most {MOST}", entries.len()));
        }
    }
    let all = || tables.high.iter().chain(&tables.low);
    if let Some(entry) = all().find(|entry| entry.vl >= lanes) {
        return fail(format!("lane {}: links have {lanes} lanes", entry.vl));
    }
    match (0..lanes).find(|&lane| !all().any(|entry| entry.vl == lane && entry.weight > 0)) {
        Some(lane) => fail(format!(
            "lane {lane} has no weight in either table, so that its packets would wait for ever"
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::read;

    fn message(switch: &str) -> String {
        let text =
            format!("topology.mesh = {{ dimensions = [2, 2] }}\nrun.duration = \"1 us\"\n[switch]\n{switch}");
        let experiment = read(&text, "e.toml", &[]).unwrap();
        crate::check(&experiment, "e.toml").err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn every_lane_of_adapters_has_a_weight() {
        let low = |entries: &str| format!("virtual_lanes = 2\n[host]\nvl_arbitration.low = [{entries}]");
        assert_eq!(message(&low("{ vl = 0, weight = 1 }, { vl = 1, weight = 1 }")), "");
        let message = message(&low("{ vl = 0, weight = 1 }"));
        assert!(message.contains("host.vl_arbitration: lane 1 has no weight"), "{message}");
    }

    #[test]
    fn every_lane_has_a_weight() {
        const TWO: &str = "virtual_lanes = 2\n";
        let weights = "vl_arbitration.low = [{ vl = 0, weight = 1 }, { vl = 1, weight = 2 }]";
        for (switch, part) in [
            (format!("{TWO}{weights}"), ""),
            (format!("{TWO}arbiter = \"random\"\n{weights}"), "the tables decide between lanes"),
            (format!("{TWO}priority_classes = [0]\n{weights}"), "the tables decide between lanes"),
            (format!("{TWO}queueing = \"cioq\"\n{weights}"), "only for `queueing"),
            (weights.to_owned(), "lane 1: links have 1 lanes"),
            (format!("{TWO}vl_arbitration.low = [{{ vl = 0, weight = 1 }}]"), "lane 1 has no weight"),
            (
                format!("{TWO}vl_arbitration.low = [{{ vl = 0, weight = 1 }}, {{ vl = 1, weight = 0 }}]"),
                "lane 1 has no weight",
            ),
            (format!("{TWO}vl_arbitration.low = [{{ vl = 16, weight = 1 }}]"), "vl: 16 is not allowed"),
        ] {
            let message = message(&switch);
            assert!(message.contains(part) && message.is_empty() == part.is_empty(), "{switch}: {message}");
        }
    }
}
