use fabricsim_units::{PortNo, Vl};

/// A contiguous range of virtual lanes, never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lanes {
    /// Lowest lane.
    pub first: Vl,
    /// How many, 1 or more.
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
    /// Is `lane` one of them?
    pub const fn contains(self, lane: Vl) -> bool {
        lane.0 >= self.first.0 && lane.0 < self.first.0 + self.count
    }
}

/// A way on from a switch: an output port, and the lanes of its link that may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hop {
    /// Output port.
    pub port: PortNo,
    /// Virtual lanes on the link behind it.
    pub lanes: Lanes,
}
