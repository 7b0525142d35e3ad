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

pub const KNOWN: &[Known] = &[Known {
    name: "A link that comes back while a manager's sweep has passed it stays inactive, if there are no traps: the manager clears the \
           switch's PortStateChange when it sets the table, as OpenSM does.",
    when: |space, point| space.choice(point, "faults") != "none" && space.choice(point, "manager") != "none",
    check: "an emptied run is empty",
    message: "",
    rare: true,
}];

/// The number of the known defect that a failure is of.
pub fn known(space: &Space, point: &Point, check: &str, message: &str) -> Option<usize> {
    KNOWN.iter().position(|known| {
        known.check == check && message.contains(known.message) && (known.when)(space, point)
    })
}
