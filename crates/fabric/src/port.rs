//! The ports of a partition: the sending and receiving sides of links, and the credits of their lanes.

mod lane_choice;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub use receiver::{ReadPorts, Receiver};
pub use sender::{FarEnd, Sender};

use std::ops::Range;

use fabricsim_spec::Selection;
use fabricsim_units::{Time, Vl};

use crate::flow_control::FlowControl;
use crate::link_layer::RetryState;
use crate::pause::PauseControl;
use crate::{Features, LaneCredits, NONE, Outbox, Ramp, RampPool, SinkState, Table};

/// The ports of a partition.
#[derive(Clone, Debug, fabricsim_state::State)]
pub struct Ports {
    /// Sending sides, by port.
    pub senders: Table<Sender>,
    /// Receiving sides, by port.
    pub receivers: Table<Receiver>,
    /// Credits of sending port p for lane v at `p * lane_count + v`.
    pub lanes: Table<LaneCredits>,
    /// Blocks of the buffer behind each lane of a sending port, by port.
    #[state(fixed)]
    pub capacities: Table<u32>,
    /// Credits of all lanes together of sending ports that lead to switches, by port, where the routing looks at them; else
    /// empty.
    pub whole: Table<LaneCredits>,
    /// Lanes of every link.
    #[state(fixed)]
    pub lane_count: usize,
    /// Ramps of all lanes.
    pub ramps: RampPool,
    /// Limited sinks.
    pub sinks: Table<SinkState>,
    /// Errors of sending ports that have any.
    pub retries: Table<RetryState>,
    /// Choice among several allowed lanes.
    #[state(fixed)]
    pub selection: Selection,
    /// Flow-control packets, if they are simulated: then every sender has a [`Sender::retry`].
    #[state(each)]
    pub flow: Option<Box<FlowControl>>,
    /// Pause frames, if they take the place of credits: likewise.
    #[state(each)]
    pub pause: Option<Box<PauseControl>>,
}

impl Ports {
    /// True if lanes are chosen in turn, and links have no overhead, no errors, no control frames, and no host with admission control:
    /// see [`PlainFeatures`](crate::PlainFeatures).
    pub fn are_plain(&self) -> bool {
        let is_plain = |sender: &Sender| {
            let is_gated = matches!(sender.far_end, FarEnd::GatedHost(_));
            sender.overhead == 0 && !sender.is_paced() && sender.retry == NONE && !is_gated
        };
        self.selection == Selection::RoundRobin
            && !self.have_control_frames()
            && self.senders.iter().all(is_plain)
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

    /// The same, counted up to `enough`, which takes less time if those are there.
    pub fn free_up_to(&self, enough: u32, port: u32, lane: Vl, now: Time) -> u32 {
        let collected = self.lanes[port as usize * self.lane_count + lane.index()].free;
        let free = if collected >= enough { collected } else { self.free_at(port, lane, now) };
        free.min(enough)
    }

    /// Blocks of the buffers of all lanes behind a sending port.
    #[inline]
    fn capacity_of_whole(&self, port: usize) -> u32 {
        self.capacities[port].saturating_mul(self.lane_count as u32)
    }

    /// Clears the blocks that packets of a port wait for: the port is about to be checked.
    #[inline]
    pub fn forget_awaited(&mut self, port: u32) {
        let sender = &mut self.senders[port as usize];
        if sender.starving {
            sender.starving = false;
            let base = port as usize * self.lane_count;
            for lane in base..base + self.lane_count {
                self.lanes[lane].awaited = u32::MAX;
            }
        }
    }

    /// Adds credits of a sending port. Returns the time at which the port should be checked, if it waits for them.
    #[inline(always)]
    pub fn credit<F: Features>(&mut self, port: u32, lane: Vl, ramp: Ramp, now: Time) -> Option<Time> {
        if self.ramps.is_full() {
            self.ramps.tidy(self.lanes.iter_mut().chain(self.whole.iter_mut()), now);
        }
        let index = port as usize * self.lane_count + lane.index();
        if F::MAY_ADAPT
            && let Some(whole) = self.whole.get_mut(port as usize)
        {
            self.ramps.give_back(whole, ramp);
        }
        let lane = &mut self.lanes[index];
        self.ramps.give_back(lane, ramp);
        if lane.awaited == u32::MAX { None } else { self.enough_at(index, now) }
    }

    /// Counts the credits of all lanes together as well, before anything is sent.
    pub fn count_whole(&mut self) {
        let ports = 0..self.capacities.len();
        self.whole = Table::new(ports.map(|port| LaneCredits::new(self.capacity_of_whole(port))).collect());
    }

    /// Blocks in use, as known at `now`, of the buffers of all lanes behind a sending port that leads to a switch; `None` if
    /// they are not counted together ([`Ports::count_whole`]).
    #[inline]
    pub fn in_use_of_whole(&mut self, port: usize, now: Time) -> Option<u32> {
        let whole = self.whole.get_mut(port)?;
        self.ramps.collect(whole, now);
        let free = whole.free;
        Some(self.capacity_of_whole(port) - free)
    }

    /// Blocks in use, as known at `now`, of the buffers of `lanes` behind a sending port that leads to a switch.
    #[inline(never)]
    pub fn in_use_of_lanes(&mut self, port: usize, lanes: &Range<usize>, now: Time) -> u32 {
        let (first, capacity) = (port * self.lane_count, self.capacities[port]);
        let used = (first + lanes.start..first + lanes.end).map(|lane| {
            let lane = &mut self.lanes[lane];
            self.ramps.collect(lane, now);
            capacity - lane.free
        });
        used.sum()
    }

    /// Takes all free blocks of a lane of a sending port: the link is trained anew. Returns their number.
    #[cold]
    pub fn take_all(&mut self, port: u32, lane: usize, now: Time) -> u32 {
        let credits = &mut self.lanes[port as usize * self.lane_count + lane];
        self.ramps.collect(credits, now);
        let blocks = credits.free;
        self.ramps.take(credits, blocks);
        self.use_whole(port, blocks, now);
        blocks
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
        (lane.free + self.ramps.outstanding(lane), self.capacities[port as usize])
    }

    /// Schedules a wake-up of a sending port at `at`, unless an earlier one is scheduled.
    #[inline]
    pub fn ensure_wake<O: Outbox>(&mut self, port: u32, at: Time, out: &mut O) {
        self.senders[port as usize].wake(port, at, out);
    }
}
