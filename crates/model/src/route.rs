use fabricsim_units::{PortNo, Vl};

/// A contiguous range of virtual lanes, never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, fabricsim_state::Value)]
pub struct Lanes {
    /// Lowest lane.
    pub first: Vl,
    /// Number of lanes, 1 or more.
    pub count: u8,
}

impl Lanes {
    /// Lanes `first` to `first + count - 1`.
    pub const fn new(first: u8, count: u8) -> Self {
        Self { first: Vl(first), count }
    }
    /// One lane.
    pub const fn one(lane: Vl) -> Self {
        Self { first: lane, count: 1 }
    }
    /// The lanes in ascending order.
    pub fn iter(self) -> impl Iterator<Item = Vl> {
        (self.first.0..self.first.0 + self.count).map(Vl)
    }
    /// True if `lane` is one of them.
    pub const fn contains(self, lane: Vl) -> bool {
        lane.0 >= self.first.0 && lane.0 < self.first.0 + self.count
    }
}

/// A decision at a switch: an output port, and the lanes of its link that may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, fabricsim_state::Value)]
pub struct Hop {
    /// Output port.
    pub port: PortNo,
    /// Virtual lanes on the link behind it.
    pub lanes: Lanes,
}

/// State of a packet's route, for routing that needs it. Only the routing function and its lane policy read it; six bytes that
/// travel with the packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, fabricsim_state::Value)]
pub struct RouteState {
    via: [u16; 2],
    /// Progress along the route: the stage of the lane policy.
    pub place: u8,
    /// Decisions taken.
    pub flags: u8,
}

impl RouteState {
    /// A number that it remembers: a place to go to first.
    #[inline]
    pub const fn via(self) -> u32 {
        (self.via[1] as u32) << 16 | self.via[0] as u32
    }
    /// The same with another number.
    #[inline]
    #[must_use]
    pub const fn with_via(self, via: u32) -> Self {
        Self { via: [via as u16, (via >> 16) as u16], ..self }
    }
    /// Stands for any LID, where the routes of a flow are listed.
    pub const ANY_PATH: u8 = u8::MAX;

    /// Which of its destination's LIDs a packet of forwarding tables is sent to: 0 for the first.
    #[inline]
    pub const fn path(self) -> u8 {
        self.flags
    }
    /// The same for another LID.
    #[inline]
    #[must_use]
    pub const fn with_path(self, path: u8) -> Self {
        Self { flags: path, ..self }
    }
    /// The same at another place.
    #[inline]
    #[must_use]
    pub const fn at(self, place: u8) -> Self {
        Self { place, ..self }
    }
    /// True if any of `flags` is set.
    #[inline]
    pub const fn has(self, flags: u8) -> bool {
        self.flags & flags != 0
    }
    /// The same with `flags` set.
    #[inline]
    #[must_use]
    pub const fn with(self, flags: u8) -> Self {
        Self { flags: self.flags | flags, ..self }
    }
    /// The same without `flags`.
    #[inline]
    #[must_use]
    pub const fn without(self, flags: u8) -> Self {
        Self { flags: self.flags & !flags, ..self }
    }
}
