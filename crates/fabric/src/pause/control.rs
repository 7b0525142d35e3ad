use std::collections::VecDeque;

use fabricsim_units::{Time, Vl};

use super::{PauseFrame, PauseThresholds};
use crate::control_schedule::ControlSchedule;
use crate::{LaneCredits, Ramp, RampPool, Table};

/// Pause frames of the ports of a partition: what is in their input buffers, and what the other ends have been told.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub struct PauseControl {
    lane_count: usize,
    ports: Table<Port>,
    lanes: Table<Lane>,
    ramps: RampPool,
}

#[derive(Clone, Debug, fabricsim_state::Value)]
struct Port {
    thresholds: PauseThresholds,
    /// Thresholds of the buffer at the other end of the link.
    ahead: PauseThresholds,
    schedule: ControlSchedule,
    /// Packets on the way to a limited sink, in order.
    arrivals: VecDeque<Arrival>,
    /// Frames on the way to this port, in order, with the times at which they take effect.
    frames: VecDeque<(Time, PauseFrame)>,
}

/// A packet that arrives at a limited sink, whose times are computed as the packet is sent.
#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
pub(super) struct Arrival {
    pub(super) at: Time,
    pub(super) lane: Vl,
    /// Its blocks as they leave the buffer.
    pub(super) ramp: Ramp,
}

/// A lane of the input buffer of a port.
#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
struct Lane {
    space: LaneCredits,
    /// True if a frame has paused the other end.
    is_paused: bool,
}

/// The outcome for a packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// False if there is no space for it: then it is lost.
    pub has_space: bool,
    /// Time of an event that is to be scheduled for the port.
    pub control: Option<Time>,
}

impl PauseControl {
    /// Ports with the thresholds of their buffers and of those at the other ends of their links; `unit` is the size of a block.
    pub fn new(
        lane_count: usize,
        unit: u32,
        ports: impl Iterator<Item = (PauseThresholds, PauseThresholds)>,
    ) -> Self {
        let port = |(thresholds, ahead)| Port {
            thresholds,
            ahead,
            schedule: ControlSchedule::IDLE,
            arrivals: VecDeque::new(),
            frames: VecDeque::new(),
        };
        let ports: Vec<Port> = ports.map(port).collect();
        let lane = |port: &Port| Lane { space: LaneCredits::new(port.thresholds.capacity), is_paused: false };
        let lanes = ports.iter().flat_map(|port| std::iter::repeat_n(lane(port), lane_count)).collect();
        Self { lane_count, ports: Table::new(ports), lanes: Table::new(lanes), ramps: RampPool::new(unit) }
    }

    fn place(&self, port: u32, lane: Vl) -> usize {
        port as usize * self.lane_count + lane.index()
    }

    /// A packet of `blocks` arrives in the input buffer of a port.
    pub fn admit(&mut self, port: u32, lane: Vl, blocks: u32, now: Time) -> Admission {
        let place = self.place(port, lane);
        let space = &mut self.lanes[place].space;
        self.ramps.collect(space, now);
        let has_space = space.free >= blocks;
        if has_space {
            self.ramps.take(space, blocks);
        }
        let state = &mut self.ports[port as usize];
        let exceeds = has_space && state.thresholds.capacity - space.free > state.thresholds.xoff;
        let is_news = exceeds && !self.lanes[place].is_paused;
        Admission { has_space, control: if is_news { state.schedule.plan(now, now) } else { None } }
    }

    /// Blocks leave the input buffer of a port. Returns the time of an event that is to be scheduled.
    #[must_use]
    pub(crate) fn release(&mut self, port: u32, lane: Vl, ramp: Ramp, now: Time) -> Option<Time> {
        let place = self.place(port, lane);
        self.ramps.give_back(&mut self.lanes[place].space, ramp);
        let at = self.resumes_at(port, place)?;
        self.ports[port as usize].schedule.plan(at, now)
    }

    /// Time at which a paused lane has no more in its buffer than XON, if it is paused and that is known.
    fn resumes_at(&self, port: u32, place: usize) -> Option<Time> {
        let lane = &self.lanes[place];
        let thresholds = self.ports[port as usize].thresholds;
        let needed = thresholds.capacity - thresholds.xon;
        if !lane.is_paused {
            return None;
        }
        if lane.space.free >= needed {
            // The frame waits for the link.
            return Some(Time::ZERO);
        }
        let at = self.ramps.earliest(&lane.space, needed);
        (at < Time::MAX).then_some(at)
    }

