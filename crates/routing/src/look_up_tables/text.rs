//! The tables as text.

use std::fmt::Write;

use fabricsim_topology::{Graph, GridShape};
use fabricsim_units::{HostId, PortNo, SwitchId};

use super::grid::Grid;
use super::{ENTRY_BITS, GLOBAL, HERE, LookUpTables, RULE};

impl LookUpTables {
    /// The tables of all routers, to be read by people: the global table (GLUT), the local table (LUT) as runs of entries
    /// with the same port, and rules for entries that depend on the input port. Ports are named by their side: `+x`;
    /// `proc` is the processor's.
    pub fn text(&self, graph: &Graph, shape: &GridShape) -> String {
        let grid = Grid::new(graph, shape, &[]);
        let partitions: usize = self.blocks.iter().product();
        let mut text = String::new();
        let _ = writeln!(
            text,
            "# {}: {partitions} global partition{} (blocks by dimension: {:?})\n\
             # number = partition * 4096 + entry; first-last: port of a run of entries; [n]: rule n, by input port",
            graph.title,
            if partitions == 1 { "" } else { "s" },
            self.blocks
        );
        for at in (0..graph.switches.len() as u32).map(SwitchId) {
            self.write_router(&mut text, &grid, at, partitions);
        }
        text
    }

    fn write_router(&self, text: &mut String, grid: &Grid<'_>, at: SwitchId, partitions: usize) {
        let router = &self.routers[at.index()];
        let (own, entry) =
            (usize::from(router.number >> ENTRY_BITS), router.number & ((1 << ENTRY_BITS) - 1));
        let _ = writeln!(
            text,
            "\nrouter {}  number {}  partition {own}  entry {entry}",
            grid.graph.switches[at.index()].name,
            router.number
        );
        let global = &self.global[GLOBAL * at.index()..][..partitions];
        let entries = self.members(own);
        let local = &self.local[router.local as usize..][..entries];
        let _ = writeln!(text, "  GLUT{}", runs(global, "local"));
        let _ = writeln!(text, "  LUT {}", runs(local, "proc"));
        let used = global.iter().chain(local).filter(|&&entry| entry >= RULE).map(|entry| entry - RULE).max();
        for rule in 0..used.map_or(0, |last| last + 1) {
            let _ = writeln!(text, "  [{rule}]{}", self.rule(grid, at, rule));
        }
    }

    /// Switches of a partition.
    fn members(&self, partition: usize) -> usize {
        self.routers.iter().filter(|router| usize::from(router.number >> ENTRY_BITS) == partition).count()
    }

    /// Outputs of packets that come in by each port; those of hosts first.
    fn rule(&self, grid: &Grid<'_>, at: SwitchId, rule: u8) -> String {
        let first = (self.routers[at.index()].rules as usize + usize::from(rule)) * self.ports;
        let leads = |port: PortNo| name(self.rules[first + port.index()], "proc");
        let host = grid.graph.hosts.iter().find(|host| host.switch == at);
        let mut text = host.map_or_else(String::new, |host| format!(" proc->{}", leads(host.port)));
        for side in 0..grid.directions as u8 {
            if let Some(port) = grid.port(at, side) {
                let _ = write!(text, " {}->{}", Grid::direction_name(side), leads(port));
            }
        }
        text
    }

    /// Number of the destination `host` as `partition.entry`.
    pub fn destination_name(&self, host: HostId) -> String {
        let number = self.destination(host);
        format!("{}.{}", number >> ENTRY_BITS, number & ((1 << ENTRY_BITS) - 1))
    }
}

/// Runs of equal entries.
fn runs(entries: &[u8], here: &str) -> String {
    let mut text = String::new();
    let mut first = 0;
    for run in entries.chunk_by(|a, b| a == b) {
        let last = first + run.len() - 1;
        let place = if first == last { first.to_string() } else { format!("{first}-{last}") };
        let _ = write!(text, " {place}:{}", name(run[0], here));
        first = last + 1;
    }
    text
}

fn name(entry: u8, here: &str) -> String {
    match entry {
        HERE => here.to_owned(),
        RULE.. => format!("[{}]", entry - RULE),
        direction => Grid::direction_name(direction),
    }
}
