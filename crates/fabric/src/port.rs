use std::ops::Range;

use fabricsim_model::{Lanes, Observer};
use fabricsim_spec::Selection;
use fabricsim_units::{ByteTime, Time, Vl};

use crate::link_layer::RetryState;
use crate::{LaneCredits, Outbox, Ramp, RampPool, SinkState, Table};

/// Node at the other end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FarEnd {
    /// A switch of this partition: its port.
    Switch(u32),
    /// A host of this partition whose sink accepts everything at once: its port.
    Host(u32),
    /// A host of this partition whose sink is limited: its port. The sink is in [`Ports::sinks`].
    SlowHost(u32),
    /// A host of this partition with admission control, which returns the space of a packet as it admits it: its port.
    GatedHost(u32),
    /// A switch of another partition.
    Remote,
}

/// The sending side of a port: one direction of a link. Aligned so that its place in a table is found by a shift.
#[derive(Clone, Debug)]
#[repr(align(128))]
pub struct Sender {
    /// Time until which a packet occupies the link.
    pub busy_until: Time,
    /// Time from which on a paced link carries nothing, although the packet still keeps it.
    pub carried_until: Time,
    /// The earliest wake-up that is scheduled for this port; [`Time::MAX`] if none is.
    pub wake_at: Time,
    /// Time of a byte of a packet that is sent.
    pub byte_time: ByteTime,
    /// Propagation latency of the link.
    pub latency: Time,
    /// From the departure of the head to the time when it may be sent on at the far end (cut-through): the link's
    /// latency and the far switch's delay.
    pub far_end_delay: Time,
    /// From the departure of a block to the return of its credit, at a sink that accepts every block as it comes.
    pub sink_credit_delay: Time,
    /// Number of the limited sink at the far end, if there is one.
    pub sink: u32,
    /// Number of the link's errors, if it has any: in [`Ports::retries`].
    pub retry: u32,
    /// Number of this direction of the link in the whole fabric.
    pub channel: u32,
    /// Bytes that a packet occupies on the link beyond its own.
    pub overhead: u32,
    /// Time of a byte on the link itself, where the switch sends the units of a packet at longer intervals; else the same as
    /// [`Sender::byte_time`].
    pub link_byte_time: ByteTime,
    /// Receiver.
    pub far_end: FarEnd,
    /// Time since which the port has been idle because it has no credits; [`Time::MAX`] if it is not.
    pub stalled_since: Time,
    /// The lane that lacks credits.
    pub stalled_lane: Vl,
    /// The lane last chosen, for choosing in turn.
    pub last_lane: Vl,
    /// True if some lane has a packet that waits for credits.
    pub starving: bool,
}

impl Sender {
    /// The time at which the transmission in progress ends.
    pub fn transmitting_until(&self) -> Time {
        if self.is_paced() { self.carried_until } else { self.busy_until }
    }

    /// True if the switch sends the units of a packet at longer intervals than the link needs.
    #[inline]
    pub(crate) fn is_paced(&self) -> bool {
        self.link_byte_time != self.byte_time
    }

    /// Time for which a packet keeps the link, if it is paced: until the link has carried its last unit, and the overhead.
    pub(crate) fn held(&self, bytes: u32, unit: u32) -> Time {
        let before = (bytes - 1) / unit * unit;
        self.byte_time.duration(before) + self.link_byte_time.duration(bytes - before + self.overhead)
    }
}

/// The receiving side of a port, with its input buffer.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// Time of a byte on the link.
    pub byte_time: ByteTime,
    /// From a block's departure to the sender's use of its credit: the link's latency and the processing delay.
    pub credit_latency: Time,
    /// Number of the direction of the link that leads here, in the whole fabric.
    pub channel: u32,
    /// The sender's port, if it is in this partition.
    pub upstream: Option<u32>,
    /// Time at which a packet can next be read from the buffer.
    pub readable_at: Time,
    /// Times at which the read ports of the buffer are free again, if there are several; if there is none: no limit.
    pub reads: ReadPorts,
}

/// Number of packets that a buffer can send to outputs at once.
#[derive(Clone, Debug)]
pub enum ReadPorts {
    /// The number of outputs.
    Unlimited,
    /// One.
    One,
    /// Several; when each read port is free again.
    Several(Box<[Time]>),
}

