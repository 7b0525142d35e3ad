use std::collections::{BTreeSet, VecDeque};

use fabricsim_units::{ByteTime, Time, Vl};
use proptest::prelude::*;

use super::*;
use crate::Ramp;

/// The tutorial's steps of a packet from A to B, with a buffer of 40 blocks.
#[test]
fn a_packet_and_its_credits_follow_the_tutorials_steps() {
    let (mut a, mut b) = (LaneCounters::new(40), LaneCounters::new(40));
    assert!(!a.may_send(1) && a.credits() == 0, "nothing before the first flow-control packet");
    a.hear(b.announce());
    assert_eq!(a.credits(), 40);
    // 2048 bytes with headers are 33 blocks.
    assert!(a.may_send(33) && !a.may_send(41));
    a.send(33);
    assert!(b.receive(33) && b.free_blocks() == 7);
    assert!(a.may_send(7) && !a.may_send(8));
    b.hear(a.announce());
    assert_eq!(b.announce(), Credits { total_blocks_sent: 0, credit_limit: 40 });
    b.release(33);
    assert_eq!(b.announce().credit_limit, 73);
    a.hear(b.announce());
    assert_eq!(a.credits(), 40);
}

/// The credits of a lost packet come back with the next flow-control packet each way.
#[test]
fn the_credits_of_a_lost_packet_come_back() {
    let (mut a, mut b) = (LaneCounters::new(40), LaneCounters::new(40));
    a.hear(b.announce());
    a.send(33);
    a.hear(b.announce());
    assert_eq!(a.credits(), 7, "B does not know that there was a packet");
    b.hear(a.announce());
    a.hear(b.announce());
    assert_eq!(a.credits(), 40);
}

/// With the printed rule, ABR plus the maximum of FB and 2048, a sender overruns a buffer of less than 2048 blocks.
#[test]
fn the_printed_rule_promises_space_that_is_not_there() {
    let printed = |of: &LaneCounters| Credits {
        credit_limit: sum(of.adjusted_blocks_received, of.free_blocks.max(WINDOW.into()) as u16),
        ..of.announce()
    };
    for (rule, is_printed) in
        [(LaneCounters::announce as fn(&LaneCounters) -> Credits, false), (printed, true)]
    {
        let (mut a, mut b) = (LaneCounters::new(40), LaneCounters::new(40));
        a.hear(rule(&b));
        let mut overrun = false;
        while a.may_send(10) {
            a.send(10);
            overrun |= !b.receive(10);
        }
        assert_eq!(overrun, is_printed);
    }
}

/// No more than 2048 blocks are promised, whatever the buffer; counters wrap around without loss.
#[test]
fn windows_end_at_half_of_the_modulus() {
    let (mut a, mut b) = (LaneCounters::new(10_000), LaneCounters::new(10_000));
    let mut sent = 0;
    for _ in 0..50 {
        a.hear(b.announce());
        assert_eq!(a.credits(), WINDOW.min(b.free_blocks() as u16));
        for _ in 0..4 {
            assert!(a.may_send(500));
            a.send(500);
            assert!(b.receive(500));
            sent += 500;
        }
        assert!(!a.may_send(49) && a.may_send(48));
        b.release(2000);
    }
    assert!(sent > 20 * u32::from(MODULUS));
}

/// What crosses a link in one direction, in order.
#[derive(Clone, Copy, Debug)]
enum Carried {
    Data(u16),
    Control(Credits),
}

/// A step of an end of a link.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Sends a packet of as many blocks, if it may; it is lost or not.
    Data(u16, bool),
    /// Sends a flow-control packet; it is lost or not.
    Control(bool),
    /// Receives what is next, if there is anything.
    Arrive,
    /// Releases up to as many blocks.
    Release(u16),
}

fn step() -> impl Strategy<Value = (bool, Step)> {
    let kind = prop_oneof![
        4 => (1..66_u16, prop::bool::weighted(0.2)).prop_map(|(blocks, lost)| Step::Data(blocks, lost)),
        3 => prop::bool::weighted(0.4).prop_map(Step::Control),
        6 => Just(Step::Arrive),
        3 => (1..200_u16).prop_map(Step::Release),
    ];
    (any::<bool>(), kind)
}