    /// A packet is sent to the limited sink behind a port. Returns the time of an event that is to be scheduled.
    #[must_use]
    pub(super) fn expect(&mut self, port: u32, arrival: Arrival, now: Time) -> Option<Time> {
        let port = &mut self.ports[port as usize];
        port.arrivals.push_back(arrival);
        port.schedule.plan(arrival.at, now)
    }

    /// Packets for a limited sink arrive. It has headroom for all (`fabricsim_engine` refuses others): what is beyond the buffer is not counted.
    fn take_arrivals(&mut self, port: u32, now: Time) {
        while let Some(&Arrival { at, lane, ramp }) = self.ports[port as usize].arrivals.front()
            && at <= now
        {
            self.ports[port as usize].arrivals.pop_front();
            let place = self.place(port, lane);
            let space = &mut self.lanes[place].space;
            self.ramps.collect(space, at);
            debug_assert!(space.free >= ramp.blocks, "a buffer without headroom");
            let blocks = ramp.blocks.min(space.free);
            self.ramps.take(space, blocks);
            self.ramps.give_back(space, Ramp { blocks, ..ramp });
        }
    }

    /// True if the event of `now` is the one that the port waits for: the packets that have arrived by now count.
    pub(super) fn is_due(&mut self, port: u32, now: Time) -> bool {
        let is_due = self.ports[port as usize].schedule.is_due(now);
        if is_due {
            self.take_arrivals(port, now);
        }
        is_due
    }

    /// A port waits until its link is free; [`Time::MAX`]: until it is restored.
    pub(super) fn wait(&mut self, port: u32, until: Time) {
        self.ports[port as usize].schedule.wait(until);
    }

    /// The link of a port works again, and is free from `at` on. Returns the time of an event that is to be scheduled.
    #[must_use]
    pub fn restore(&mut self, port: u32, at: Time) -> Option<Time> {
        self.ports[port as usize].schedule.restore(at)
    }

    /// The frame that a port would send now.
    pub(super) fn frame(&mut self, port: u32, now: Time) -> PauseFrame {
        let thresholds = self.ports[port as usize].thresholds;
        let mut frame = PauseFrame::default();
        for number in 0..self.lane_count {
            let lane = &mut self.lanes[port as usize * self.lane_count + number];
            self.ramps.collect(&mut lane.space, now);
            let held = thresholds.capacity - lane.space.free;
            frame.paused |= u16::from(!lane.is_paused && held > thresholds.xoff) << number;
            frame.resumed |= u16::from(lane.is_paused && held <= thresholds.xon) << number;
        }
        frame
    }

    /// A port has sent a frame.
    pub(super) fn sent(&mut self, port: u32, frame: PauseFrame) {
        for number in 0..self.lane_count {
            let lane = &mut self.lanes[port as usize * self.lane_count + number];
            lane.is_paused =
                (lane.is_paused || frame.paused >> number & 1 == 1) && frame.resumed >> number & 1 == 0;
        }
    }

    /// The next event of a port, as things stand. Returns the time of one that is to be scheduled.
    #[must_use]
    pub(super) fn next(&mut self, port: u32, now: Time) -> Option<Time> {
        let first = port as usize * self.lane_count;
        let resumes = (first..first + self.lane_count).filter_map(|place| self.resumes_at(port, place)).min();
        let state = &mut self.ports[port as usize];
        let arrives = state.arrivals.front().map(|arrival| arrival.at);
        let at = resumes.into_iter().chain(arrives).min()?;
        state.schedule.plan(at, now)
    }

    /// A frame for a port takes effect at a time.
    pub fn approach(&mut self, port: u32, at: Time, frame: PauseFrame) {
        self.ports[port as usize].frames.push_back((at, frame));
    }

    /// The next frame that has taken effect at a port.
    pub(super) fn take_frame(&mut self, port: u32, now: Time) -> Option<PauseFrame> {
        let frames = &mut self.ports[port as usize].frames;
        frames.front().filter(|(at, _)| *at <= now)?;
        frames.pop_front().map(|(_, frame)| frame)
    }

    /// Blocks of the buffer at the other end of a port's link that must be free before a lane which is paused there is resumed.
    pub fn needed_ahead(&self, port: u32) -> u32 {
        let PauseThresholds { capacity, xon, .. } = self.ports[port as usize].ahead;
        capacity - xon
    }

    /// Free blocks of a lane of a port's input buffer, and those that become free as packets leave, with its capacity.
    pub fn accounted(&self, port: u32, lane: usize) -> (u32, u32) {
        let space = &self.lanes[port as usize * self.lane_count + lane].space;
        (space.free + self.ramps.outstanding(space), self.ports[port as usize].thresholds.capacity)
    }
}
