//! Quality of service: SL2VL tables and weights of virtual lanes at every port with a cable (OpenSM's `osm_qos.c`). Only what a port does
//! not have already is set.

use fabricsim_subnet::{NodeId, Routing};
use fabricsim_units::Vl;
use fabricsim_wire::field::Table;
use fabricsim_wire::mad::smp::{SlToVlMappingTable, SmpAttribute, VlArbitrationEntry, VlArbitrationTable};

use super::Manager;
use super::requests::{Purpose, Request};
use crate::Weights;

/// Entries of half of an arbitration table.
const HALF: usize = 32;

/// A table of a port, as SMPs name it: the GUID of the node, the attribute and its modifier and, of an adapter, the port.
type Place = (u64, u16, u32, u8);

/// Tables of quality of service and partitions as they were set.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownQuality(std::collections::BTreeMap<Place, SmpAttribute>);

impl KnownQuality {
    /// Forgets what a node has.
    pub(super) fn forget(&mut self, guid: u64) {
        self.0.retain(|place, _| place.0 != guid);
    }
}

impl Manager {
    /// Sets the tables of all ports with cables.
    pub(super) fn program_quality(&mut self, routing: &Routing) {
        for node in 0..self.found.nodes.len() {
            let outputs: Vec<u8> = self.found.nodes[node].peers.keys().copied().collect();
            for &output in &outputs {
                self.program_weights(node, output);
                self.program_lanes(node, output, routing);
            }
        }
    }

    /// The SL2VL tables to an output: those of the settings, or where the engine's differ by port (Torus-2QoS), the engine's.
    fn program_lanes(&mut self, node: usize, output: u8, routing: &Routing) {
        let found = &self.found.nodes[node];
        let of_engine = !routing.sl2vl.is_uniform();
        let given = self.settings.quality.lanes;
        if given.is_none() && !of_engine && !self.sets_lanes {
            return;
        }
        self.sets_lanes = true;
        let inputs = if found.is_switch() { 1..=found.info.num_ports } else { 0..=0 };
        let id = NodeId(node as u32);
        for input in inputs {
            let lane = |level: usize| match given {
                Some(lanes) => Vl(lanes[level]),
                None => Vl(routing.sl2vl.lane(id, input, output, level as u8)),
            };
            let vls = Table(std::array::from_fn(lane));
            let modifier = u32::from(input) << 8 | u32::from(output);
            let table = SmpAttribute::SLtoVLMappingTable(SlToVlMappingTable { vls });
            self.set_quality(node, output, modifier, table);
        }
    }

    fn program_weights(&mut self, node: usize, port: u8) {
        let Some(weights) = self.weights(node).cloned() else { return };
        for (first, entries) in [(1, &weights.low), (3, &weights.high)] {
            for (half, part) in (first..).zip(entries.chunks(HALF)) {
                let entry = |index: usize| {
                    let (vl, weight) = part.get(index).copied().unwrap_or_default();
                    VlArbitrationEntry { vl, weight }
                };
                let entries = Table(std::array::from_fn(entry));
                let modifier = half << 16 | u32::from(port);
                let table = SmpAttribute::VLArbitrationTable(VlArbitrationTable { entries });
                self.set_quality(node, port, modifier, table);
            }
        }
    }

    fn weights(&self, node: usize) -> Option<&Weights> {
        let quality = &self.settings.quality;
        let given =
            if self.found.nodes[node].is_switch() { &quality.of_switches } else { &quality.of_adapters };
        given.as_ref()
    }

    /// Limit of high priority of a node's ports, if it is to be set.
    pub(super) fn high_limit(&self, node: usize) -> Option<u8> {
        self.weights(node).map(|weights| weights.high_limit)
    }

    /// Sets a table of a port unless it has it.
    pub(super) fn set_quality(&mut self, node: usize, port: u8, modifier: u32, table: SmpAttribute) {
        let found = &self.found.nodes[node];
        let own = if found.is_switch() { 0 } else { port };
        let place = (found.info.node_guid.0, table.id().0, modifier, own);
        if self.known_quality.0.get(&place) == Some(&table) {
            return;
        }
        self.known_quality.0.insert(place, table);
        let path = self.path_to(node, port);
        self.requests.push(Request::set(Purpose::Quality { node }, table, modifier, &path));
    }
}
