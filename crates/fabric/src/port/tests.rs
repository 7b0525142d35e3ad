use fabricsim_model::Lanes;
use fabricsim_units::{ByteTime, Rate};
use proptest::prelude::*;

use super::*;
use crate::{CommonFeatures, NONE};

const LANES: usize = 4;

/// Used space counts the requested lanes of that port; all lanes if they are counted together.
#[test]
fn space_in_use_is_of_the_lanes_that_are_asked_for() {
    let mut ports = ports(&[[10, 10, 10, 10], [9, 8, 6, 10], [0, 0, 0, 0]], &[0; 3], Selection::RoundRobin);
    let now = Time::ZERO;
    for (lanes, used) in [(0..1, 1), (1..2, 2), (2..3, 4), (1..3, 6), (0..4, 7), (3..4, 0)] {
        assert_eq!(ports.in_use_of_lanes(1, &lanes, now), used, "{lanes:?}");
    }
    assert_eq!(ports.in_use_of_whole(1, now), None);
    ports.count_whole();
    ports.use_whole(1, 5, now);
    assert_eq!(ports.in_use_of_whole(1, now), Some(5));
}

/// A block takes 64 ns. The blocks of the three ramps are free at 64 ns; 164 and 228 ns; 364 and 428 ns.
#[test]
fn credits_that_a_port_waits_for_are_announced_once() {
    let mut ports = ports(&[[10; LANES], [10; LANES]], &[0; 2], Selection::RoundRobin);
    let byte_time = Rate::new(8_000_000_000).unwrap().byte_time();
    let ramp = |base, blocks| Ramp { base: Time::ns(base), byte_time, bytes: 64 * blocks, blocks };
    let lane = Vl(2);
    ports.ramps.take(&mut ports.lanes[LANES + 2], 10);
    let credit = |ports: &mut Ports, ramp, now| ports.credit::<CommonFeatures>(1, lane, ramp, Time::ns(now));
    assert_eq!(credit(&mut ports, ramp(0, 1), 0), None, "no packet waits");
    assert_eq!(ports.choose_lane(1, Lanes::one(lane), 4, Time::ZERO, 0), Err(Time::MAX));
    assert_eq!(credit(&mut ports, ramp(100, 2), 0), None, "too few blocks for the packet that waits");
    assert_eq!(credit(&mut ports, ramp(300, 2), 0), Some(Time::ns(364)));
    assert_eq!(credit(&mut ports, ramp(500, 2), 364), None, "announced before, for this time");
    assert_eq!(credit(&mut ports, ramp(600, 1), 428), None, "all are free");
    ports.forget_awaited(1);
    assert_eq!(credit(&mut ports, ramp(700, 1), 0), None, "no packet waits any more");
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
        is_controlled: false,
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
        capacities: Table::new(vec![10; last.len()]),
        whole: Table::new(Vec::new()),
        lane_count: LANES,
        flow: None,
        pause: None,
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
