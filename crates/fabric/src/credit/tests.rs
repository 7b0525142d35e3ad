use super::*;
use fabricsim_units::Rate;
use proptest::prelude::*;

fn byte_time(gbps: u64) -> ByteTime {
    Rate::new(gbps * 1_000_000_000).unwrap().byte_time()
}

#[test]
fn blocks_come_back_one_by_one() {
    let mut pool = RampPool::new(64);
    let mut lane = LaneCredits::new(34);
    lane.free = 0;
    // 8 Gb/s: a byte takes 1 ns, a block 64 ns.
    pool.push(&mut lane, Ramp { base: Time::ns(100), byte_time: byte_time(8), bytes: 2176, blocks: 34 });
    for (at, free) in [(99, 0), (100, 0), (163, 0), (164, 1), (227, 1), (228, 2), (2275, 33), (2276, 34)] {
        pool.collect(&mut lane, Time::ns(at));
        assert_eq!(lane.free, free, "at {at} ns");
    }
    assert!(!lane.expects_more());
}

#[test]
fn a_last_block_may_be_short() {
    let mut pool = RampPool::new(64);
    let mut lane = LaneCredits::new(2);
    lane.free = 0;
    pool.push(&mut lane, Ramp { base: Time::ZERO, byte_time: byte_time(8), bytes: 70, blocks: 2 });
    assert_eq!(pool.earliest(&lane, 2), Time::ns(70));
    assert_eq!(pool.earliest(&lane, 3), Time::MAX);
}

proptest! {
    /// `earliest` is exactly the first time at which `collect` finds enough.
    #[test]
    fn earliest_agrees_with_collect(
        ramps in prop::collection::vec((0_u64..2000, 1_u64..200, 1_u32..1000), 1..6), need in 1_u32..40,
    ) {
        let unit = 64;
        let mut pool = RampPool::new(unit);
        let mut lane = LaneCredits::new(1000);
        lane.free = 0;
        let mut total = 0;
        for (base, gbps, bytes) in ramps {
            let blocks = bytes.div_ceil(unit);
            total += blocks;
            pool.push(&mut lane, Ramp { base: Time::ns(base), byte_time: byte_time(gbps), bytes, blocks });
        }
        let at = pool.earliest(&lane, need);
        let collected = |t: Time| {
            let seen = pool.free_at(&lane, t);
            let (mut pool, mut lane) = (pool.clone(), lane);
            pool.collect(&mut lane, t);
            prop_assert_eq!(lane.free, seen);
            prop_assert_eq!(lane.free + pool.outstanding(&lane), total);
            Ok(lane.free)
        };
        if at == Time::MAX {
            prop_assert!(collected(Time::ms(1))? < need);
        } else {
            prop_assert!(collected(at)? >= need);
            prop_assert!(at.0 == 0 || collected(Time(at.0 - 1))? < need);
        }
    }

    /// No block is lost or counted twice, at any number of looks.
    #[test]
    fn collecting_conserves_blocks(
        ramps in prop::collection::vec((0_u64..500, 1_u64..100, 1_u32..500), 1..8),
        looks in prop::collection::vec(0_u64..3000, 0..20),
    ) {
        let mut pool = RampPool::new(64);
        let mut lane = LaneCredits::new(1000);
        lane.free = 0;
        let mut total = 0;
        for (base, gbps, bytes) in ramps {
            let blocks = bytes.div_ceil(64);
            total += blocks;
            pool.push(&mut lane, Ramp { base: Time::ns(base), byte_time: byte_time(gbps), bytes, blocks });
        }
        let mut looks = looks;
        looks.sort_unstable();
        for look in looks {
            pool.collect(&mut lane, Time::ns(look));
            prop_assert_eq!(lane.free + pool.outstanding(&lane), total);
        }
        pool.collect(&mut lane, Time::ms(10));
        prop_assert_eq!(lane.free, total);
        prop_assert!(!lane.expects_more());
    }

    /// The free space, and the time at which there will be enough, do not depend on when ended ramps are collected.
    #[test]
    fn collecting_in_time_changes_nothing(
        packets in prop::collection::vec((0_u64..60, 0_u64..400, 1_u64..100, 1_u32..500), 1..200),
        need in 1_u32..40,
    ) {
        let (mut tidied, mut kept) = (RampPool::new(64), RampPool::new(64));
        let mut tidy = LaneCredits::new(u32::MAX);
        tidy.free = 0;
        let mut never = tidy;
        let mut now = Time::ZERO;
        for (pause, delay, gbps, bytes) in packets {
            now += Time::ns(pause);
            let (base, blocks) = (now + Time::ns(delay), bytes.div_ceil(64));
            let ramp = Ramp { base, byte_time: byte_time(gbps), bytes, blocks };
            tidied.tidy(std::iter::once(&mut tidy), now);
            tidied.push(&mut tidy, ramp);
            kept.push(&mut never, ramp);
            let look = |pool: &RampPool, lane: &LaneCredits| {
                let (mut pool, mut lane) = (pool.clone(), *lane);
                pool.collect(&mut lane, now);
                (lane.free, pool.outstanding(&lane), pool.earliest(&lane, lane.free + need))
            };
            prop_assert_eq!(look(&tidied, &tidy), look(&kept, &never));
        }
    }
}

/// A source that sends 64-byte packets in bursts into a buffer whose credits never run short, as in the time in which the
/// ramps of 1024 packets overlap.
#[test]
fn ramps_kept_do_not_grow_with_the_capacity() {
    let allocated = |capacity: u32| {
        let mut pool = RampPool::new(64);
        let mut lane = LaneCredits::new(capacity);
        let mut now = Time::ZERO;
        for packet in 0..30_000_u32 {
            now += if packet % 1000 == 0 { Time::us(20) } else { Time::ns(10) };
            if lane.free == 0 {
                pool.collect(&mut lane, now);
            }
            pool.take(&mut lane, 1);
            let ramp = Ramp { base: now + Time::us(1), byte_time: byte_time(100), bytes: 64, blocks: 1 };
            if pool.is_full() {
                pool.tidy(std::iter::once(&mut lane), now);
            }
            pool.give_back(&mut lane, ramp);
        }
        pool.allocated()
    };
    // Ramps of packets every 10 ns overlap for 1 us: at most 101. Twice as many are less than those kept in any case.
    assert_eq!([1 << 10, 1 << 14, 1 << 20].map(|capacity| allocated(capacity) <= KEPT), [true; 3]);
}
