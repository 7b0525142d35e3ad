//! Linear forwarding tables of all switches.

mod dump;
mod fdbs;
mod path_sls;
mod read;
mod sl2vl;
mod stated;
#[cfg(test)]
mod tests;

pub use dump::TableForm;
pub(crate) use dump::lid_owners;
pub use read::{SwitchTable, TableFile};
pub use sl2vl::{Lanes, Sl2Vl};

use std::collections::BTreeMap;

use crate::engines::NO_PORT;
use crate::fabric::Fabric;
use crate::{Guid, NodeId, Subnet};

/// A forwarding table for each switch: output ports by LID, [`NO_PORT`] for none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tables {
    /// Switches in the order of the rows (OpenSM's: by GUID in network byte order).
    switches: Vec<NodeId>,
    /// Largest LID.
    max_lid: u16,
    /// Ports by switch, then LID.
    ports: Vec<u8>,
}

impl Tables {
    /// Empty tables.
    pub(crate) fn new(fabric: &Fabric<'_>) -> Self {
        let max_lid = fabric.max_lid();
        let ports = vec![NO_PORT; fabric.len() * (usize::from(max_lid) + 1)];
        Self { switches: fabric.switches.clone(), max_lid, ports }
    }

    /// Switches in the order of the rows.
    pub fn switches(&self) -> &[NodeId] {
        &self.switches
    }

    /// Largest LID.
    pub fn max_lid(&self) -> u16 {
        self.max_lid
    }

    fn width(&self) -> usize {
        usize::from(self.max_lid) + 1
    }

    /// Table of the switch in row `index`: ports by LID.
    pub fn row(&self, index: usize) -> &[u8] {
        &self.ports[index * self.width()..(index + 1) * self.width()]
    }

    /// Table of the switch in row `index`, to change it.
    pub fn row_mut(&mut self, index: usize) -> &mut [u8] {
        let width = self.width();
        &mut self.ports[index * width..(index + 1) * width]
    }

    /// The tables of those switches of `left` that `whole` has, found by their GUID. Other switches of `left` have no entries.
    pub(crate) fn for_subnet(&self, whole: &Subnet, left: &Subnet) -> Self {
        let rows: BTreeMap<Guid, usize> =
            self.switches.iter().enumerate().map(|(row, &id)| (whole.node(id).guid, row)).collect();
        let mut switches: Vec<NodeId> =
            left.ids().filter(|(_, node)| node.is_switch()).map(|(id, _)| id).collect();
        switches.sort_by_key(|&id| left.node(id).guid.map_key());
        let ports = switches
            .iter()
            .flat_map(|&id| match rows.get(&left.node(id).guid) {
                Some(&row) => self.row(row).to_vec(),
                None => vec![NO_PORT; self.width()],
            })
            .collect();
        Self { switches, max_lid: self.max_lid, ports }
    }

    /// All tables, to change them.
    pub(crate) fn rows_mut(&mut self) -> std::slice::ChunksExactMut<'_, u8> {
        let width = self.width();
        self.ports.chunks_exact_mut(width)
    }
}
