//! The machine's clock in the time units of the state machines.

use std::thread::sleep;
use std::time::Duration;

use fabricsim_units::Time;
use rustix::time::{ClockId, clock_gettime};

/// A time by the machine's clock, in ns since it was started: the same in all processes, and never set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timestamp(pub(crate) u64);

/// Time since the clock was started.
pub(crate) struct Clock(Timestamp);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(machine())
    }

    pub(crate) fn now(&self) -> Time {
        Time::ns(machine().0.saturating_sub(self.0.0))
    }

    /// Stamp of a datagram that is sent at `now`.
    pub(crate) fn stamp(&self, now: Time) -> Timestamp {
        Timestamp(self.0.0 + now.0 / 1000)
    }

    /// True if a datagram sent then is older than its lifetime.
    pub(crate) fn is_over(&self, sent: Timestamp, now: Time, lifetime: Time) -> bool {
        self.stamp(now).0.saturating_sub(sent.0) >= lifetime.0 / 1000
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "sockets work in real time, and two processes have to agree on a packet's age; nothing simulated is here"
)]
fn machine() -> Timestamp {
    let now = clock_gettime(ClockId::Monotonic);
    Timestamp(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
}

/// Sleeps for a short time while idle.
pub(crate) fn rest() {
    sleep(Duration::from_micros(50));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_has_a_lifetime() {
        let clock = Clock(Timestamp(5_000_000_000));
        let sent = clock.stamp(Time::us(100));
        assert_eq!(sent, Timestamp(5_000_100_000));
        assert!(!clock.is_over(sent, Time::us(100), Time::us(20)));
        assert!(!clock.is_over(sent, Time::us(119), Time::us(20)));
        assert!(clock.is_over(sent, Time::us(120), Time::us(20)));
        // A datagram from before this clock was started.
        assert!(clock.is_over(Timestamp(4_999_000_000), Time::ZERO, Time::us(20)));
    }
}