/// Two ends, and what is on the way to each of them. None: lost.
struct Pair {
    ends: [LaneCounters; 2],
    towards: [VecDeque<Option<Carried>>; 2],
    held: [u32; 2],
    capacity: [u32; 2],
    /// Blocks that have left the buffer of an end, and those of which it has heard that they were lost.
    released: [u32; 2],
}

impl Pair {
    fn new(capacity: [u32; 2]) -> Self {
        let ends = capacity.map(LaneCounters::new);
        Self { ends, towards: [VecDeque::new(), VecDeque::new()], held: [0; 2], capacity, released: [0; 2] }
    }

    fn take(&mut self, end: usize, step: Step) {
        let other = 1 - end;
        match step {
            Step::Data(blocks, lost) if self.ends[end].may_send(blocks) => {
                self.ends[end].send(blocks);
                self.towards[other].push_back((!lost).then_some(Carried::Data(blocks)));
            }
            Step::Data(..) => {}
            Step::Control(lost) => {
                let credits = self.ends[end].announce();
                if self.capacity[end] <= WINDOW.into() {
                    // What the engine counts.
                    let limit = (self.capacity[end] + self.released[end]) % u32::from(MODULUS);
                    assert_eq!(u32::from(credits.credit_limit), limit);
                }
                self.towards[other].push_back((!lost).then_some(Carried::Control(credits)));
            }
            Step::Arrive => match self.towards[end].pop_front().flatten() {
                Some(Carried::Data(blocks)) => {
                    assert!(self.ends[end].receive(blocks), "an overrun: {:?}", self.ends);
                    self.held[end] += u32::from(blocks);
                }
                Some(Carried::Control(credits)) => {
                    let known = self.ends[end].adjusted_blocks_received;
                    self.released[end] += u32::from(difference(credits.total_blocks_sent, known));
                    self.ends[end].hear(credits);
                }
                None => {}
            },
            Step::Release(blocks) => {
                let blocks = u32::from(blocks).min(self.held[end]);
                self.held[end] -= blocks;
                self.released[end] += blocks;
                self.ends[end].release(blocks);
            }
        }
        assert_eq!(self.ends[end].free_blocks() + self.held[end], self.capacity[end]);
    }

    /// Delivers everything, then a flow-control packet each way, twice.
    fn settle(&mut self) {
        for _ in 0..2 {
            for end in [0, 1] {
                self.take(end, Step::Control(false));
            }
            for end in [0, 1] {
                while !self.towards[end].is_empty() {
                    self.take(end, Step::Arrive);
                }
            }
        }
    }
}

proptest! {
    /// Whatever is lost, data or flow-control packets, in any order: no buffer is overrun, and no credit is lost for good. Buffers beyond the
    /// window as well.
    #[test]
    fn no_loss_overruns_a_buffer_or_takes_credits_for_good(
        large in prop_oneof![66..300_u32, 1900..5000_u32],
        small in 66..300_u32,
        steps in prop::collection::vec(step(), 1..600),
    ) {
        let mut pair = Pair::new([large, small]);
        for (end, step) in steps {
            pair.take(usize::from(end), step);
        }
        pair.settle();
        for end in [0, 1] {
            let free = pair.ends[1 - end].free_blocks().min(WINDOW.into());
            prop_assert_eq!(u32::from(pair.ends[end].credits()), free);
        }
    }
}

const SYMBOL: Time = Time::ns(4);

#[test]
fn times_are_those_of_the_specification() {
    let times = FlowTimes::new(SYMBOL, Time::us(1)).unwrap();
    assert_eq!((times.refresh, times.watchdog), (Time::ns(262_144), Time::us(1600)));
    assert!(FlowTimes::new(SYMBOL, Time::ns(262_145)).is_none());
    for (symbols, allowed) in [(195_999, false), (196_000, true), (412_000, true), (412_001, false)] {
        assert_eq!(times.with_watchdog(SYMBOL, symbols).is_some(), allowed, "{symbols}");
    }
}

