//! Lanes by service level: InfiniBand's SL2VL tables (section 7.6.6 of the specification). At a switch the lane depends on the input port, the
//! output port and the packet's service level; at an adapter on the service level.

use std::collections::BTreeMap;

use fabricsim_model::Lanes;
use fabricsim_topology::Graph;
use fabricsim_units::{HostId, PortNo, SwitchId};

use super::{Destination, Exit, LanePolicy, Layers, Step};
use crate::At;

/// Number of service levels.
pub(crate) const LEVELS: usize = 16;

/// The lane of each service level.
pub(crate) type LanesOfLevels = [u8; LEVELS];

/// Lanes by SL2VL tables. The stage of a packet is its service level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceLevels {
    /// Number of virtual lanes.
    lanes: u8,
    /// Service levels that traffic may have.
    levels: u8,
    /// Service levels of paths, which go before those of the traffic.
    of_path: Option<Layers>,
    /// All tables that differ.
    tables: Vec<LanesOfLevels>,
    /// Table of each host.
    at_host: Vec<u16>,
    /// Table of each input and output of each switch, from `first`; empty if all ports have the first table.
    at_switch: Vec<u16>,
    /// First entry of each switch, and its number of ports.
    first: Vec<(u32, u16)>,
}

/// Source of SL2VL tables.
pub(crate) trait Sl2VlTables {
    /// The table, if all hosts and ports have the same.
    fn uniform(&self) -> Option<LanesOfLevels> {
        None
    }

    /// The table of a host.
    fn of_host(&self, host: HostId) -> LanesOfLevels;
    /// The table of a switch from an input to an output.
    fn of_switch(&self, switch: SwitchId, input: PortNo, output: PortNo) -> LanesOfLevels;
}

/// The same table at all ports.
impl Sl2VlTables for LanesOfLevels {
    fn uniform(&self) -> Option<LanesOfLevels> {
        Some(*self)
    }

    fn of_host(&self, _: HostId) -> LanesOfLevels {
        *self
    }

    fn of_switch(&self, _: SwitchId, _: PortNo, _: PortNo) -> LanesOfLevels {
        *self
    }
}

impl ServiceLevels {
    /// The policy by `tables` on a number of `lanes`, for traffic of `levels` service levels, or for paths with levels of their own; a lane that does
    /// not exist, if a level in use has one: 15 is InfiniBand's lane for packets that are discarded.
    pub(crate) fn new(
        graph: &Graph,
        tables: &impl Sl2VlTables,
        (lanes, levels): (u8, u8),
        of_path: Option<Layers>,
    ) -> Result<Self, u8> {
        let used = of_path.as_ref().map_or(levels, Layers::count).into();
        let mut known = Known { numbers: BTreeMap::new(), tables: Vec::new(), used, lanes };
        if let Some(table) = tables.uniform() {
            known.number(table)?;
            let at_host = vec![0; graph.hosts.len()];
            let (at_switch, first) = (Vec::new(), Vec::new());
            return Ok(Self { lanes, levels, of_path, tables: known.tables, at_host, at_switch, first });
        }
        let hosts = (0..graph.hosts.len() as u32).map(HostId);
        let at_host = hosts.map(|host| known.number(tables.of_host(host))).collect::<Result<_, _>>()?;
        let (mut first, mut at_switch) = (Vec::new(), Vec::new());
        for (id, switch) in (0..).map(SwitchId).zip(&graph.switches) {
            let ports = switch.ports.len() as u16;
            first.push((at_switch.len() as u32, ports));
            for input in (0..ports).map(PortNo) {
                for output in (0..ports).map(PortNo) {
                    at_switch.push(known.number(tables.of_switch(id, input, output))?);
                }
            }
        }
        Ok(Self { lanes, levels, of_path, tables: known.tables, at_host, at_switch, first })
    }

