//! Messages about failed links that cannot be avoided.

use fabricsim_spec::SpecError;
use fabricsim_topology::Graph;
use fabricsim_units::SwitchId;

use super::detour::NoWay;
use super::tables::{Tables, Target};

const KEY: &str = "links.failed";

/// The error for failed links that leave no route.
pub(super) fn no_way(graph: &Graph, tables: &Tables, no_way: NoWay, file: &str) -> SpecError {
    let name = |at: SwitchId| graph.switches[at.index()].name.clone();
    let message = match no_way {
        NoWay::Turns(from, target) => {
            let (to, part) = match target {
                Target::Switch(to) => (Some(to), String::new()),
                Target::Partition(partition) => {
                    let first = tables.numbers.iter().position(|number| number.0 == partition);
                    (first.map(|at| SwitchId(at as u32)), format!(" (as to all of partition {partition})"))
                }
            };
            format!(
                "the turn rules leave no route from {} to {}{part}: every detour would take a turn with which packets could \
                 wait for each other in a circle. Leave out some of these links",
                name(from),
                to.map(name).unwrap_or_default()
            )
        }
        NoWay::Rules(at) => format!(
            "the detours through {} differ in more ways than its tables have room for. Leave out some of these links",
            name(at)
        ),
    };
    SpecError::at_key(file, KEY, message)
}
