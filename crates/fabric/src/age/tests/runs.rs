//! Long random runs, event by event, beside the printed procedure and an unbounded counter.

use fabricsim_model::Random;
use fabricsim_units::Time;

use super::super::{AgeHeader, Ager};
use super::literal::Procedure3;

/// A packet in the router, and its age by an unbounded counter.
struct Resident {
    header: AgeHeader,
    age: u64,
    increments_at_arrival: u64,
    stuck_until: u64,
}

/// Kind of run.
#[derive(Clone, Copy, Debug)]
struct Load {
    period: u32,
    /// Router cycle in picoseconds; events fall on any picosecond.
    cycle: u64,
    /// Mean distance of events, in cycles.
    gap: u64,
    /// Number of packets of which one is stuck, and the most cycles for which it is.
    stuck: (u64, u64),
    /// Number of packets that the router may hold.
    room: usize,
    /// Router cycles for which it has run without packets at time 0.
    before: u64,
}

/// Events of a run, for tests to check that the run covered its kind.
#[derive(Debug, Default)]
struct Seen {
    ticks: u64,
    inhibited: u64,
    increments: u64,
    epochs: u64,
    saturated: u64,
}

fn run(seed: u64, load: Load, events: u64) -> Seen {
    let mut random = Random::new(seed, 1, 0);
    let mut ager = Ager::begun_before(load.period, Time(load.cycle), load.before);
    let mut literal = Procedure3::new(load.period);
    (0..load.before).for_each(|_| literal.tick());
    let (mut residents, mut seen): (Vec<Resident>, _) = (Vec::new(), Seen::default());
    let mut now = 0;
    for _ in 0..events {
        // Some events at the same time, most near, a few far.
        now += match random.below(16) {
            0 => 0,
            1 => random.below(40 * load.gap * load.cycle),
            _ => random.below(2 * load.gap * load.cycle),
        };
        while seen.ticks < now / load.cycle {
            let epoch = literal.epoch;
            literal.tick();
            seen.ticks += 1;
            seen.inhibited += u64::from(literal.inhibit);
            seen.epochs += u64::from(literal.epoch != epoch);
        }
        ager.advance(Time(now));
        check(&ager, &literal, &residents, &mut seen);
        let free: Vec<usize> = (0..residents.len()).filter(|&i| residents[i].stuck_until <= now).collect();
        if residents.len() < load.room && (free.is_empty() || random.below(2) == 0) {
            residents.push(arrival(&mut random, load, now, &mut ager, &mut literal));
        } else if !free.is_empty() {
            let resident = residents.swap_remove(free[random.below(free.len() as u64) as usize]);
            literal.packet_count[usize::from(resident.header.in_epoch())] -= 1;
            assert_eq!(u64::from(ager.send(resident.header)), unbounded(&resident, &literal));
        }
    }
    seen.increments = literal.increments;
    seen
}

fn arrival(random: &mut Random, load: Load, now: u64, ager: &mut Ager, literal: &mut Procedure3) -> Resident {
    let (age, bias) = (random.below(256) as u8, random.below(8) as u8);
    let header = ager.receive(age, bias);
    assert_eq!(u32::from(header.in_epoch()), literal.epoch);
    assert_eq!(
        u32::from(header.age()),
        (u32::from(age.saturating_add(bias)) + 256 - literal.timestamp) % 256
    );
    literal.packet_count[literal.epoch as usize] += 1;
    let stuck = random.below(load.stuck.0) == 0;
    let stuck_until = if stuck { now + load.cycle * random.below(load.stuck.1) } else { 0 };
    let age = u64::from(age) + u64::from(bias);
    Resident { header, age, increments_at_arrival: literal.increments, stuck_until }
}

fn unbounded(resident: &Resident, literal: &Procedure3) -> u64 {
    (resident.age.min(255) + literal.increments - resident.increments_at_arrival).min(255)
}

fn check(ager: &Ager, literal: &Procedure3, residents: &[Resident], seen: &mut Seen) {
    assert_eq!(u32::from(ager.timestamp()), literal.timestamp);
    assert_eq!(u32::from(ager.epoch()), literal.epoch);
    assert_eq!(ager.inhibited(), literal.inhibit);
    assert_eq!(ager.counts(), literal.packet_count);
    for resident in residents {
        let age = ager.age(resident.header);
        assert_eq!(u64::from(age), unbounded(resident, literal), "{resident:?}", resident = resident.header);
        seen.saturated += u64::from(age == 255);
    }
}