impl ReadPorts {
    /// `count` read ports; 0 for no limit.
    pub fn new(count: u16) -> Self {
        match count {
            0 => Self::Unlimited,
            1 => Self::One,
            n => Self::Several(vec![Time::ZERO; usize::from(n)].into_boxed_slice()),
        }
    }

    /// A packet is read until `end`; `readable_at` becomes the time from which another can be.
    #[inline]
    pub(crate) fn occupy(&mut self, readable_at: &mut Time, end: Time) {
        match self {
            Self::Unlimited => {}
            Self::One => *readable_at = end,
            Self::Several(free_at) => {
                if let Some(first_free) = free_at.iter_mut().min() {
                    *first_free = end;
                }
                *readable_at = free_at.iter().copied().min().unwrap_or_default();
            }
        }
    }
}

impl Receiver {
    /// A packet is read until `end`.
    #[inline]
    pub fn occupy(&mut self, end: Time) {
        self.reads.occupy(&mut self.readable_at, end);
    }
}

/// The ports of a partition.
#[derive(Clone, Debug)]
pub struct Ports {
    /// Sending sides, by port.
    pub senders: Table<Sender>,
    /// Receiving sides, by port.
    pub receivers: Table<Receiver>,
    /// Credits of sending port p for lane v at `p * lane_count + v`.
    pub lanes: Table<LaneCredits>,
    /// Credits of all lanes together of sending ports that lead to switches, by port, where the routing looks at them; else
    /// empty.
    pub whole: Table<LaneCredits>,
    /// Lanes of every link.
    pub lane_count: usize,
    /// Ramps of all lanes.
    pub ramps: RampPool,
    /// Limited sinks.
    pub sinks: Table<SinkState>,
    /// Errors of sending ports that have any.
    pub retries: Table<RetryState>,
    /// Choice among several allowed lanes.
    pub selection: Selection,
}

impl Ports {
    /// The lane among `allowed` on which `blocks` can be sent now, or the earliest known time at which
    /// they can. In the second case the lanes are marked, so that later credits wake the port.
    #[inline(always)]
    pub fn choose_lane(
        &mut self,
        port: u32,
        allowed: Lanes,
        blocks: u32,
        now: Time,
        flow: u32,
    ) -> Result<Vl, Time> {
        match self.lane_in_turn(port, allowed, blocks, now) {
            Some(lane) => Ok(lane),
            None => self.search_lane(port, allowed, blocks, now, flow),
        }
    }

    /// The lane that [`Ports::choose_lane`] chooses in the common case: there is just one lane, or they
    /// are taken in turn, and the first has space.
    #[inline(always)]
    pub(crate) fn lane_in_turn(&mut self, port: u32, allowed: Lanes, blocks: u32, now: Time) -> Option<Vl> {
        if allowed.count == 1 || self.selection == Selection::RoundRobin {
            let place = if allowed.count == 1 { 0 } else { self.after_last(port, allowed) };
            let lane = allowed.first.0 + place;
            let credits = &mut self.lanes[port as usize * self.lane_count + usize::from(lane)];
            if credits.free < blocks {
                self.ramps.collect(credits, now);
            }
            if credits.free >= blocks {
                return Some(Vl(lane));
            }
        }
        None
    }

    /// As [`Ports::choose_lane`], after [`Ports::lane_in_turn`] has found none.
    #[inline(never)]
    pub(crate) fn search_lane(
        &mut self,
        port: u32,
        allowed: Lanes,
        blocks: u32,
        now: Time,
        flow: u32,
    ) -> Result<Vl, Time> {
        if allowed.count == 1 {
            return Err(self.await_credits(port, allowed, blocks));
        }
        let (first, start) = match self.selection {
            Selection::Lowest => (allowed, 0),
            Selection::RoundRobin => (allowed, self.after_last(port, allowed)),
            Selection::ByFlow => (self.selectable(allowed, flow), 0),
            Selection::MostCredits => return self.choose_freest(port, allowed, blocks, now),
        };
        match self.choose_first(port, first, start, blocks, now) {
            Some(lane) => Ok(lane),
            None => Err(self.await_credits(port, first, blocks)),
        }
    }

