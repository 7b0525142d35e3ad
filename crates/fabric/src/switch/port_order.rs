//! Order in which several outputs choose in one time step, if not in turn: as the arbiters of the InfiniBand model for OMNeT++, which
//! are notified in the order of their ports that an input can be read.

use super::Switch;
use crate::PartitionContext;

impl Switch {
    /// The output that chooses next: the lowest port of those that were idle. An output whose packet ends now chooses after them, since its arbiter
    /// is still busy with the last unit when the input can be read.
    #[inline(never)]
    pub(super) fn first_idle<R, B, O>(&self, context: &PartitionContext<R, B, O>) -> Option<usize> {
        let first = self.dirty.first_after(self.layout.ports - 1)?;
        let mut at = first;
        loop {
            if context.ports.senders[self.first_port as usize + at].busy_until != context.now {
                return Some(at);
            }
            match self.dirty.first_after(at) {
                Some(next) if next > at => at = next,
                _ => return Some(first),
            }
        }
    }
}
