use fabricsim_units::{Time, Vl};

use super::{Credits, MODULUS};
use crate::control_schedule::ControlSchedule;
use crate::{LaneCredits, Ramp, RampPool, Table};

/// Value of [`crate::Sender::retry`] of a port that sends flow-control packets and has no errors.
pub const NO_ERRORS: u32 = u32::MAX - 1;

/// Flow-control packets of the ports of a partition: what they announce, and when they are sent.
///
/// A receiving port knows the blocks that leave its input buffer, as [`Ramp`]s. Its flow-control packets announce those that have left since the
/// last one that arrived; the sender at the other end gets them all at once as the packet arrives. That is the same as the counters
/// of [`super::LaneCounters`]: CL - TBS are the blocks that were announced and not used. FCTBS brings back what data packets that were
/// lost had used: the other end counts them as blocks that have left.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub struct FlowControl {
    period: Time,
    lane_count: usize,
    ports: Table<Port>,
    lanes: Table<Lane>,
    ramps: RampPool,
}

#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
struct Port {
    /// Longest time between two flow-control packets of a lane while there is something to repeat.
    refresh: Time,
    /// Time of the last flow-control packet of any lane.
    sent_at: Time,
    schedule: ControlSchedule,
    /// True if all its flow-control packets are lost.
    loses: bool,
}

/// A lane of the input buffer of a port.
#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
struct Lane {
    /// `free` are the blocks that have left and that no flow-control packet which arrived has announced.
    space: LaneCredits,
    /// Those among them that one has announced which was lost.
    repeated: u32,
    /// Blocks that this port has sent on the lane and that were lost, and the other end does not know of.
    lost: u32,
    /// TBS.
    sent: u16,
    /// FCCL.
    limit: u16,
    /// Time of the last flow-control packet.
    sent_at: Time,
}

/// Content of a flow-control packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub(super) struct Announcement {
    /// Blocks that its receiver may send beyond those of the last one that arrived.
    pub(super) released: u32,
    /// Blocks of lost packets that its receiver hears of.
    pub(super) lost: u32,
    pub(super) counters: Credits,
}

impl FlowControl {
    /// Ports with the time of a byte on their links and the blocks of their input buffers; `unit` is the size of a block.
    pub fn new(
        period: Time,
        lane_count: usize,
        unit: u32,
        ports: impl Iterator<Item = (Time, u32)> + Clone,
    ) -> Self {
        let port = |(refresh, _)| Port {
            refresh,
            sent_at: Time::ZERO,
            schedule: ControlSchedule::IDLE,
            loses: false,
        };
        let lane = |(_, blocks): (Time, u32)| Lane {
            space: LaneCredits::new(0),
            repeated: 0,
            lost: 0,
            sent: 0,
            limit: (blocks % u32::from(MODULUS)) as u16,
            sent_at: Time::ZERO,
        };
        let lanes = ports.clone().flat_map(|port| std::iter::repeat_n(lane(port), lane_count));
        Self {
            period,
            lane_count,
            lanes: Table::new(lanes.collect()),
            ports: Table::new(ports.map(port).collect()),
            ramps: RampPool::new(unit),
        }
    }

    fn place(&self, port: u32, lane: Vl) -> usize {
        port as usize * self.lane_count + lane.index()
    }

    /// A port sends a data packet.
    pub(crate) fn sent(&mut self, port: u32, lane: Vl, blocks: u32) {
        let place = self.place(port, lane);
        let sent = &mut self.lanes[place].sent;
        *sent = ((u32::from(*sent) + blocks) % u32::from(MODULUS)) as u16;
    }

    /// Blocks leave the input buffer of a port. Returns the time of an event that is to be scheduled.
    #[must_use]
    pub fn release(&mut self, port: u32, lane: Vl, ramp: Ramp, now: Time) -> Option<Time> {
        let first = ramp.time_of(1, self.ramps.unit());
        let place = self.place(port, lane);
        self.ramps.push(&mut self.lanes[place].space, ramp);
        let earliest = self.ports[port as usize].sent_at + self.period;
        self.plan(port, first.max(earliest), now)
    }

    /// A data packet that a port has sent is lost. Returns the time of an event that is to be scheduled.
    #[must_use]
    pub(crate) fn lose(&mut self, port: u32, lane: Vl, blocks: u32, now: Time) -> Option<Time> {
        let place = self.place(port, lane);
        let lane = &mut self.lanes[place];
        lane.lost += blocks;
        let at = lane.sent_at + self.ports[port as usize].refresh;
        self.plan(port, at, now)
    }

    fn plan(&mut self, port: u32, at: Time, now: Time) -> Option<Time> {
        self.ports[port as usize].schedule.plan(at, now)
    }

    /// True if the event of `now` is the one that the port waits for. Then none is scheduled any more.
    pub(super) fn is_due(&mut self, port: u32, now: Time) -> bool {
        self.ports[port as usize].schedule.is_due(now)
    }

    /// A port waits until its link is free; [`Time::MAX`]: until it is restored.
    pub(super) fn wait(&mut self, port: u32, until: Time) {
        self.ports[port as usize].schedule.wait(until);
    }

