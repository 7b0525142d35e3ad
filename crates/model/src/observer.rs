use fabricsim_units::{Time, Vl};

use crate::Packet;

/// What a run tells about itself while it goes. Each partition has an observer of its own; they are merged at the
/// end, so what an observer keeps must not depend on the order in which entities are served.
///
/// `port` numbers a sending port (a direction of a link): link `l` from its end a to its end b is `2 l`, back `2 l + 1`.
pub trait Observer {
    /// The first byte of a packet leaves its sender.
    #[inline]
    fn injected(&mut self, _now: Time, _packet: &Packet) {}
    /// The last byte of a packet is taken by its receiver.
    #[inline]
    fn delivered(&mut self, _now: Time, _packet: &Packet) {}
    /// A packet occupies a sending port from `start` to `end` (its overhead included).
    #[inline]
    fn transmitted(&mut self, _port: u32, _lane: Vl, _bytes: u32, _start: Time, _end: Time) {}
    /// From `start` to `end` a sending port was idle while the packet that it would have sent next on `lane`
    /// waited for buffer space at the other end.
    #[inline]
    fn stalled(&mut self, _port: u32, _lane: Vl, _start: Time, _end: Time) {}
}

/// An observer that does not look.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Observer for Nobody {}
