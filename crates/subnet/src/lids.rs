//! LIDs as OpenSM assigns them on its first sweep (`osm_lid_mgr.c`).
//!
//! The manager's port comes first, then all ports with a GUID by OpenSM's order. A port keeps the LID that it has, if that is aligned to
//! 2^LMC and free; others get the first free block. Switches get one LID (`lmc_esp0 FALSE`). What alignment skips is lost.

use thiserror::Error;

use crate::subnet::{MAX_LID, MAX_LMC, PortId, Subnet, port_name};

/// Options of the assignment, with OpenSM's names in brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LidOptions {
    /// LID mask control of adapters and routers (`lmc`), 0 to 7.
    pub lmc: u8,
    /// Forget the LIDs that ports have (`reassign_lids`).
    pub reassign: bool,
}

/// Reason for which LIDs cannot be assigned.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LidError {
    /// LMC beyond the range.
    #[error("LMC {0}: must be 0 to 7")]
    Lmc(u8),
    /// No LIDs are left.
    #[error("no LIDs are left for {0}: use a smaller LMC")]
    Exhausted(String),
}

/// A range of free LIDs: first, last.
type Range = (u32, u32);

/// Assigns LIDs to all ports that have none, or none that they can keep. Returns the number of ports whose LID changed.
///
/// # Errors
///
/// LMC beyond the range, or more LIDs than there are.
pub fn assign_lids(subnet: &mut Subnet, options: LidOptions) -> Result<usize, LidError> {
    if options.lmc > MAX_LMC {
        return Err(LidError::Lmc(options.lmc));
    }
    let mut ports: Vec<PortId> = subnet
        .ids()
        .flat_map(|(node, record)| record.end_ports().map(move |port| PortId { node, port }))
        .collect();
    ports.sort_by_key(|&id| subnet.port(id).guid.map_key());
    let mut free = if options.reassign {
        vec![(1, u32::from(MAX_LID))]
    } else {
        free_ranges(subnet, &ports, options.lmc)
    };
    let mut used = vec![false; usize::from(MAX_LID) + 2 + (1 << MAX_LMC)];
    let manager =
        subnet.manager.map(|id| PortId { port: subnet.node(id.node).addressed_port(id.port), ..id });
    if let Some(first) = ports.iter().position(|&id| Some(id) == manager) {
        ports[..=first].rotate_right(1);
    }
    let mut changed = 0;
    for id in ports {
        let (count, lmc) = block(subnet, id, options.lmc);
        let state = subnet.port(id);
        let old = u32::from(state.lid);
        let is_kept =
            !options.reassign && old != 0 && old % count == 0 && old + count - 1 <= u32::from(MAX_LID);
        let is_kept = is_kept && used[old as usize..(old + count) as usize].iter().all(|used| !used);
        let lid = if is_kept {
            old
        } else {
            take(&mut free, count).ok_or_else(|| LidError::Exhausted(port_name(subnet, id)))?
        };
        used[lid as usize..(lid + count) as usize].fill(true);
        changed += usize::from(lid != old || state.lmc != lmc);
        let state = subnet.port_mut(id);
        (state.lid, state.lmc) = (lid as u16, lmc);
    }
    Ok(changed)
}

/// Assigns LIDs with a LID mask control, by default those that are missing; returns their number. LIDs that tables are given for stay as
/// they are; a subnet without any, such as that of an experiment, gets those that an engine's tables would have. Files of tables and
/// service levels name LIDs, so they are read after this.
///
/// # Errors
///
/// There are not enough LIDs.
pub fn assign_missing_lids(
    subnet: &mut Subnet,
    lmc: Option<u8>,
    are_tables_given: bool,
) -> Result<usize, LidError> {
    let options = LidOptions { lmc: lmc.unwrap_or(0), reassign: false };
    let lids: Vec<u16> = subnet
        .nodes
        .iter()
        .flat_map(|node| node.end_ports().map(|port| node.ports[usize::from(port)].lid))
        .collect();
    let assigns =
        if are_tables_given { lids.iter().all(|&lid| lid == 0) } else { lmc.is_some() || lids.contains(&0) };
    if assigns { assign_lids(subnet, options) } else { Ok(0) }
}

/// Number of LIDs of a port, and its LMC.
fn block(subnet: &Subnet, id: PortId, lmc: u8) -> (u32, u8) {
    if subnet.node(id.node).is_switch() { (1, 0) } else { (1 << lmc, lmc) }
}

/// LIDs that no port keeps.
fn free_ranges(subnet: &Subnet, ports: &[PortId], lmc: u8) -> Vec<Range> {
    let mut owners: Vec<Option<PortId>> = vec![None; usize::from(MAX_LID) + 1];
    for &id in ports {
        let lids = subnet.port(id).lids();
        for lid in lids.clone().take_while(|&lid| lid <= u32::from(MAX_LID)) {
            owners[lid as usize] = (lid < lids.start + (1 << lmc)).then_some(id);
        }
    }
    let mut ranges: Vec<Range> = Vec::new();
    let mut lid = 1;
    while lid <= u32::from(MAX_LID) {
        let kept = owners[lid as usize].and_then(|id| {
            let (count, _) = block(subnet, id, lmc);
            let base = u32::from(subnet.port(id).lid);
            (base % count == 0).then_some(base + count - 1)
        });
        match (kept, ranges.last_mut()) {
            (Some(last), _) => lid = lid.max(last),
            (None, Some(range)) if range.1 + 1 == lid => range.1 = lid,
            (None, _) => ranges.push((lid, lid)),
        }
        lid += 1;
    }
    ranges
}

/// Takes the first free block of LIDs, aligned to its size.
fn take(free: &mut Vec<Range>, count: u32) -> Option<u32> {
    let slot = free.iter().position(|&(first, last)| first.next_multiple_of(count) + count - 1 <= last)?;
    let lid = free[slot].0.next_multiple_of(count);
    free[slot].0 = lid + count;
    if free[slot].0 > free[slot].1 {
        free.remove(slot);
    }
    Some(lid)
}