    /// Sends the flow-control packets without news that are due by `now`: of each lane one for each 65 536 symbol times. No event does so: they
    /// make no difference but to what the port sends next. The link is idle since `idle_since`, or will be; a packet takes `wire`. Calls `each` with
    /// the time of the first and the number of the packets of a lane. Returns the time for which they keep the link from now on.
    pub(super) fn refresh(
        &mut self,
        port: u32,
        (idle_since, now): (Time, Time),
        wire: Time,
        mut each: impl FnMut(Time, u64),
    ) -> Time {
        let every = self.ports[port as usize].refresh;
        let first = port as usize * self.lane_count;
        let mut busy = Time::ZERO;
        for lane in self.lanes.iter_mut().skip(first).take(self.lane_count) {
            let begin = (lane.sent_at + every).max(idle_since);
            // What is to be repeated has an event.
            if begin > now || lane.repeated > 0 || lane.lost > 0 {
                continue;
            }
            let more = (now - begin).0 / every.0.max(1);
            lane.sent_at = begin + every * more;
            each(begin, more + 1);
            if lane.sent_at + wire > now {
                busy += wire;
            }
        }
        busy
    }

    /// Longest time between two flow-control packets of a lane.
    pub(super) fn refresh_time(&self, port: u32) -> Time {
        self.ports[port as usize].refresh
    }

    /// From now on all flow-control packets that a port sends are lost, or none but those with bit errors.
    pub fn set_loses(&mut self, port: u32, loses: bool) {
        self.ports[port as usize].loses = loses;
    }

    pub(super) fn loses(&self, port: u32) -> bool {
        self.ports[port as usize].loses
    }

    /// Time of the last flow-control packet of the lane that has sent none for longest.
    pub fn last_sent(&self, port: u32) -> Time {
        let first = port as usize * self.lane_count;
        let lanes = self.lanes.iter().skip(first).take(self.lane_count);
        lanes.map(|lane| lane.sent_at).min().unwrap_or_default()
    }

    /// The link of a port works again, and is free from `at` on. Returns the time of an event that is to be scheduled.
    #[must_use]
    pub fn restore(&mut self, port: u32, at: Time) -> Option<Time> {
        let first = port as usize * self.lane_count;
        self.lanes.iter_mut().skip(first).take(self.lane_count).for_each(|lane| lane.sent_at = at);
        self.ports[port as usize].schedule.restore(at)
    }

    /// The flow-control packet that a port sends now for a lane; none if there is nothing to announce.
    pub(super) fn announce(&mut self, port: u32, lane: Vl, now: Time) -> Option<Announcement> {
        let place = self.place(port, lane);
        let refresh = self.ports[port as usize].refresh;
        let lane = &mut self.lanes[place];
        self.ramps.collect(&mut lane.space, now);
        let released = lane.space.free;
        // Each lane has its own time: what others have to announce does not put it off.
        let repeats = (lane.repeated > 0 || lane.lost > 0) && now >= lane.sent_at + refresh;
        if released == lane.repeated && !repeats {
            return None;
        }
        lane.sent_at = now;
        let limit = (u32::from(lane.limit) + released) % u32::from(MODULUS);
        let counters = Credits { total_blocks_sent: lane.sent, credit_limit: limit as u16 };
        Some(Announcement { released, lost: lane.lost, counters })
    }

    /// The flow-control packet of a lane arrives at the other end, or is lost.
    pub(super) fn settle(&mut self, port: u32, lane: Vl, announcement: &Announcement, arrives: bool) {
        let place = self.place(port, lane);
        let lane = &mut self.lanes[place];
        if arrives {
            lane.limit = announcement.counters.credit_limit;
            (lane.space.free, lane.repeated, lane.lost) = (0, 0, 0);
        } else {
            lane.repeated = announcement.released;
        }
    }

    /// A port has sent its flow-control packets at `now`, if it `has_sent` any. Returns the time of an event that is to be scheduled.
    #[must_use]
    pub(super) fn finish(&mut self, port: u32, has_sent: bool, now: Time) -> Option<Time> {
        if has_sent {
            self.ports[port as usize].sent_at = now;
        }
        let Port { sent_at, refresh, .. } = self.ports[port as usize];
        let first = port as usize * self.lane_count;
        let mut next = Time::MAX;
        for lane in self.lanes.iter().skip(first).take(self.lane_count) {
            let at = self.ramps.earliest(&lane.space, lane.space.free + 1);
            if at < Time::MAX {
                next = next.min(at.max(sent_at + self.period));
            }
            if lane.repeated > 0 || lane.lost > 0 {
                next = next.min(lane.sent_at + refresh);
            }
        }
        if next == Time::MAX { None } else { self.plan(port, next, now) }
    }

    /// Blocks that have left the input buffer of a port, or will, and that the other end has not been told of.
    pub fn unannounced(&self, port: u32, lane: usize) -> u32 {
        let lane = &self.lanes[port as usize * self.lane_count + lane];
        lane.space.free + self.ramps.outstanding(&lane.space)
    }

    /// Blocks that a port has sent, and that were lost without the other end's knowledge.
    pub fn lost(&self, port: u32, lane: usize) -> u32 {
        self.lanes[port as usize * self.lane_count + lane].lost
    }
}