    /// The lane after the one last used by a port: its place among `allowed`.
    #[inline]
    fn after_last(&self, port: u32, allowed: Lanes) -> u8 {
        let place = self.senders[port as usize].last_lane.0.wrapping_sub(allowed.first.0).wrapping_add(1);
        if place < allowed.count { place } else { 0 }
    }

    /// The first lane with space from the `start`-th on, going round.
    #[inline]
    fn choose_first(&mut self, port: u32, allowed: Lanes, start: u8, blocks: u32, now: Time) -> Option<Vl> {
        let base = port as usize * self.lane_count + allowed.first.index();
        let mut place = start;
        loop {
            let lane = &mut self.lanes[base + usize::from(place)];
            if lane.free < blocks {
                self.ramps.collect(lane, now);
            }
            if lane.free >= blocks {
                return Some(Vl(allowed.first.0 + place));
            }
            place += 1;
            if place == allowed.count {
                place = 0;
            }
            if place == start {
                return None;
            }
        }
    }

    /// The lane with most space; ties in turn.
    fn choose_freest(&mut self, port: u32, allowed: Lanes, blocks: u32, now: Time) -> Result<Vl, Time> {
        let base = port as usize * self.lane_count;
        let start = self.after_last(port, allowed);
        let mut best: Option<(u32, u8)> = None;
        for i in 0..allowed.count {
            let number = allowed.first.0 + (start + i) % allowed.count;
            let lane = &mut self.lanes[base + usize::from(number)];
            self.ramps.collect(lane, now);
            if lane.free >= blocks && best.is_none_or(|(free, _)| lane.free > free) {
                best = Some((lane.free, number));
            }
        }
        best.map(|(_, lane)| Vl(lane)).ok_or_else(|| self.await_credits(port, allowed, blocks))
    }

    /// Marks that a packet waits for `blocks`. Returns the earliest known time at which a lane has them.
    #[cold]
    #[inline(never)]
    fn await_credits(&mut self, port: u32, allowed: Lanes, blocks: u32) -> Time {
        self.senders[port as usize].starving = true;
        let base = port as usize * self.lane_count;
        let mut earliest = Time::MAX;
        for lane in allowed.iter() {
            let lane = &mut self.lanes[base + lane.index()];
            lane.awaited = lane.awaited.min(blocks);
            earliest = earliest.min(self.ramps.earliest(lane, blocks));
        }
        earliest
    }

    /// True if there is space for `blocks` on a lane now.
    pub fn has_space(&mut self, port: u32, lane: Vl, blocks: u32, now: Time) -> bool {
        let lane = &mut self.lanes[port as usize * self.lane_count + lane.index()];
        if lane.free < blocks {
            self.ramps.collect(lane, now);
        }
        lane.free >= blocks
    }

    /// Blocks that are free on a lane at `now`. Changes nothing, so that a snapshot may look at times that the sender has
    /// not reached.
    pub fn free_at(&self, port: u32, lane: Vl, now: Time) -> u32 {
        self.ramps.free_at(&self.lanes[port as usize * self.lane_count + lane.index()], now)
    }

    /// The lanes among `allowed` that a packet of `flow` can be sent on, whichever has space.
    #[inline]
    pub fn selectable(&self, allowed: Lanes, flow: u32) -> Lanes {
        match self.selection {
            Selection::ByFlow => Lanes::new(allowed.first.0 + (flow % u32::from(allowed.count)) as u8, 1),
            _ => allowed,
        }
    }

    /// Clears the blocks that packets of a port wait for: the port is about to be checked.
    #[inline]
    pub fn forget_awaited(&mut self, port: u32) {
        let sender = &mut self.senders[port as usize];
        if sender.starving {
            sender.starving = false;
            let base = port as usize * self.lane_count;
            self.lanes.iter_mut().skip(base).take(self.lane_count).for_each(|lane| lane.awaited = u32::MAX);
        }
    }

