use fabricsim_units::{ByteTime, Time};

/// The receiving side of a host that accepts packets more slowly than they arrive: a bus of limited rate that pauses
/// periodically.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub struct SinkState {
    byte_time: Option<ByteTime>,
    work: Time,
    pause: Time,
    free_at: Time,
}

impl SinkState {
    /// A sink behind a bus with `byte_time` a byte (`None`: no limit) that works for `work`, then pauses for `pause`;
    /// `pause` zero: never.
    pub fn new(byte_time: Option<ByteTime>, work: Time, pause: Time) -> Self {
        Self { byte_time, work, pause, free_at: Time::ZERO }
    }

    /// Accepts a packet whose head arrives now, and whose tail has `arrived`; packets are accepted one after the other. Returns the times at which
    /// the first and the last byte are accepted.
    pub fn take(&mut self, now: Time, bytes: u32, arrived: Time) -> (Time, Time) {
        let start = self.after_work(now.max(self.free_at), Time::ZERO);
        let bus = self.byte_time.map_or(Time::ZERO, |b| b.duration(bytes));
        let end = self.after_work(start, bus).max(arrived);
        self.free_at = end;
        (start, end)
    }

    /// Returns the time at which `work` of working time has passed from `from` on.
    fn after_work(&self, from: Time, work: Time) -> Time {
        if self.pause == Time::ZERO || self.work == Time::ZERO {
            return from + work;
        }
        let period = self.work + self.pause;
        let phase = Time(from.0 % period.0);
        let (mut at, mut left) =
            if phase >= self.work { (from + (period - phase), work) } else { (from, work) };
        let first = self.work - Time(at.0 % period.0);
        if left < first || left == Time::ZERO {
            return at + left;
        }
        left = left - first;
        at = at + first + self.pause;
        let whole = left.0 / self.work.0;
        at + period * whole + Time(left.0 % self.work.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabricsim_units::Rate;

    fn ns_per_byte(n: u64) -> ByteTime {
        Rate::new(8_000_000_000 / n).unwrap().byte_time()
    }

    #[test]
    fn a_slow_bus_queues_packets() {
        let mut sink = SinkState::new(Some(ns_per_byte(2)), Time::ZERO, Time::ZERO);
        assert_eq!(sink.take(Time::ns(10), 100, Time::ns(110)), (Time::ns(10), Time::ns(210)));
        assert_eq!(sink.take(Time::ns(110), 100, Time::ns(210)), (Time::ns(210), Time::ns(410)));
    }

    #[test]
    fn a_fast_bus_waits_for_the_link() {
        let mut sink = SinkState::new(Some(ns_per_byte(1)), Time::ZERO, Time::ZERO);
        assert_eq!(sink.take(Time::ns(10), 100, Time::ns(410)), (Time::ns(10), Time::ns(410)));
    }

    #[test]
    fn pauses_stop_the_bus() {
        // Works 100 ns, pauses 50 ns.
        let mut sink = SinkState::new(Some(ns_per_byte(1)), Time::ns(100), Time::ns(50));
        assert_eq!(sink.take(Time::ns(20), 60, Time::ns(80)), (Time::ns(20), Time::ns(80)));
        assert_eq!(sink.take(Time::ns(80), 250, Time::ns(330)), (Time::ns(80), Time::ns(480)));
        assert_eq!(sink.take(Time::ns(720), 10, Time::ns(730)), (Time::ns(750), Time::ns(760)));
    }
}
