//! Performance counters of routers, as the SeaStar has them (Abts & Weisser, SC07, table 4). The router's registers are 64
//! bits wide, or 32 for each half of the age histogram; these are all 64 bits.

use fabricsim_model::Grant;
use fabricsim_spec::Switch;
use fabricsim_units::Time;

use crate::Window;

/// Groups of ages in the histogram: 0-63, 64-127, 128-191, 192-255.
pub(crate) const AGE_GROUPS: usize = 4;

/// Counters of a sending port and lane. The first two count the packets on it, and so those of the buffer behind it;
/// the others count the packets that a switch chooses for the port, by their input lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RouterCounters {
    /// Flow-control units sent.
    pub(crate) flits: u64,
    /// Picoseconds for which the head of the buffer at the other end waited for space in its staging buffer.
    pub(crate) blocked: u64,
    /// Packets chosen.
    pub(crate) granted: u64,
    /// Picoseconds that they waited, without the switch's own delay.
    pub(crate) waited: u64,
    /// Sum of their ages as they leave.
    pub(crate) age: u64,
    /// Number of them that have an age of each group.
    pub(crate) ages: [u64; AGE_GROUPS],
}

/// The counters of all sending ports within the window.
#[derive(Clone, Debug)]
pub(crate) struct Routers {
    /// Bytes of a flow-control unit.
    unit: u32,
    /// Cycle of the routers' clock.
    pub(crate) cycle: Time,
    pub(crate) lanes: usize,
    counters: Vec<RouterCounters>,
}

impl Routers {
    pub(crate) fn new(switch: &Switch, ports: u32, lanes: u8) -> Self {
        let lanes = usize::from(lanes.max(1));
        Self {
            unit: u32::try_from(switch.flow_control_unit.0).unwrap_or(u32::MAX).max(1),
            cycle: switch.age.cycle.max(Time::ps(1)),
            lanes,
            counters: vec![RouterCounters::default(); ports as usize * lanes],
        }
    }

    #[inline]
    fn at(&mut self, (port, lane): (u32, u8)) -> &mut RouterCounters {
        &mut self.counters[port as usize * self.lanes + usize::from(lane)]
    }

    /// Counters of a port, lane by lane.
    pub(crate) fn of(&self, port: u32) -> &[RouterCounters] {
        &self.counters[port as usize * self.lanes..][..self.lanes]
    }

    pub(crate) fn transmitted(&mut self, window: Window, at: (u32, u8), bytes: u32, start: Time) {
        if window.contains(start) {
            let flits = u64::from(bytes.div_ceil(self.unit));
            self.at(at).flits += flits;
        }
    }

    pub(crate) fn blocked(&mut self, window: Window, at: (u32, u8), start: Time, end: Time) {
        self.at(at).blocked += window.clip(start, end);
    }

    pub(crate) fn forwarded(&mut self, window: Window, now: Time, grant: &Grant) {
        if window.contains(now) {
            let counters = self.at((grant.output, grant.lane.0));
            counters.granted += 1;
            counters.waited += grant.waited.0;
            counters.age += u64::from(grant.age);
            counters.ages[usize::from(grant.age) / (256 / AGE_GROUPS)] += 1;
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counters.iter_mut().zip(&other.counters) {
            mine.add(theirs);
        }
    }
}

impl RouterCounters {
    pub(crate) fn add(&mut self, other: &Self) {
        self.flits += other.flits;
        self.blocked += other.blocked;
        self.granted += other.granted;
        self.waited += other.waited;
        self.age += other.age;
        self.ages.iter_mut().zip(other.ages).for_each(|(mine, theirs)| *mine += theirs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabricsim_units::{Bytes, Vl};

    fn routers() -> Routers {
        let switch = Switch { flow_control_unit: Bytes(8), ..Switch::default() };
        Routers::new(&switch, 4, 2)
    }

    fn grant(output: u32, lane: u8, waited: u64, age: u8) -> Grant {
        Grant { input: 0, lane: Vl(lane), output, waited: Time(waited), age }
    }

    const WINDOW: Window = Window { from: Time(100), to: Time(200) };

    #[test]
    fn ages_fall_into_their_groups() {
        let mut routers = routers();
        for age in 0..=255 {
            routers.forwarded(WINDOW, Time(100), &grant(2, 1, 3, age));
        }
        for age in [0, 63, 64, 127, 128, 191, 192, 255] {
            routers.forwarded(WINDOW, Time(199), &grant(2, 0, 0, age));
        }
        let [one, all] = routers.of(2) else { panic!("two lanes") };
        assert_eq!((all.ages, all.granted, all.waited, all.age), ([64; 4], 256, 768, 255 * 128));
        assert_eq!(one.ages, [2; 4]);
        assert_eq!(routers.of(1), [RouterCounters::default(); 2]);
    }

    #[test]
    fn only_the_window_counts() {
        let mut routers = routers();
        for now in [0, 99, 100, 199, 200] {
            routers.forwarded(WINDOW, Time(now), &grant(3, 1, 5, 7));
            routers.transmitted(WINDOW, (3, 1), 9, Time(now));
            routers.blocked(WINDOW, (3, 1), Time(now), Time(now + 60));
        }
        let found = routers.of(3)[1];
        // Nine bytes are two flits. Of the intervals, 59, 60 and 1 picoseconds lie within.
        assert_eq!((found.granted, found.waited, found.flits, found.blocked), (2, 10, 4, 59 + 60 + 1));
    }

    /// Histogram halves of 32 bits would have wrapped.
    #[test]
    fn counters_do_not_wrap_at_32_bits() {
        let mut routers = routers();
        routers.at((0, 0)).ages[0] = u64::from(u32::MAX);
        routers.forwarded(WINDOW, Time(150), &grant(0, 0, 0, 0));
        assert_eq!(routers.of(0)[0].ages, [1 << 32, 0, 0, 0]);
    }
}
