//! Calls of a rank: their beginning, and their going on.

use fabricsim_units::Time;

use super::{Awaited, Environment, Op, Turn, World};
use crate::matching::Pattern;
use crate::request::{Arrival, Kind, Mode, ReceiveCall, Receiving, Request, SendCall, Sending};

/// Longest time of a poll that follows a vain one: 1 us.
const LONGEST_POLL: Time = Time::us(1);

/// A call in progress.
#[derive(Clone, Debug)]
pub(super) enum Call {
    /// It only takes time.
    Short,
    /// Until one of some requests is complete.
    Wait(Vec<u32>),
    /// One poll, unless one of some requests is complete. True: it has found nothing and waited for the time of a poll.
    Test(Vec<u32>, bool),
    /// Until a message matches, or one poll. The message is taken from matching.
    Probe { pattern: Pattern, take: bool, blocks: bool, has_polled: bool },
    /// Until nothing of the rank is in progress.
    Close,
}

impl World {
    /// Number for a request whose call follows, so that its buffer is known by then.
    pub fn reserve(&mut self, rank: usize) -> u32 {
        self.ranks[rank].requests.add(Request::new(Kind::Reserved))
    }

    /// Starts a send. The rank's call ends as [`World::advance`] says.
    pub fn send(
        &mut self,
        env: &mut dyn Environment,
        (rank, now): (usize, Time),
        request: u32,
        call: SendCall,
    ) {
        self.begin(rank, now, Call::Short);
        self.charge_call(rank, self.options.call);
        let mut sending = Sending::new(call);
        if call.mode == Mode::Buffered {
            let mut copy = vec![0; call.length as usize];
            env.read(rank, request, 0, &mut copy);
            sending.copy = Some(copy);
            self.charge_copy(rank, call.length);
        }
        if let Some(of) = self.ranks[rank].requests.get_mut(request) {
            of.kind = Kind::Send(sending);
        }
        self.start_send(env, rank, request, call);
        if call.mode == Mode::Buffered {
            self.complete(env, rank, request);
        }
    }

    /// Starts a receive.
    pub fn receive(
        &mut self,
        env: &mut dyn Environment,
        (rank, now): (usize, Time),
        request: u32,
        (pattern, call): (Pattern, ReceiveCall),
    ) {
        self.begin(rank, now, Call::Short);
        self.charge_call(rank, self.options.call);
        if let Some(of) = self.ranks[rank].requests.get_mut(request) {
            of.kind = Kind::Receive(Receiving::new(pattern, call));
        }
        if let Some(message) = self.ranks[rank].matching.post(request, pattern) {
            self.charge(rank, self.options.matching);
            self.begin_receive(env, rank, request, message);
        }
    }

    /// Starts the receive of a message that a probe took; false if there is none of this number.
    pub fn receive_taken(
        &mut self,
        env: &mut dyn Environment,
        (rank, now): (usize, Time),
        request: u32,
        (message, call): (u32, ReceiveCall),
    ) -> bool {
        let Some(message) = self.ranks[rank].taken.remove(message) else { return false };
        self.begin(rank, now, Call::Short);
        self.charge_call(rank, self.options.call);
        let pattern = Pattern { source: message.source as i32, tag: message.tag, context: message.context };
        if let Some(of) = self.ranks[rank].requests.get_mut(request) {
            of.kind = Kind::Receive(Receiving::new(pattern, call));
        }
        self.begin_receive(env, rank, request, message);
        true
    }

    /// Waits until one of some requests is complete. `foreign`: requests that another call of the program started.
    pub fn wait(&mut self, (rank, now): (usize, Time), requests: Vec<u32>, foreign: bool) {
        self.begin(rank, now, Call::Wait(requests));
        if foreign {
            self.charge_call(rank, self.options.wait);
        }
    }

    /// Makes progress once, unless one of some requests is complete.
    pub fn test(&mut self, (rank, now): (usize, Time), requests: Vec<u32>) {
        let vain = self.ranks[rank].polled_in_vain;
        self.begin(rank, now, Call::Test(requests, false));
        self.ranks[rank].polled_in_vain = vain;
    }

    /// Looks for a message: one poll, or until there is one. [`World::take_found`] has it.
    pub fn probe(&mut self, (rank, now): (usize, Time), pattern: Pattern, take: bool, blocks: bool) {
        let vain = self.ranks[rank].polled_in_vain;
        self.begin(rank, now, Call::Probe { pattern, take, blocks, has_polled: false });
        self.ranks[rank].polled_in_vain = vain;
        if blocks || !vain {
            self.charge_call(rank, self.options.call);
        }
    }