    /// Adds credits of a sending port. Returns the time at which the port should be checked, if it waits for them.
    #[inline(always)]
    pub fn credit(&mut self, port: u32, lane: Vl, ramp: Ramp, now: Time) -> Option<Time> {
        if self.ramps.is_full() {
            self.ramps.tidy(self.lanes.iter_mut().chain(self.whole.iter_mut()), now);
        }
        let index = port as usize * self.lane_count + lane.index();
        if let Some(whole) = self.whole.get_mut(port as usize) {
            self.ramps.give_back(whole, ramp);
        }
        let lane = &mut self.lanes[index];
        self.ramps.give_back(lane, ramp);
        if lane.awaited == u32::MAX { None } else { self.enough_at(index, now) }
    }

    /// Counts the credits of all lanes together as well, before anything is sent.
    pub fn count_whole(&mut self) {
        let lanes = self.lanes.chunks(self.lane_count);
        let capacity =
            lanes.map(|lanes| lanes.iter().fold(0_u32, |sum, lane| sum.saturating_add(lane.capacity)));
        self.whole = Table::new(capacity.map(LaneCredits::new).collect());
    }

    /// Blocks in use, as known at `now`, of the buffers of all lanes behind a sending port that leads to a switch; `None` if
    /// they are not counted together ([`Ports::count_whole`]).
    #[inline]
    pub fn in_use_of_whole(&mut self, port: usize, now: Time) -> Option<u32> {
        let whole = self.whole.get_mut(port)?;
        self.ramps.collect(whole, now);
        Some(whole.capacity - whole.free)
    }

    /// Blocks in use, as known at `now`, of the buffers of `lanes` behind a sending port that leads to a switch.
    #[inline(never)]
    pub fn in_use_of_lanes(&mut self, port: usize, lanes: &Range<usize>, now: Time) -> u32 {
        let first = port * self.lane_count;
        let used = (first + lanes.start..first + lanes.end).map(|lane| {
            let lane = &mut self.lanes[lane];
            self.ramps.collect(lane, now);
            lane.capacity - lane.free
        });
        used.sum()
    }

    /// A packet is sent to a switch, or to a host with admission control: it also uses credits of all lanes together.
    #[inline]
    pub(crate) fn use_whole(&mut self, port: u32, blocks: u32, now: Time) {
        if let Some(whole) = self.whole.get_mut(port as usize) {
            if whole.free < blocks {
                self.ramps.collect(whole, now);
            }
            self.ramps.take(whole, blocks);
        }
    }

    /// Returns the time at which the requested number of blocks of a lane is free, if it is known and was not announced
    /// before.
    #[cold]
    #[inline(never)]
    fn enough_at(&mut self, index: usize, now: Time) -> Option<Time> {
        let lane = &mut self.lanes[index];
        self.ramps.collect_ended(lane, now);
        // Blocks free by now were announced before, and the sender is checked in this same time step.
        if lane.free >= lane.awaited {
            return None;
        }
        let at = self.ramps.earliest(lane, lane.awaited);
        (at > now && at < Time::MAX).then_some(at)
    }

    /// Free and announced blocks of a lane, with its capacity.
    pub fn accounted(&self, port: u32, lane: usize) -> (u32, u32) {
        let lane = &self.lanes[port as usize * self.lane_count + lane];
        (lane.free + self.ramps.outstanding(lane), lane.capacity)
    }

    /// Schedules a wake-up of a sending port at `at`, unless an earlier one is scheduled.
    #[inline]
    pub fn ensure_wake<O: Outbox>(&mut self, port: u32, at: Time, out: &mut O) {
        self.senders[port as usize].wake(port, at, out);
    }
}

impl Sender {
    /// The port sends again: reports to the observer how long it was stalled.
    #[cold]
    pub(crate) fn end_stall<B: Observer>(&mut self, now: Time, observer: &mut B) {
        if self.stalled_since < now {
            observer.stalled(self.channel, self.stalled_lane, self.stalled_since, now);
        }
        self.stalled_since = Time::MAX;
    }

    /// The port is idle because it has no credits for `lane`, unless it was already.
    #[inline]
    pub fn stall(&mut self, now: Time, lane: Vl) {
        if self.stalled_since == Time::MAX {
            self.stalled_since = now;
            self.stalled_lane = lane;
        }
    }

