//! Defects that are known and not yet repaired. Each is excluded as narrowly as can be: for some choices, one check, and a
//! part of its message. The test of all pairs fails if an exclusion no longer applies to any experiment: then its entry is
//! to be removed here.

use super::space::{Point, Space};

/// A known defect.
pub struct Known {
    pub name: &'static str,
    /// Choices with which it shows.
    pub when: fn(&Space, &Point) -> bool,
    /// The check that fails, and a part of its message.
    pub check: &'static str,
    pub message: &'static str,
    /// True if the experiments of all pairs do not meet it, only others at random do.
    pub rare: bool,
}

fn orders(space: &Space, point: &Point) -> bool {
    !space.is(point, "transport", "none")
}

/// True if the measurement may end before it was expected to.
fn ends_early(space: &Space, point: &Point) -> bool {
    !space.is(point, "steady", "no") || !space.is(point, "job", "none")
}

pub const KNOWN: &[Known] = &[
    Known {
        name: "packets lost by a transport are not counted in the balance",
        when: orders,
        check: "losses are counted",
        message: "lost at hosts",
        rare: false,
    },
    Known {
        name: "the rows of `exchanges` depend on the partitions",
        when: |space, point| !space.is(point, "exchanges", "none"),
        check: "partitions",
        message: "table exchanges",
        rare: false,
    },
    Known {
        name: "a transport stalls with a full window",
        when: orders,
        check: "no defect",
        message: "nothing moves",
        rare: false,
    },
    Known {
        name: "a transport that stalls runs until the limit of the drain",
        when: orders,
        check: "an emptied run is empty",
        message: "it ended by its limit",
        rare: false,
    },
    Known {
        name: "the lines of a protocol deadlock depend on the partitions",
        when: |space, point| space.is(point, "response_queue", "short"),
        check: "partitions",
        message: "deadlock: ",
        rare: true,
    },
    Known {
        name: "links are busy for more than all of a measurement that ends early",
        when: ends_early,
        check: "utilisation is at most 1",
        message: "utilisation: ",
        rare: false,
    },
    Known {
        name: "links are busy beyond a measurement that ends early",
        when: ends_early,
        check: "utilisation is the time of packets",
        message: "packets take",
        rare: true,
    },
    Known {
        name: "flows are held back beyond a measurement that ends early",
        when: ends_early,
        check: "parts of the measurement",
        message: "held_back",
        rare: true,
    },
    Known {
        name: "the last bin of `link_series` counts what is sent after the end",
        when: |space, point| space.is(point, "link_series", "yes"),
        check: "series of links",
        message: "ns in the series",
        rare: false,
    },
    Known {
        name: "notifications of flows that have delivered nothing are in no row of `flows`",
        when: |space, point| !space.is(point, "congestion-control", "none"),
        check: "notifications",
        message: "summary",
        rare: false,
    },
];

/// The number of the known defect that a failure is of.
pub fn known(space: &Space, point: &Point, check: &str, message: &str) -> Option<usize> {
    KNOWN.iter().position(|known| {
        known.check == check && message.contains(known.message) && (known.when)(space, point)
    })
}
