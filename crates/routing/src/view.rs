use fabricsim_model::Lanes;
use fabricsim_units::PortNo;

/// What a switch lets a routing function see when a packet's hop is chosen.
pub trait View {
    /// Flow-control units that wait in this switch for `port`, and those that are in use, as far as this switch knows, of the
    /// buffers at the other end of its link for `lanes`. What is on its way there, and credits on their way back, count as in
    /// use: nothing is taken off for the round trip.
    fn load(&mut self, port: PortNo, lanes: Lanes) -> u32;

    /// Flow-control units of the buffers at the other end of the link of `port`, for `lanes`.
    fn capacity(&self, port: PortNo, lanes: Lanes) -> u32;

    /// A number from 0 to `n - 1`, drawn for this packet at this switch. `n` is 1 or more.
    fn below(&mut self, n: u32) -> u32;
}
