//! Waiting time at a switch output with six inputs of which all but one always have old packets.
//!
//! A packet that waits is not younger than it should be as long as the timestamp rolls over at most once while it is
//! there: its age reaches 255, ties with whatever others bring, and ties go in turn. Inhibition is what keeps the
//! timestamp from rolling over twice. Without it the age of a waiting packet begins again at every other roll-over;
//! an output that gets to send whenever that age is low never sends the packet.

use std::collections::VecDeque;

use fabricsim_model::Random;
use fabricsim_units::Time;

use super::super::{AgeHeader, Ager};
use super::literal::Procedure3;

const INPUTS: usize = 6;
const CYCLE: u64 = 2000;

/// The clock of the router.
enum Aging {
    /// As it is.
    Inhibiting(Ager),
    /// As it would be if the epoch changed at every roll-over, whatever it holds.
    FreeRunning(Procedure3, u64),
}

impl Aging {
    fn advance(&mut self, cycles: u64) {
        match self {
            Self::Inhibiting(ager) => ager.advance(Time(cycles * CYCLE)),
            Self::FreeRunning(clock, done) => {
                (*done..cycles).for_each(|_| clock.tick());
                *done = cycles;
            }
        }
    }

    fn receive(&mut self, age: u8) -> AgeHeader {
        match self {
            Self::Inhibiting(ager) => ager.receive(age, 1),
            Self::FreeRunning(clock, _) => AgeHeader::arriving(age, clock.epoch == 1, clock.timestamp as u8),
        }
    }

    fn age(&self, header: AgeHeader) -> u8 {
        match self {
            Self::Inhibiting(ager) => ager.age(header),
            Self::FreeRunning(clock, _) => header.age_at(clock.epoch == 1, clock.timestamp as u8),
        }
    }

    fn send(&mut self, header: AgeHeader) {
        if let Self::Inhibiting(ager) = self {
            ager.send(header);
        }
    }

    fn inhibited(&self) -> bool {
        matches!(self, Self::Inhibiting(ager) if ager.inhibited())
    }

    fn epoch(&self) -> bool {
        match self {
            Self::Inhibiting(ager) => ager.epoch(),
            Self::FreeRunning(clock, _) => clock.epoch == 1,
        }
    }
}

/// Queues of an output, and its two pointers: the input that is next in turn, for grants in turn and for ties of age.
struct Output {
    aging: Aging,
    queues: [VecDeque<AgeHeader>; INPUTS],
    round_robin: usize,
    age_based: usize,
}

impl Output {
    fn new(aging: Aging) -> Self {
        Self { aging, queues: Default::default(), round_robin: 0, age_based: 0 }
    }

    fn arrive(&mut self, input: usize, age: u8) {
        let header = self.aging.receive(age);
        self.queues[input].push_back(header);
    }

    /// Grants one packet; returns its input.
    fn grant(&mut self) -> Option<usize> {
        let in_turn = self.aging.inhibited();
        let first = if in_turn { self.round_robin } else { self.age_based };
        let turn = (0..INPUTS).map(|i| (first + i) % INPUTS);
        let mut heads = turn.filter_map(|i| self.queues[i].front().map(|&head| (i, self.aging.age(head))));
        let winner = if in_turn {
            heads.next()
        } else {
            heads.reduce(|best, head| if head.1 > best.1 { head } else { best })
        };
        let (input, _) = winner?;
        let pointer = if in_turn { &mut self.round_robin } else { &mut self.age_based };
        *pointer = (input + 1) % INPUTS;
        let head = self.queues[input].pop_front()?;
        self.aging.send(head);
        Some(input)
    }

    /// The largest number of packets of the previous epoch that wait behind each other.
    fn old_in_a_queue(&self) -> usize {
        let Aging::Inhibiting(ager) = &self.aging else { return 0 };
        let old = |queue: &VecDeque<AgeHeader>| queue.iter().filter(|h| h.in_epoch() != ager.epoch()).count();
        self.queues.iter().map(old).max().unwrap_or(0)
    }
}

/// One young packet at input 0; every other input always has packets of age 255. The output is granted once in 512
/// cycles and ages tick once a cycle. Returns how many grants it takes until the young packet is sent.
fn grants_until_the_young_packet_is_sent(aging: Aging, limit: usize) -> Option<usize> {
    let mut output = Output::new(aging);
    output.aging.advance(100);
    output.arrive(0, 0);
    (0..limit).find(|&n| {
        for input in 1..INPUTS {
            while output.queues[input].len() < 4 {
                output.arrive(input, 255);
            }
        }
        output.aging.advance(150 + 512 * n as u64);
        output.grant() == Some(0)
    })
}

#[test]
fn the_young_starve_without_inhibition_and_do_not_with_it() {
    let mut clock = Procedure3::new(1);
    clock.free_running = true;
    let free_running = Aging::FreeRunning(clock, 0);
    assert_eq!(grants_until_the_young_packet_is_sent(free_running, 20_000), None);
    let inhibiting = Aging::Inhibiting(Ager::new(1, Time(CYCLE)));
    let grants = grants_until_the_young_packet_is_sent(inhibiting, 20_000).expect("it is sent");
    // It reaches the others' age one grant before its turn.
    assert!(grants <= INPUTS, "{grants}");
}

/// While inhibited, every grant takes from the next queue in turn, and in a queue the old packets come first. So the
/// previous epoch is gone after as many rounds as there are old packets in one queue.
#[test]
fn the_previous_epoch_drains_in_bounded_time_whatever_arrives() {
    for (seed, period, service) in [(1, 1, 9), (2, 1, 70), (3, 2, 200), (4, 1, 600), (5, 3, 1000)] {
        let mut random = Random::new(seed, 2, 0);
        let mut output = Output::new(Aging::Inhibiting(Ager::new(period, Time(CYCLE))));
        // Grants since inhibition began, the most that there may be, and the epoch; the next inhibition, of another
        // epoch, may begin before the next grant.
        let mut inhibition: Option<(usize, usize, bool)> = None;
        let mut inhibitions = 0;
        for n in 0..60_000_u64 {
            output.aging.advance(service * n);
            // A few queues may run dry; most are kept full, input 0 with the young and the others with the old.
            for input in 0..INPUTS {
                while output.queues[input].len() < 10 && random.below(4) > 0 {
                    output.arrive(input, if input == 0 { 0 } else { 255 });
                }
            }
            let (inhibited, epoch) = (output.aging.inhibited(), output.aging.epoch());
            inhibition = match inhibition {
                Some((grants, most, began)) if began == epoch && output.old_in_a_queue() > 0 => {
                    assert!(inhibited && grants < most, "{grants} grants did not drain it");
                    Some((grants, most, began))
                }
                _ if inhibited => Some((0, INPUTS * output.old_in_a_queue(), epoch)),
                _ => None,
            };
            inhibitions += u64::from(matches!(inhibition, Some((0, ..))));
            assert!(oldest_are_saturated(&output), "an old packet looks young");
            output.grant();
            inhibition = inhibition.map(|(grants, most, epoch)| (grants + 1, most, epoch));
        }
        assert!(inhibitions > 10, "{service}: {inhibitions} inhibitions");
    }
}

/// True if all that belongs to the previous epoch while inhibited has waited for more than 255 ticks.
fn oldest_are_saturated(output: &Output) -> bool {
    let Aging::Inhibiting(ager) = &output.aging else { return true };
    let old = |header: &&AgeHeader| header.in_epoch() != ager.epoch();
    !ager.inhibited() || output.queues.iter().flatten().filter(old).all(|&header| ager.age(header) == 255)
}
