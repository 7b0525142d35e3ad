/// Something that happens at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    pub(crate) time: u64,
    pub(super) tag: u32,
    pub(crate) packet: u32,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A packet may be sent on from an input buffer of a switch.
    Arrive,
    /// The last byte of a packet is taken by a host.
    Deliver,
    /// A sender is to be looked at again.
    Wake,
    /// An input buffer of a switch is to be looked at again.
    Look,
}

const PORT_BITS: u32 = 30;

impl Event {
    pub(crate) fn new(time: u64, kind: Kind, port: u32, packet: u32) -> Self {
        debug_assert!(port < 1 << PORT_BITS);
        Self { time, tag: (kind as u32) << PORT_BITS | port, packet }
    }

    #[inline]
    pub(crate) fn kind(self) -> Kind {
        match self.tag >> PORT_BITS {
            0 => Kind::Arrive,
            1 => Kind::Deliver,
            2 => Kind::Wake,
            _ => Kind::Look,
        }
    }

    #[inline]
    pub(crate) fn port(self) -> u32 {
        self.tag & ((1 << PORT_BITS) - 1)
    }
}