/// One for each lane at the start; then one where something has changed, not before the period is over; else one at each refresh.
#[test]
fn flow_control_packets_are_sent_when_they_are_due() {
    let times = FlowTimes::new(SYMBOL, Time::us(1)).unwrap();
    let mut end = LinkEnd::new(times, [40, 80], Time::ZERO);
    let sent: Vec<_> = std::iter::from_fn(|| end.send(Time::ZERO))
        .map(|(lane, credits)| (lane, credits.credit_limit))
        .collect();
    assert_eq!(sent, [(1, 80), (0, 40)]);
    assert_eq!((end.next_due(), end.send(Time::us(200))), (times.refresh, None));
    assert!(end.lane_mut(1).receive(10));
    end.lane_mut(1).release(10);
    assert_eq!(end.next_due(), Time::us(1));
    assert_eq!(end.send(Time::us(200)).map(|(lane, credits)| (lane, credits.credit_limit)), Some((1, 90)));
    // What is received and not released leaves the limit where it is: nothing new.
    assert!(end.lane_mut(1).receive(10));
    assert_eq!((end.send(Time::us(201)), end.next_due()), (None, times.refresh));
    assert_eq!(end.send(times.refresh).map(|(lane, _)| lane), Some(0));
    assert_eq!(end.next_due(), Time::us(200) + times.refresh);
}

/// A link is trained anew when no flow-control packet has come for a lane; then the counters begin at zero, and what is in the buffers stays.
#[test]
fn a_link_that_hears_nothing_is_trained_anew() {
    let times = FlowTimes::new(SYMBOL, Time::us(1)).unwrap();
    let mut ends = [0, 1].map(|_| LinkEnd::new(times, [40, 40], Time::ZERO));
    let [a, b] = &mut ends;
    for now in [0, 262_144, 524_288].map(Time::ns) {
        while let Some((lane, credits)) = b.send(now) {
            // The packets for lane 1 are lost.
            if lane == 0 {
                a.hear(lane, credits, now);
            }
        }
    }
    assert_eq!((a.expires(), b.expires()), (times.watchdog, times.watchdog));
    assert!(a.lane(0).may_send(12) && !a.lane(1).may_send(1));
    a.lane_mut(0).send(12);
    assert!(b.lane_mut(0).receive(12));
    a.lane_mut(0).send(12);
    let now = a.expires();
    a.retrain(now);
    b.retrain(now);
    assert_eq!((a.expires(), a.lane(0).credits()), (now + times.watchdog, 0));
    while let Some((lane, credits)) = b.send(now) {
        a.hear(lane, credits, now);
    }
    // 12 blocks are in the buffer; the 12 that were on the link are lost and take no space.
    assert_eq!([a.lane(0).credits(), a.lane(1).credits()], [28, 40]);
}

/// Two ports of two lanes: a flow-control packet at most every 10 ns, at least every 1 us while there is something to repeat.
fn two_ports() -> FlowControl {
    FlowControl::new(Time::ns(10), 2, 64, [(Time::us(1), 40); 2].into_iter())
}

/// Two blocks that leave at once.
fn two_blocks(base: Time) -> Ramp {
    Ramp { base, byte_time: ByteTime::default(), bytes: 128, blocks: 2 }
}

#[test]
fn only_lanes_with_news_are_announced() {
    let mut flow = two_ports();
    let (never, late) = (Time::ns(20), Time::us(5));
    assert_eq!(flow.release(1, Vl(1), two_blocks(never), Time::ZERO), Some(never));
    for lane in [Vl(0), Vl(1)] {
        assert_eq!(flow.announce(0, lane, late), None);
    }
    assert_eq!(flow.announce(1, Vl(0), late), None, "nothing to repeat, however long ago the last one was");
    let found = flow.announce(1, Vl(1), late).map(|found| (found.released, found.lost));
    assert_eq!(found, Some((2, 0)));
}

/// An announcement that is lost is repeated after the longest time between two, and no earlier.
#[test]
fn what_was_lost_is_announced_again() {
    let mut flow = two_ports();
    let at = Time::ns(20);
    assert_eq!(flow.release(1, Vl(0), two_blocks(at), Time::ZERO), Some(at));
    let first = flow.announce(1, Vl(0), at).expect("two blocks have left");
    flow.settle(1, Vl(0), &first, false);
    let again = at + Time::us(1);
    assert!(flow.is_due(1, at));
    assert_eq!(flow.finish(1, true, at), Some(again));
    assert_eq!(flow.announce(1, Vl(0), again - Time::ps(1)), None);
    let second = flow.announce(1, Vl(0), again).expect("it is repeated");
    assert_eq!(second.released, 2);
    flow.settle(1, Vl(0), &second, true);
    assert_eq!(flow.announce(1, Vl(0), again + Time::us(2)), None);
}

