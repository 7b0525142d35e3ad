//! LIDs that a file of forwarding tables states, compared with those of the subnet.

use std::collections::BTreeSet;

use crate::subnet::{Subnet, port_name};
use crate::tables::lid_owners;
use crate::{Finding, FindingKind, Guid, MAX_LID};

/// LIDs with the GUIDs of their ports as a file states them, each combination once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct StatedLids {
    /// First GUID by LID, 0 for none: entries of other switches repeat it.
    first: Vec<Guid>,
    others: BTreeSet<(u16, Guid)>,
    /// LID, GUID, line.
    all: Vec<(u16, Guid, usize)>,
}

impl StatedLids {
    /// Notes a statement. LIDs and GUIDs of 0 state nothing.
    pub(super) fn add(&mut self, lid: u16, guid: Guid, line: usize) {
        let place = usize::from(lid);
        if lid == 0 || !guid.is_known() {
            return;
        }
        if self.first.len() <= place {
            self.first.resize(place + 1, Guid(0));
        }
        if self.first[place] == guid {
            return;
        }
        let is_new = if self.first[place].is_known() {
            self.others.insert((lid, guid))
        } else {
            self.first[place] = guid;
            true
        };
        if is_new {
            self.all.push((lid, guid, line));
        }
    }

    /// Statements that contradict the subnet. LIDs that no port of the subnet has are left out: that is a finding of the entries.
    pub(super) fn compare(&self, subnet: &Subnet, file: &str) -> Vec<Finding> {
        let owners = lid_owners(subnet, MAX_LID);
        let odd = |&(lid, guid, line): &(u16, Guid, usize)| {
            let owner = owners
                .get(usize::from(lid))
                .copied()
                .flatten()
                .filter(|&owner| subnet.port(owner).guid != guid)?;
            let (name, own) = (port_name(subnet, owner), subnet.port(owner).guid);
            let text = format!(
                "LID {lid} is that of port GUID {guid} here, and of {name}, port GUID {own}, in the subnet"
            );
            Some(Finding::new(FindingKind::LidMismatch, file, line, text))
        };
        self.all.iter().filter_map(odd).collect()
    }
}
