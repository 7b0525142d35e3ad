//! Performance counters of routers, as the SeaStar has them (Abts & Weisser, SC07, table 4). The router's registers are 64
//! bits wide, or 32 for each half of the age histogram; these are all 64 bits.

mod tables;

use fabricsim_model::Grant;
use fabricsim_spec::Switch;
use fabricsim_units::{Time, Vl};

pub use tables::{RouterSummaries, RouterSummary};

use super::collector::{Collector, ResultTable};
use crate::RecorderConfig;
use crate::input::TableInput;
use crate::timeline::Timeline;

/// Groups of ages in the histogram: 0-63, 64-127, 128-191, 192-255.
const AGE_GROUPS: usize = 4;

/// Counters of a sending port and lane. The first two count the packets on it, and so those of the buffer behind it;
/// the others count the packets that a switch chooses for the port, by their input lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, fabricsim_state::Value)]
struct RouterCounters {
    /// Flow-control units sent.
    flits: u64,
    /// Picoseconds for which the head of the buffer at the other end waited for space in its staging buffer.
    blocked: u64,
    /// Packets chosen.
    granted: u64,
    /// Picoseconds that they waited, without the switch's own delay.
    waited: u64,
    /// Sum of their ages as they leave.
    age: u64,
    /// Number of them that have an age of each group.
    ages: [u64; AGE_GROUPS],
}

/// The counters of all sending ports within the window.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub(crate) struct Routers {
    /// Bytes of a flow-control unit.
    unit: u32,
    /// Cycle of the routers' clock.
    cycle: Time,
    lanes: usize,
    counters: Vec<RouterCounters>,
}

impl Routers {
    /// In units and cycles of `switch`.
    pub(crate) fn of_switch(switch: &Switch, config: &RecorderConfig, timeline: &Timeline) -> Self {
        Self {
            unit: u32::try_from(switch.flow_control_unit.0).unwrap_or(u32::MAX).max(1),
            cycle: switch.age.cycle.max(Time::ps(1)),
            ..Self::new(config, timeline)
        }
    }

    #[inline]
    fn at(&mut self, port: u32, lane: Vl) -> &mut RouterCounters {
        &mut self.counters[port as usize * self.lanes + usize::from(lane.0)]
    }

    /// Counters of a port, lane by lane.
    fn of(&self, port: u32) -> &[RouterCounters] {
        &self.counters[port as usize * self.lanes..][..self.lanes]
    }
}

impl Collector for Routers {
    type Summary = Option<RouterSummaries>;

    /// Unit and cycle are to be set.
    fn new(config: &RecorderConfig, _timeline: &Timeline) -> Self {
        let lanes = usize::from(config.lanes.max(1));
        let counters = vec![RouterCounters::default(); config.ports as usize * lanes];
        Self { unit: 1, cycle: Time::ps(1), lanes, counters }
    }

    fn transmitted(
        &mut self,
        timeline: &Timeline,
        (port, lane): (u32, Vl),
        bytes: u32,
        start: Time,
        _end: Time,
    ) -> bool {
        if timeline.window.contains(start) {
            let flits = u64::from(bytes.div_ceil(self.unit));
            self.at(port, lane).flits += flits;
        }
        true
    }

    fn blocked(&mut self, timeline: &mut Timeline, port: u32, lane: Vl, start: Time, end: Time) {
        self.at(port, lane).blocked += timeline.window.clip(start, end);
    }

    fn forwarded(&mut self, timeline: &mut Timeline, now: Time, grant: &Grant) {
        if timeline.window.contains(now) {
            let counters = self.at(grant.output, grant.lane);
            counters.granted += 1;
            counters.waited += grant.waited.0;
            counters.age += u64::from(grant.age);
            counters.ages[usize::from(grant.age) / (256 / AGE_GROUPS)] += 1;
        }
    }

    fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counters.iter_mut().zip(&other.counters) {
            mine.add(theirs);
        }
    }

    fn tables(&self, input: &TableInput<'_>) -> Vec<ResultTable> {
        let of_ports =
            "port and virtual lane of a switch: its performance counters; with `measure.router_counters`";
        let of_directions =
            "direction (`+x`, `-x`, ..., `host`): the performance counters of all ports in it";
        vec![
            ResultTable::new(of_ports, tables::ports_table(self, input)),
            ResultTable::new(of_directions, tables::directions_table(self, input)),
        ]
    }

    fn summarize(&self, input: &TableInput<'_>) -> Option<RouterSummaries> {
        Some(tables::summary(self, input))
    }
}

impl RouterCounters {
    fn add(&mut self, other: &Self) {
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
    use crate::Window;
    use crate::grid::Axis;

    /// Of four ports with two lanes each, in flow-control units of eight bytes.
    fn routers() -> Routers {
        let counters = vec![RouterCounters::default(); 8];
        Routers { unit: 8, cycle: Time::ps(1), lanes: 2, counters }
    }

    fn timeline() -> Timeline {
        Timeline { window: WINDOW, axis: Axis::new(Time(50), 8) }
    }

    fn grant(output: u32, lane: u8, waited: u64, age: u8) -> Grant {
        Grant { input: 0, lane: Vl(lane), output, waited: Time(waited), age }
    }

    const WINDOW: Window = Window { from: Time(100), to: Time(200) };

    #[test]
    fn ages_fall_into_their_groups() {
        let mut routers = routers();
        for age in 0..=255 {
            routers.forwarded(&mut timeline(), Time(100), &grant(2, 1, 3, age));
        }
        for age in [0, 63, 64, 127, 128, 191, 192, 255] {
            routers.forwarded(&mut timeline(), Time(199), &grant(2, 0, 0, age));
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
            routers.forwarded(&mut timeline(), Time(now), &grant(3, 1, 5, 7));
            assert!(routers.transmitted(&timeline(), (3, Vl(1)), 9, Time(now), Time(now + 60)));
            routers.blocked(&mut timeline(), 3, Vl(1), Time(now), Time(now + 60));
        }
        let found = routers.of(3)[1];
        // Nine bytes are two flits. Of the intervals, 59, 60 and 1 picoseconds lie within.
        assert_eq!((found.granted, found.waited, found.flits, found.blocked), (2, 10, 4, 59 + 60 + 1));
    }

    /// Histogram halves of 32 bits would have wrapped.
    #[test]
    fn counters_do_not_wrap_at_32_bits() {
        let mut routers = routers();
        routers.at(0, Vl(0)).ages[0] = u64::from(u32::MAX);
        routers.forwarded(&mut timeline(), Time(150), &grant(0, 0, 0, 0));
        assert_eq!(routers.of(0)[0].ages, [1 << 32, 0, 0, 0]);
    }
}