    /// Completes what is in progress.
    pub fn close(&mut self, (rank, now): (usize, Time)) {
        self.begin(rank, now, Call::Close);
        self.charge_call(rank, self.options.call);
    }

    fn begin(&mut self, rank: usize, now: Time, call: Call) {
        let of = &mut self.ranks[rank];
        of.clock = of.clock.max(now);
        of.call = Some(call);
        of.polled_in_vain = false;
        of.found = None;
    }

    /// The message that a probe found, and its number if it was taken.
    pub fn take_found(&mut self, rank: usize) -> Option<(Arrival, u32)> {
        self.ranks[rank].found.take()
    }

    /// Result of a request that is complete.
    pub fn arrival(&self, rank: usize, request: u32) -> Option<Arrival> {
        self.ranks[rank].requests.get(request)?.arrival
    }

    /// Forgets a request; it still completes.
    pub fn free(&mut self, rank: usize, request: u32) {
        let Some(of) = self.ranks[rank].requests.get_mut(request) else { return };
        of.is_freed = true;
        self.forget(rank, request);
    }

    /// Completes a receive that has not matched, as cancelled.
    pub fn cancel(&mut self, env: &mut dyn Environment, rank: usize, request: u32) {
        if !self.ranks[rank].matching.cancel(request) {
            return;
        }
        let Some(of) = self.ranks[rank].requests.get_mut(request) else { return };
        let Some(receive) = of.receive() else { return };
        let Pattern { source, tag, .. } = receive.pattern;
        let source = u32::try_from(source).unwrap_or_default();
        of.arrival = Some(Arrival { source, tag, length: 0, truncated: false, cancelled: true });
        of.is_active = false;
        env.release(rank, request);
        self.forget(rank, request);
    }

    /// The call of a rank goes on at `now`, which is not before the time that it has said.
    pub fn advance(&mut self, env: &mut dyn Environment, rank: usize, now: Time) -> Turn {
        let of = &mut self.ranks[rank];
        of.is_waiting = false;
        // It has waited until now.
        of.clock = of.clock.max(now);
        loop {
            if let Some(turn) = self.carry_out(env, rank, now) {
                return turn;
            }
            let Some(call) = self.ranks[rank].call.take() else { return Turn::Ended };
            let turn = self.step(env, rank, now, call);
            match turn {
                Some(Turn::Ended) if self.ranks[rank].clock <= now && self.ranks[rank].ops.is_empty() => {
                    return Turn::Ended;
                }
                // The processor is still busy with what the call found.
                Some(Turn::Ended) => self.ranks[rank].call = Some(Call::Short),
                Some(turn) => return turn,
                None => {}
            }
        }
    }

    /// Carries out what is due. Returns the next time at which something is.
    fn carry_out(&mut self, env: &mut dyn Environment, rank: usize, now: Time) -> Option<Turn> {
        let mut has_posted = false;
        while self.ranks[rank].ops.front().is_some_and(|(at, _)| *at <= now) {
            let Some((_, op)) = self.ranks[rank].ops.pop_front() else { break };
            has_posted |= matches!(op, Op::Send { .. });
            self.execute(env, rank, op, now);
        }
        if has_posted {
            env.posted(rank);
        }
        let of = &self.ranks[rank];
        let next = of.ops.front().map_or(of.clock, |(at, _)| *at);
        (next > now).then_some(Turn::Until(next))
    }

    /// One step of a call whose time has come: what follows, or `None` to look anew.
    fn step(&mut self, env: &mut dyn Environment, rank: usize, now: Time, call: Call) -> Option<Turn> {
        let is_satisfied = match &call {
            Call::Short => true,
            Call::Wait(requests) | Call::Test(requests, _) => self.has_complete(rank, requests),
            Call::Probe { pattern, take, .. } => self.find(rank, *pattern, *take),
            Call::Close => self.is_idle(rank),
        };
        if is_satisfied {
            return Some(Turn::Ended);
        }
        let has_progressed = self.progress(env, rank, now);
        match call {
            Call::Test(_, true) | Call::Probe { blocks: false, has_polled: true, .. } => {
                self.ranks[rank].polled_in_vain = !has_progressed;
                if let Call::Probe { pattern, take, .. } = call {
                    self.find(rank, pattern, take);
                }
                return Some(Turn::Ended);
            }
            _ if has_progressed => {
                self.ranks[rank].call = Some(match call {
                    // It has made progress once.
                    Call::Test(..) => Call::Short,
                    Call::Probe { pattern, take, blocks: false, .. } => {
                        self.find(rank, pattern, take);
                        Call::Short
                    }
                    call => call,
                });
                return None;
            }
            _ => {}
        }
        let of = &mut self.ranks[rank];
        let (call, limit) = match call {
            Call::Test(requests, _) => (Call::Test(requests, true), Some(of.polled_in_vain)),
            Call::Probe { pattern, take, blocks: false, .. } => {
                (Call::Probe { pattern, take, blocks: false, has_polled: true }, Some(of.polled_in_vain))
            }
            call => (call, None),
        };
        of.call = Some(call);
        let least = Time::ns(1);
        let limit =
            limit.map(|again| if again { LONGEST_POLL } else { env.device(rank).costs().poll.max(least) });
        Some(self.wait_for_arrivals(env, rank, limit.map_or(Time::MAX, |time| now + time)))
    }