    /// Service levels that packets between two hosts may have.
    pub(crate) fn levels(&self, from: HostId, to: Destination) -> std::ops::Range<u8> {
        match &self.of_path {
            Some(paths) => {
                let level = paths.of(from, to);
                level..level + 1
            }
            None => 0..self.levels,
        }
    }

    /// The same tables, one for each port, so that each can be set.
    pub(crate) fn expanded(mut self, graph: &Graph) -> Self {
        if self.at_switch.is_empty() {
            for switch in &graph.switches {
                let ports = switch.ports.len();
                self.first.push((self.at_switch.len() as u32, ports as u16));
                self.at_switch.resize(self.at_switch.len() + ports * ports, 0);
            }
        }
        self
    }

    /// Gives paths service levels of their own.
    pub(crate) fn set_paths(&mut self, of_path: Layers) {
        self.of_path = Some(of_path);
    }

    /// Sets the table of a host.
    pub(crate) fn set_of_host(&mut self, host: HostId, table: LanesOfLevels) {
        self.at_host[host.index()] = self.number(table);
    }

    /// Sets the table of a switch from an input to an output.
    pub(crate) fn set_of_switch(
        &mut self,
        switch: SwitchId,
        (input, output): (PortNo, PortNo),
        table: LanesOfLevels,
    ) {
        let number = self.number(table);
        let place = self.place(switch, input, output);
        self.at_switch[place] = number;
    }

    /// The number of a table, which may be new.
    fn number(&mut self, table: LanesOfLevels) -> u16 {
        let known = self.tables.iter().position(|other| *other == table);
        let number = known.unwrap_or(self.tables.len());
        if known.is_none() {
            self.tables.push(table);
        }
        number as u16
    }

    #[inline]
    fn place(&self, at: SwitchId, input: PortNo, output: PortNo) -> usize {
        let (first, ports) = self.first[at.index()];
        first as usize + usize::from(input.0) * usize::from(ports) + output.index()
    }

    #[inline]
    fn lane(&self, at: SwitchId, input: PortNo, output: PortNo, level: u8) -> u8 {
        let table = if self.at_switch.is_empty() { 0 } else { self.at_switch[self.place(at, input, output)] };
        self.tables[usize::from(table)][usize::from(level) % LEVELS]
    }
}

/// Numbers of tables.
struct Known {
    numbers: BTreeMap<LanesOfLevels, u16>,
    tables: Vec<LanesOfLevels>,
    /// Levels in use.
    used: usize,
    lanes: u8,
}

impl Known {
    /// The number of a table; a lane of a level in use that does not exist.
    fn number(&mut self, table: LanesOfLevels) -> Result<u16, u8> {
        if let Some(&number) = self.numbers.get(&table) {
            return Ok(number);
        }
        let used = &table[..self.used.min(LEVELS)];
        if let Some(&lane) = used.iter().find(|&&lane| lane >= self.lanes) {
            return Err(lane);
        }
        let number = self.tables.len() as u16;
        self.tables.push(table);
        self.numbers.insert(table, number);
        Ok(number)
    }
}

impl LanePolicy for ServiceLevels {
    #[inline]
    fn all(&self) -> Lanes {
        Lanes::new(0, self.lanes)
    }

    #[inline]
    fn injection(&self, from: HostId, to: Destination, class: u8) -> Lanes {
        let level = self.level(from, to, class);
        let table = &self.tables[usize::from(self.at_host[from.index()])];
        Lanes::new(table[usize::from(level) % LEVELS], 1)
    }

    fn injects_by_class(&self) -> bool {
        false
    }

    fn tree_injection(&self, from: HostId, level: u8) -> Lanes {
        let table = &self.tables[usize::from(self.at_host[from.index()])];
        Lanes::new(table[usize::from(level) % LEVELS], 1)
    }

    fn tree_lanes(&self, at: At, exit: Exit, level: u8) -> Lanes {
        Lanes::new(self.lane(at.switch, at.in_port, exit.port, level), 1)
    }

