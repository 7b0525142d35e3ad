//! The receiving side: FECN becomes BECN. (InfiniBand Architecture Specification, A10.2.2; section II-F of the tutorial.)

use std::collections::BTreeMap;

use fabricsim_spec::NotifyBy;
use fabricsim_units::{HostId, Time};

/// Answer of a destination to a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Source to which it goes.
    pub to: HostId,
    /// True if it notifies of congestion (BECN).
    pub notifies: bool,
}

/// Answers that a host owes to the sources of what it received.
#[derive(Clone, Debug)]
pub struct Destination {
    by: NotifyBy,
    interval: Time,
    /// By source: the time of its last notification (congestion notification packets), or whether it is notified with the
    /// next acknowledgement.
    sources: BTreeMap<HostId, State>,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    told: Option<Time>,
    marked: bool,
}

impl Destination {
    /// A destination that leaves at least `interval` between two congestion notification packets to a source.
    pub fn new(by: NotifyBy, interval: Time) -> Self {
        Self { by, interval, sources: BTreeMap::new() }
    }

    /// A packet from `source` has arrived; `marked`: with a mark (FECN); `last`: the last of its message. Returns the
    /// answer to send back, if any.
    pub fn arrived(&mut self, now: Time, source: HostId, marked: bool, last: bool) -> Option<Answer> {
        match self.by {
            NotifyBy::Cnp if !marked => None,
            NotifyBy::Cnp => self.notification(now, source),
            NotifyBy::Acknowledgement => self.acknowledgement(source, marked, last),
        }
    }

    fn notification(&mut self, now: Time, source: HostId) -> Option<Answer> {
        if self.interval > Time::ZERO {
            let state = self.sources.entry(source).or_default();
            if state.told.is_some_and(|told| now < told + self.interval) {
                return None;
            }
            state.told = Some(now);
        }
        Some(Answer { to: source, notifies: true })
    }

    fn acknowledgement(&mut self, source: HostId, marked: bool, last: bool) -> Option<Answer> {
        if marked {
            self.sources.entry(source).or_default().marked = true;
        }
        let state = self.sources.get_mut(&source);
        last.then(|| Answer { to: source, notifies: state.is_some_and(|s| std::mem::take(&mut s.marked)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: HostId = HostId(1);
    const B: HostId = HostId(2);

    #[test]
    fn a_marked_packet_is_answered_at_once() {
        let mut destination = Destination::new(NotifyBy::Cnp, Time::ZERO);
        let answer = Some(Answer { to: A, notifies: true });
        assert_eq!(destination.arrived(Time::ns(1), A, true, false), answer);
        assert_eq!(destination.arrived(Time::ns(2), A, true, false), answer);
        assert_eq!(destination.arrived(Time::ns(3), A, false, true), None);
    }

    #[test]
    fn notifications_keep_their_distance() {
        let mut destination = Destination::new(NotifyBy::Cnp, Time::us(50));
        assert!(destination.arrived(Time::us(1), A, true, false).is_some());
        assert!(destination.arrived(Time::us(50), A, true, false).is_none());
        assert!(destination.arrived(Time::us(50), B, true, false).is_some(), "another source");
        assert!(destination.arrived(Time::us(51), A, true, false).is_some());
    }

    #[test]
    fn an_acknowledgement_carries_the_marks_of_its_message() {
        let mut destination = Destination::new(NotifyBy::Acknowledgement, Time::ZERO);
        assert_eq!(destination.arrived(Time::ns(1), A, true, false), None);
        assert_eq!(destination.arrived(Time::ns(2), B, false, true), Some(Answer { to: B, notifies: false }));
        assert_eq!(destination.arrived(Time::ns(3), A, false, true), Some(Answer { to: A, notifies: true }));
        assert_eq!(destination.arrived(Time::ns(4), A, false, true), Some(Answer { to: A, notifies: false }));
    }
}
