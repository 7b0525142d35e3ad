//! Multicast forwarding tables of a switch (section 14.2.5.12).

use fabricsim_subnet::multicast::FIRST_MULTICAST_LID;
use fabricsim_wire::mad::smp::MulticastForwardingTable;

use super::{Agent, Effect, INVALID, NOT_SUPPORTED};

/// Multicast LIDs of a block, and ports of a position.
const LIDS: u32 = 32;
const PORTS: u8 = 16;
/// One more than the highest block: LIDs end with 0xFFFF.
const BLOCKS: u32 = 512;

impl Agent {
    /// Number of the block that an attribute modifier selects; its lower 28 bits are the LIDs, its upper 4 the ports.
    fn multicast_block(&self, modifier: u32) -> Result<u32, u16> {
        if !self.is_switch() {
            return Err(NOT_SUPPORTED);
        }
        let is_there =
            modifier & 0x0fff_ffff < BLOCKS && (modifier >> 28) <= u32::from(self.port_count() / PORTS);
        if is_there { Ok(modifier) } else { Err(INVALID) }
    }

    pub(super) fn set_multicast(
        &mut self,
        block: &MulticastForwardingTable,
        modifier: u32,
        effects: &mut Vec<Effect>,
    ) -> Result<(), u16> {
        let place = self.multicast_block(modifier)?;
        self.multicast.insert(place, *block);
        effects.push(Effect::Multicast(FIRST_MULTICAST_LID + ((modifier & 0x0fff_ffff) * LIDS) as u16));
        Ok(())
    }

    pub(super) fn get_multicast(&self, modifier: u32) -> Result<MulticastForwardingTable, u16> {
        let place = self.multicast_block(modifier)?;
        Ok(self.multicast.get(&place).copied().unwrap_or_default())
    }

    /// Multicast LIDs of the block that begins at `first`.
    pub fn multicast_lids(first: u16) -> std::ops::Range<u16> {
        first..first.saturating_add(LIDS as u16)
    }

    /// The ports to which packets for a multicast LID are sent, as a manager has set them.
    pub fn multicast_ports(&self, lid: u16) -> Vec<u8> {
        let (block, place) = (
            u32::from(lid - FIRST_MULTICAST_LID) / LIDS,
            usize::from(lid - FIRST_MULTICAST_LID) % LIDS as usize,
        );
        let mask = |position: u8| {
            let block = self.multicast.get(&(u32::from(position) << 28 | block));
            block.map_or(0, |block| block.port_masks.0[place])
        };
        let is_set = |&port: &u8| mask(port / PORTS) >> (port % PORTS) & 1 == 1;
        (0..=self.port_count()).filter(is_set).collect()
    }
}