    #[inline]
    fn level(&self, from: HostId, to: Destination, class: u8) -> u8 {
        self.of_path.as_ref().map_or(class, |paths| paths.of(from, to))
    }

    fn has_levels_of_paths(&self) -> bool {
        self.of_path.is_some()
    }

    #[inline]
    fn lanes(&self, step: Step) -> (Lanes, u8) {
        let lane = self.lane(step.at.switch, step.at.in_port, step.exit.port, step.stage);
        (Lanes::new(lane, 1), step.stage)
    }
}

#[cfg(test)]
mod tests {
    use fabricsim_units::Vl;

    use super::*;
    use crate::At;
    use crate::lanes::{Exit, LinkRole};
    use crate::samples::graph;

    /// Lane by the sum of switch, ports and level; hosts add 3.
    struct Sums(u8);

    impl Sl2VlTables for Sums {
        fn of_host(&self, host: HostId) -> LanesOfLevels {
            std::array::from_fn(|level| (host.0 as u8 + 3 + level as u8) % self.0)
        }

        fn of_switch(&self, switch: SwitchId, input: PortNo, output: PortNo) -> LanesOfLevels {
            std::array::from_fn(|level| {
                (switch.0 as u8 + 2 * input.0 as u8 + output.0 as u8 + level as u8) % self.0
            })
        }
    }

    fn step(switch: u32, input: u16, output: u16, level: u8) -> Step {
        let at = At { switch: SwitchId(switch), in_port: PortNo(input), lane: Vl(0) };
        Step { at, exit: Exit { port: PortNo(output), role: LinkRole::Either }, stage: level }
    }

    #[test]
    fn lanes_depend_on_switch_input_output_and_level() {
        let graph = graph("mesh = { dimensions = [3, 2] }");
        let policy = ServiceLevels::new(&graph, &Sums(7), (7, 16), None).unwrap();
        for (switch, node) in graph.switches.iter().enumerate() {
            let ports = node.ports.len() as u16;
            for (input, output) in (0..ports).flat_map(|i| (0..ports).map(move |o| (i, o))) {
                for level in 0..16 {
                    let expected = (switch as u8 + 2 * input as u8 + output as u8 + level) % 7;
                    let found = policy.lanes(step(switch as u32, input, output, level));
                    assert_eq!(found, (Lanes::new(expected, 1), level));
                }
            }
        }
        assert_eq!(policy.injection(HostId(2), HostId(0).into(), 4), Lanes::new((2 + 3 + 4) % 7, 1));
        assert_eq!(policy.levels(HostId(0), HostId(1).into()), 0..16);
    }

    #[test]
    fn paths_have_their_own_levels() {
        let graph = graph("mesh = { dimensions = [2, 2] }");
        let paths = Layers::new((4, 1), 3, |from, to| ((from.0 + 2 * to.host.0) % 3) as u8);
        let table: LanesOfLevels = std::array::from_fn(|level| (level as u8 + 1) % 3);
        let policy = ServiceLevels::new(&graph, &table, (3, 1), Some(paths)).unwrap();
        assert!(policy.at_switch.is_empty());
        assert_eq!(policy.levels(HostId(1), HostId(2).into()), 2..3);
        assert_eq!(policy.injection(HostId(1), HostId(2).into(), 0), Lanes::new(0, 1));
        assert_eq!(policy.lanes(step(0, 1, 2, 1)), (Lanes::new(2, 1), 1));
    }

    #[test]
    fn lanes_of_levels_in_use_exist() {
        let graph = graph("mesh = { dimensions = [2, 2] }");
        let table: LanesOfLevels = std::array::from_fn(|level| if level < 2 { level as u8 } else { 15 });
        assert!(ServiceLevels::new(&graph, &table, (2, 2), None).is_ok());
        assert_eq!(ServiceLevels::new(&graph, &table, (2, 3), None), Err(15));
        assert_eq!(ServiceLevels::new(&graph, &table, (1, 2), None), Err(1));
    }
}