    /// Schedules a wake-up at `at`, unless an earlier one is scheduled; `port` is the sender's number.
    #[inline]
    pub fn wake<O: Outbox>(&mut self, port: u32, at: Time, out: &mut O) {
        if at < self.wake_at {
            self.wake_at = at;
            out.wake(at, port);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NONE;
    use proptest::prelude::*;

    const LANES: usize = 4;

    /// Used space counts the requested lanes of that port; all lanes if they are counted together.
    #[test]
    fn space_in_use_is_of_the_lanes_that_are_asked_for() {
        let mut ports =
            ports(&[[10, 10, 10, 10], [9, 8, 6, 10], [0, 0, 0, 0]], &[0; 3], Selection::RoundRobin);
        let now = Time::ZERO;
        for (lanes, used) in [(0..1, 1), (1..2, 2), (2..3, 4), (1..3, 6), (0..4, 7), (3..4, 0)] {
            assert_eq!(ports.in_use_of_lanes(1, &lanes, now), used, "{lanes:?}");
        }
        assert_eq!(ports.in_use_of_whole(1, now), None);
        ports.count_whole();
        ports.use_whole(1, 5, now);
        assert_eq!(ports.in_use_of_whole(1, now), Some(5));
    }

    fn sender(last_lane: u8) -> Sender {
        let byte_time = ByteTime::default();
        Sender {
            busy_until: Time::ZERO,
            carried_until: Time::ZERO,
            wake_at: Time::MAX,
            byte_time,
            latency: Time::ZERO,
            far_end_delay: Time::ZERO,
            sink_credit_delay: Time::ZERO,
            sink: NONE,
            retry: NONE,
            channel: 0,
            overhead: 0,
            link_byte_time: byte_time,
            far_end: FarEnd::Remote,
            stalled_since: Time::MAX,
            stalled_lane: Vl(0),
            last_lane: Vl(last_lane),
            starving: false,
        }
    }

    /// Ports with `free` blocks by port and lane, whose last used lanes are `last`.
    fn ports(free: &[[u32; LANES]], last: &[u8], selection: Selection) -> Ports {
        let lane = |&free: &u32| {
            let mut lane = LaneCredits::new(10);
            lane.free = free;
            lane
        };
        Ports {
            senders: Table::new(last.iter().map(|&last| sender(last)).collect()),
            receivers: Table::new(Vec::new()),
            lanes: Table::new(free.iter().flatten().map(lane).collect()),
            whole: Table::new(Vec::new()),
            lane_count: LANES,
            ramps: RampPool::new(64),
            sinks: Table::new(Vec::new()),
            retries: Table::new(Vec::new()),
            selection,
        }
    }

    proptest! {
        /// Each lane selection policy, at each port, against its definition.
        #[test]
        fn lanes_are_chosen_by_their_own_credits(
            free in prop::collection::vec(prop::array::uniform4(0_u32..6), 3..6),
            last in prop::collection::vec(0_u8..LANES as u8, 6),
            port in 0_usize..3, (first, count) in (0_u8..3).prop_flat_map(|first| (Just(first), 1..=LANES as u8 - first)),
            blocks in 1_u32..5, flow in 0_u32..20,
        ) {
            let allowed = Lanes::new(first, count);
            let has = |lane: &u8| free[port][usize::from(*lane)] >= blocks;
            let after = match last[port].checked_sub(first) {
                Some(place) if place + 1 < count => place + 1,
                _ => 0,
            };
            let in_turn = || (0..count).map(|place| first + (after + place) % count);
            let most = in_turn().filter(has).map(|lane| free[port][usize::from(lane)]).max();
            for (selection, expected) in [
                (Selection::Lowest, (first..first + count).find(has)),
                (Selection::RoundRobin, in_turn().find(has)),
                (Selection::ByFlow, Some(first + (flow % u32::from(count)) as u8).filter(has)),
                (Selection::MostCredits, in_turn().find(|&lane| Some(free[port][usize::from(lane)]) == most)),
            ] {
                let mut ports = ports(&free, &last[..free.len()], selection);
                let chosen = ports.choose_lane(port as u32, allowed, blocks, Time::ZERO, flow);
                prop_assert_eq!(chosen.ok(), expected.map(Vl), "{:?}", selection);
            }
        }
    }
}