proptest! {
    /// Blocks that leave, and data packets that are lost, are announced in the longest time between two flow-control packets at the latest, from the moment
    /// on at which these are not lost any more, whatever the other lane has to announce.
    #[test]
    fn what_was_lost_is_announced_again_in_time(
        steps in prop::collection::vec((0..2_u8, 1..400_u64, prop::bool::weighted(0.2)), 1..60),
        lost_for in 0..2_000_u64,
    ) {
        let (mut flow, lost_until) = (two_ports(), Time::ns(lost_for));
        let (mut due, mut since) = (BTreeSet::new(), [Time::MAX; 2]);
        let mut time = Time::ZERO;
        let mut steps: VecDeque<_> = steps.into_iter().map(|(lane, gap, is_loss)| {
            time += Time::ns(gap);
            (time, lane, is_loss)
        }).collect();
        let owes = |flow: &FlowControl, lane| flow.unannounced(1, lane) + flow.lost(1, lane) > 0;
        let end = time.max(lost_until) + Time::us(2);
        loop {
            let next = steps.front().map_or(end, |&(at, ..)| at);
            let now = due.first().map_or(next, |&at| next.min(at));
            for (lane, since) in since.iter().enumerate() {
                let late = since.max(&lost_until).saturating_add(Time::us(1) + Time::ns(10));
                prop_assert!(!owes(&flow, lane) || now <= late, "lane {lane} at {now}");
            }
            if now >= end {
                break;
            }
            if due.remove(&now) {
                if !flow.is_due(1, now) {
                    continue;
                }
                let mut has_sent = false;
                for lane in [Vl(0), Vl(1)] {
                    let Some(found) = flow.announce(1, lane, now) else { continue };
                    has_sent = true;
                    flow.settle(1, lane, &found, now >= lost_until);
                }
                due.extend(flow.finish(1, has_sent, now));
            } else if let Some((at, lane, is_loss)) = steps.pop_front() {
                if !owes(&flow, lane.into()) {
                    since[usize::from(lane)] = at;
                }
                due.extend(if is_loss {
                    flow.lose(1, Vl(lane), 2, now)
                } else {
                    flow.release(1, Vl(lane), two_blocks(at), now)
                });
            }
        }
        prop_assert_eq!([0, 1].map(|lane| owes(&flow, lane)), [false; 2]);
    }
}

#[test]
fn a_link_that_works_again_restarts_the_lanes_of_its_port() {
    let mut flow = two_ports();
    assert_eq!(flow.restore(1, Time::us(3)), None);
    assert_eq!([0, 1].map(|port| flow.last_sent(port)), [Time::ZERO, Time::us(3)]);
    assert_eq!(flow.restore(0, Time::us(2)), None);
    assert_eq!([0, 1].map(|port| flow.last_sent(port)), [Time::us(2), Time::us(3)]);
    // What a failed link had to send is sent when it is restored.
    flow.wait(0, Time::MAX);
    assert_eq!(flow.restore(0, Time::us(4)), Some(Time::us(4)));
}

/// The other end learns of lost data packets by a flow-control packet, which is repeated until one arrives.
#[test]
fn data_packets_that_were_lost_are_announced_until_it_is_known() {
    let mut flow = two_ports();
    let mut due = Time::us(1);
    assert_eq!(flow.lose(1, Vl(1), 3, Time::ZERO), Some(due));
    assert_eq!((flow.lost(1, 1), flow.lost(1, 0), flow.lost(0, 1)), (3, 0, 0));
    for arrives in [false, false, true] {
        assert!(flow.is_due(1, due));
        let found = flow.announce(1, Vl(1), due).expect("the other end does not know of them");
        assert_eq!((found.released, found.lost), (0, 3));
        flow.settle(1, Vl(1), &found, arrives);
        let next = flow.finish(1, true, due);
        assert_eq!(next, (!arrives).then_some(due + Time::us(1)));
        due += Time::us(1);
    }
    assert_eq!(flow.lost(1, 1), 0);
}
