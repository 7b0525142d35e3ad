/// Event at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, fabricsim_state::Value)]
pub(crate) struct Event {
    pub(crate) time: u64,
    /// Packet, kind and port in one word, so that an event is two words wherever it is copied.
    tag: u64,
}

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A packet may be sent on from an input buffer of a switch.
    Arrive,
    /// A sender must be checked again.
    Wake,
    /// A host accepts the last byte of a packet.
    Deliver,
    /// A port of a switch must be checked again; or, if the event has a packet, that is lost at the far end of the port's link; or its flow
    /// control is due, or a pause frame takes effect at it.
    Look,
}

const PORT_BITS: u32 = 30;

impl Event {
    pub(crate) fn new(time: u64, kind: Kind, port: u32, packet: u32) -> Self {
        debug_assert!(port < 1 << PORT_BITS);
        Self { time, tag: u64::from(packet) << 32 | u64::from((kind as u32) << PORT_BITS | port) }
    }

    /// An arrival at time zero, which no wake-up equals.
    pub(super) const fn none() -> Self {
        Self { time: 0, tag: 0 }
    }

    /// Never due, with a number instead of a packet.
    pub(super) const fn sentinel(number: u32) -> Self {
        Self { time: u64::MAX, tag: (number as u64) << 32 }
    }

    /// Comparisons in this order, of which the first two settle most: a table of jumps would cost more.
    #[inline(always)]
    pub(crate) fn kind(self) -> Kind {
        let tag = self.tag as u32;
        if tag < 1 << PORT_BITS {
            Kind::Arrive
        } else if tag < 2 << PORT_BITS {
            Kind::Wake
        } else if tag < 3 << PORT_BITS {
            Kind::Deliver
        } else {
            Kind::Look
        }
    }

    #[inline]
    pub(crate) fn port(self) -> u32 {
        self.tag as u32 & ((1 << PORT_BITS) - 1)
    }

    #[inline]
    pub(crate) fn packet(self) -> u32 {
        (self.tag >> 32) as u32
    }
}
