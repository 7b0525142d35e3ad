use fabricsim_model::Lanes;
use fabricsim_units::{PortNo, SwitchId, Time};

/// View that a routing function has of a switch when it chooses a packet's hop.
pub trait View {
    /// Flow-control units that wait in this switch for `port`, which leads to a switch, and those that are in use, as far as this
    /// switch knows, of the buffers at the other end of its link: of all lanes of the packet's service class. What is on its
    /// way there, and credits on their way back, count as in use: nothing is taken off for the round trip.
    fn load(&mut self, port: PortNo) -> u32;

    /// True if [`View::load`] is more than `limit`.
    fn exceeds(&mut self, port: PortNo, limit: u32) -> bool {
        self.load(port) > limit
    }

    /// Flow-control units of the buffers at the other end of the link of `port`, for `lanes`.
    fn capacity(&self, port: PortNo, lanes: Lanes) -> u32;

    /// Load that was ahead some time ago at the output of this number in [`Published::outputs`].
    fn published(&self, number: u32) -> u32;

    /// A number from 0 to `n - 1`, drawn for this packet at this switch. `n` is 1 or more.
    fn below(&mut self, n: u32) -> u32;
}

/// Outputs whose loads other switches can see, some time later.
#[derive(Clone, Debug)]
pub struct Published {
    /// Delay: not zero, and no less than the latency of any link between a switch that looks and one that it looks at.
    pub delay: Time,
    /// The outputs, by number.
    pub outputs: Vec<(SwitchId, PortNo)>,
}