    /// The wait for completions, WRITEs and messages through shared memory, until `limit`.
    fn wait_for_arrivals(&mut self, env: &mut dyn Environment, rank: usize, limit: Time) -> Turn {
        // A peer may connect meanwhile.
        self.adapter(env, rank);
        let of = &mut self.ranks[rank];
        of.is_waiting = true;
        let mut things = Vec::with_capacity(1 + of.rings.len());
        things.extend(of.adapter.as_ref().map(|adapter| Awaited::Completion(adapter.cq)));
        let rings = of.rings.iter().filter_map(|peer| of.peers.get(*peer)?.ring_in);
        things.extend(rings.map(|ring| Awaited::Write(ring.mr)));
        Turn::Any(things, limit.min(of.inbox.next().unwrap_or(Time::MAX)))
    }

    fn has_complete(&self, rank: usize, requests: &[u32]) -> bool {
        let of = &self.ranks[rank].requests;
        requests.iter().any(|&request| of.get(request).is_none_or(|request| request.arrival.is_some()))
    }

    fn find(&mut self, rank: usize, pattern: Pattern, take: bool) -> bool {
        let of = &mut self.ranks[rank];
        let Some(message) = of.matching.find(pattern) else { return false };
        let arrival = message.arrival();
        let taken = if take { of.matching.take(pattern) } else { None };
        let number = taken.map_or(0, |message| of.taken.add(message));
        of.found = Some((arrival, number));
        true
    }

    /// True if nothing of the rank is in progress. Receives that have not matched do not count.
    fn is_idle(&self, rank: usize) -> bool {
        let of = &self.ranks[rank];
        let is_pending =
            of.peers.iter().flat_map(|peer| peer.lanes.iter().flatten()).any(super::Lane::is_pending);
        let mut active = of.requests.iter().filter(|request| request.is_active);
        let mut unmatched = |request: &Request| match &request.kind {
            Kind::Receive(receive) => receive.matched.is_none(),
            Kind::Reserved => true,
            Kind::Send(_) => false,
        };
        !is_pending && of.in_flight.iter().next().is_none() && active.all(&mut unmatched)
    }

    /// The protocol has ended with a request.
    pub(super) fn complete(&mut self, env: &mut dyn Environment, rank: usize, request: u32) {
        let Some(of) = self.ranks[rank].requests.get_mut(request) else { return };
        if of.arrival.is_none() {
            of.arrival = Some(match &of.kind {
                Kind::Send(Sending { call, .. }) => Arrival {
                    source: rank as u32,
                    tag: call.tag,
                    length: call.length,
                    truncated: false,
                    cancelled: false,
                },
                Kind::Receive(receive) => {
                    let (source, tag, length) = receive.matched.unwrap_or_default();
                    let truncated = length > receive.call.length;
                    Arrival { source, tag, length, truncated, cancelled: false }
                }
                Kind::Reserved => return,
            });
            env.release(rank, request);
        }
    }

    /// The protocol does not use a request any more: it is complete.
    pub(super) fn end(&mut self, env: &mut dyn Environment, rank: usize, request: u32) {
        self.complete(env, rank, request);
        if let Some(of) = self.ranks[rank].requests.get_mut(request) {
            of.is_active = false;
            let region = of.send().and_then(|send| send.region.take());
            if let Some(region) = region {
                self.give_region(rank, region);
            }
        }
        self.forget(rank, request);
    }

    fn forget(&mut self, rank: usize, request: u32) {
        let of = &mut self.ranks[rank].requests;
        if of.get(request).is_some_and(|request| request.is_freed && !request.is_active) {
            of.remove(request);
        }
    }
}
