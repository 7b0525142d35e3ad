//! The event at which a port sends control frames of its link: flow-control packets, or pause frames.

use fabricsim_units::Time;

/// The event that a port waits for, if any. Others that were scheduled for it before are out of date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub(crate) struct ControlSchedule {
    /// Time of the event; [`Time::MAX`] if there is none.
    due: Time,
    /// True if that is the time at which the link is free, or if the link has failed.
    waits: bool,
}

impl ControlSchedule {
    /// No event.
    pub(crate) const IDLE: Self = Self { due: Time::MAX, waits: false };

    /// The port has something to send from `at` on. Returns the time of an event that is to be scheduled, after now.
    #[must_use]
    pub(crate) fn plan(&mut self, at: Time, now: Time) -> Option<Time> {
        let at = at.max(Time(now.0 + 1));
        if self.waits || at >= self.due {
            return None;
        }
        self.due = at;
        Some(at)
    }

    /// True if the event of `now` is the one that the port waits for. Then none is scheduled any more.
    pub(crate) fn is_due(&mut self, now: Time) -> bool {
        let is_due = self.due == now;
        if is_due {
            *self = Self::IDLE;
        }
        is_due
    }

    /// The port waits until its link is free; [`Time::MAX`]: until it is restored.
    pub(crate) fn wait(&mut self, until: Time) {
        *self = Self { due: until, waits: true };
    }

    /// The link works again, and is free from `at` on. Returns the time of an event that is to be scheduled.
    #[must_use]
    pub(crate) fn restore(&mut self, at: Time) -> Option<Time> {
        let waits = self.waits && self.due == Time::MAX;
        if waits {
            self.due = at;
        }
        waits.then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(100);

    #[test]
    fn the_earliest_event_counts_and_is_after_now() {
        let mut schedule = ControlSchedule::IDLE;
        assert_eq!(schedule.plan(Time(300), NOW), Some(Time(300)));
        assert_eq!(schedule.plan(Time(400), NOW), None);
        assert_eq!(schedule.plan(Time(50), NOW), Some(Time(101)));
        assert!(!schedule.is_due(Time(300)), "an event that is out of date");
        assert!(schedule.is_due(Time(101)) && !schedule.is_due(Time(101)));
    }

    #[test]
    fn nothing_is_planned_while_the_link_is_busy() {
        let mut schedule = ControlSchedule::IDLE;
        schedule.wait(Time(200));
        assert_eq!(schedule.plan(Time(150), NOW), None);
        assert_eq!(schedule.restore(Time(300)), None, "the link has not failed");
        assert!(schedule.is_due(Time(200)));
        schedule.wait(Time::MAX);
        assert_eq!(schedule.restore(Time(300)), Some(Time(300)));
        assert!(schedule.is_due(Time(300)));
    }
}
