//! Choice among the lanes that a packet may take, by credits.

use fabricsim_model::Lanes;
use fabricsim_spec::Selection;
use fabricsim_units::{Time, Vl};

use super::Ports;
use crate::{CommonFeatures, Features};

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
        match self.first_lane::<CommonFeatures>(port, allowed, blocks, now, || flow) {
            Some(lane) => Ok(lane),
            None => self.search_lane(port, allowed, blocks, now, flow),
        }
    }

    /// The lane that [`Ports::choose_lane`] chooses in the common case: there is just one lane, or they are taken in turn or by `flow`,
    /// and the first has space.
    #[inline(always)]
    pub fn first_lane<F: Features>(
        &mut self,
        port: u32,
        allowed: Lanes,
        blocks: u32,
        now: Time,
        flow: impl FnOnce() -> u32,
    ) -> Option<Vl> {
        let place = if allowed.count == 1 {
            0
        } else if F::PLAIN || self.selection == Selection::RoundRobin {
            self.after_last(port, allowed)
        } else if self.selection == Selection::ByFlow {
            place_of_flow(allowed, flow())
        } else {
            return None;
        };
        let lane = allowed.first.0 + place;
        let credits = &mut self.lanes[port as usize * self.lane_count + usize::from(lane)];
        if credits.free < blocks {
            self.ramps.collect(credits, now);
        }
        (credits.free >= blocks).then_some(Vl(lane))
    }

    /// As [`Ports::choose_lane`], after [`Ports::first_lane`] has found none.
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
            return Err(self.await_lane(port, allowed.first, blocks));
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

    /// [`Ports::await_credits`] of one lane.
    #[inline]
    fn await_lane(&mut self, port: u32, lane: Vl, blocks: u32) -> Time {
        self.senders[port as usize].starving = true;
        let lane = &mut self.lanes[port as usize * self.lane_count + lane.index()];
        lane.awaited = lane.awaited.min(blocks);
        self.ramps.earliest(lane, blocks)
    }

    /// A packet of `blocks` waits for a port that sends: if the lane has no space for it by the time the link is free, as far as is known, marks
    /// that the port stalls from then on and that the packet waits for credits. Returns the time at which there is space.
    pub fn stall_ahead(&mut self, port: u32, lane: Vl, blocks: u32) -> Option<Time> {
        let credits = &mut self.lanes[port as usize * self.lane_count + lane.index()];
        if credits.free >= blocks {
            return None;
        }
        let at = self.ramps.earliest(credits, blocks);
        let sender = &mut self.senders[port as usize];
        if at <= sender.busy_until {
            return None;
        }
        credits.awaited = credits.awaited.min(blocks);
        sender.starving = true;
        sender.stall(sender.busy_until, lane);
        Some(at)
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

    /// The lanes among `allowed` that a packet of `flow` can be sent on, whichever has space.
    #[inline]
    pub fn selectable(&self, allowed: Lanes, flow: u32) -> Lanes {
        match self.selection {
            Selection::ByFlow => Lanes::new(allowed.first.0 + place_of_flow(allowed, flow), 1),
            _ => allowed,
        }
    }
}

/// The place of the lane of a flow among those that it may take.
#[inline(always)]
fn place_of_flow(allowed: Lanes, flow: u32) -> u8 {
    (flow % u32::from(allowed.count)) as u8
}