#[test]
fn equal_to_the_printed_procedure_and_to_an_unbounded_counter() {
    let load = Load { period: 3, cycle: 2000, gap: 5, stuck: (50, 4000), room: 40, before: 0 };
    for (seed, load) in [
        load,
        Load { period: 1, ..load },
        Load { period: 18, gap: 12, ..load },
        Load { period: 256, gap: 30, ..load },
        Load { cycle: 1, ..load },
        Load { cycle: 1873, period: 7, ..load },
        Load { period: 1, gap: 300, room: 5, ..load },
        Load { before: 1, ..load },
        Load { before: 3 * 255 + 2, ..load },
        Load { period: 18, gap: 12, before: 18 * 300 + 7, ..load },
    ]
    .into_iter()
    .enumerate()
    {
        let seen = run(seed as u64, load, 100_000);
        assert!(seen.epochs > 20 && seen.saturated > 1000, "{load:?} {seen:?}");
    }
}

#[test]
fn exact_when_nearly_always_inhibited() {
    let load = Load { period: 1, cycle: 2000, gap: 4, stuck: (20, 100_000), room: 60, before: 0 };
    let seen = run(11, load, 300_000);
    assert!(seen.inhibited * 100 > seen.ticks * 90, "{seen:?}");
    assert!(seen.epochs > 10, "{seen:?}");
}

#[test]
fn exact_when_the_router_is_often_empty_for_many_periods() {
    let load = Load { period: 2, cycle: 2000, gap: 400, stuck: (10, 3000), room: 1, before: 0 };
    let seen = run(12, load, 20_000);
    assert!(seen.epochs > 3000 && seen.inhibited > 0, "{seen:?}");
}

/// Clearing inhibit does not change the epoch: that takes another whole period, during which ages count again.
#[test]
fn after_inhibition_the_epoch_changes_a_whole_period_later() {
    let (period, cycle) = (10, 2);
    let at = |tick: u64| Time(tick * cycle);
    let mut ager = Ager::new(period, Time(cycle));
    let old = ager.receive(0, 0);
    // 256 expirations lead to epoch 1, 255 more to timestamp 255, one more would roll over.
    ager.advance(at(5119));
    assert_eq!((ager.timestamp(), ager.epoch(), ager.inhibited()), (255, true, false));
    ager.advance(at(5120));
    assert_eq!((ager.timestamp(), ager.epoch(), ager.inhibited()), (255, true, true));
    ager.advance(at(1_000_000));
    let new = ager.receive(7, 0);
    assert_eq!((ager.age(old), ager.age(new), ager.counts()), (255, 7, [1, 1]));
    ager.send(old);
    assert!(ager.inhibited(), "until the next tick");
    ager.advance(at(1_000_001));
    assert_eq!((ager.timestamp(), ager.epoch(), ager.inhibited()), (255, true, false));
    ager.advance(at(1_000_010));
    assert_eq!((ager.timestamp(), ager.epoch(), ager.age(new)), (255, true, 7));
    ager.advance(at(1_000_011));
    assert_eq!((ager.timestamp(), ager.epoch(), ager.age(new)), (0, false, 8));
}

/// A period of 0 wraps the 32-bit countdown: 2^32 cycles of 2 ns are 8.59 s.
#[test]
fn period_zero_is_two_to_the_32_cycles() {
    let mut ager = Ager::new(0, Time::ns(2));
    ager.advance(Time::ns(2) * ((1 << 32) - 1));
    assert_eq!(ager.timestamp(), 0);
    ager.advance(Time::ns(2) * (1 << 32));
    assert_eq!(ager.timestamp(), 1);
    ager.advance(Time::ns(2) * (1 << 32) * 300);
    assert_eq!((ager.timestamp(), ager.epoch()), (44, true));
}

#[test]
#[should_panic(expected = "a packet leaves that never came")]
fn a_packet_that_never_came_cannot_leave() {
    let mut ager = Ager::new(1, Time::ns(2));
    ager.receive(0, 0);
    ager.send(AgeHeader(1 << 9));
}
