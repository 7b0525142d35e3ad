use fabricsim_model::NullObserver;
use fabricsim_units::{Time, Vl};

use super::*;
use crate::testing::prepare;

/// Two hosts at each of three switches in a row, which saturate the links between them.
const ROW: &str = r#"
[topology.mesh]
dimensions = [3]
hosts_per_switch = 2
[links.all]
rate = "8 Gb/s"
latency = "50 ns"
buffer = "1 KiB"
[switch]
virtual_lanes = 2
[host]
mtu = "128 B"
[[traffic]]
pattern = "uniform"
injection = "saturating"
message = "256 B"
[run]
duration = "1 s"
"#;

/// The row after a while.
fn snapshot(extent: Extent) -> Snapshot {
    let mut engine = prepare(ROW, &[]).engine(|| NullObserver);
    engine.advance(Time::us(20), &mut |_, _| true);
    engine.snapshot(extent)
}

fn empty() -> Snapshot {
    Snapshot {
        queues: Vec::new(),
        lanes: Vec::new(),
        hosts: Vec::new(),
        refused: Vec::new(),
        packets: Vec::new(),
        ahead: Vec::new(),
        shared: Vec::new(),
        ..snapshot(Extent::Queues)
    }
}

/// Gives a list of a snapshot room.
type Growth = fn(&mut Snapshot);

/// The bytes of a snapshot are those of the room of each of its lists: that of one list at a time, and the sum of all.
#[test]
fn bytes_are_those_of_all_lists() {
    assert_eq!(empty().bytes(), 0);
    let lists: [(Growth, usize); 7] = [
        (|of| of.queues.reserve_exact(3), 3 * size_of::<Queue>()),
        (|of| of.lanes.reserve_exact(5), 5 * size_of::<LaneState>()),
        (|of| of.hosts.reserve_exact(7), 7 * size_of::<HostState>()),
        (|of| of.refused.reserve_exact(11), 11 * size_of::<Refused>()),
        (|of| of.packets.reserve_exact(13), 13 * size_of::<QueuedPacket>()),
        (|of| of.ahead.reserve_exact(17), 17 * size_of::<LaneAhead>()),
        (|of| of.shared.reserve_exact(19), 19 * size_of::<SharedSpace>()),
    ];
    let (mut all, mut sum) = (empty(), 0);
    for (number, (grow, bytes)) in lists.into_iter().enumerate() {
        let mut one = empty();
        grow(&mut one);
        assert_eq!(one.bytes(), bytes, "list {number}");
        grow(&mut all);
        sum += bytes;
        assert_eq!(all.bytes(), sum, "lists up to {number}");
    }
}

/// A vector at the end of its growth has room for twice what it holds: so has each list of the estimate.
#[test]
fn the_estimate_has_room_for_twice_what_is_there() {
    let [queue, packet, lane] =
        [size_of::<Queue>(), size_of::<QueuedPacket>(), size_of::<LaneAhead>()].map(|bytes| bytes as u64);
    for ((queues, packets, lanes), bytes) in [
        ((0, 0, 3), 0),
        ((1, 0, 0), 2 * queue),
        ((5, 0, 0), 10 * queue),
        ((0, 5, 0), 10 * packet),
        ((1, 0, 3), 2 * queue + 6 * lane),
        ((4, 7, 2), 8 * queue + 14 * packet + 16 * lane),
    ] {
        assert_eq!(Snapshot::bytes_of(queues, packets, lanes), bytes, "{queues} {packets} {lanes}");
    }
    let found = snapshot(Extent::Queues);
    let (queues, packets) = (found.queues.len() as u64, found.queued() as u64);
    let lanes = found.queues.iter().map(|queue| found.ahead(queue).len() as u64).max().unwrap();
    assert!(found.bytes() as u64 <= Snapshot::bytes_of(queues, packets, lanes));
}

/// The packets of queues are all that wait in switches. A lane is that of its sending port: what its buffer holds, and what its sender may
/// use, is its capacity. Queues alone have neither lanes nor hosts.
#[test]
fn a_snapshot_has_its_parts() {
    let found = snapshot(Extent::Everything);
    let packets: usize = found.queues.iter().map(|queue| found.packets(queue).len()).sum();
    assert!(found.queued() > 10, "{}", found.queued());
    assert_eq!(found.queued(), packets);
    // Six links of hosts, and two between switches, in both directions.
    assert_eq!((found.sending_ports, found.lane_count, found.lanes.len()), (16, 2, 32));
    for (port, lanes) in found.lanes.chunks(2).enumerate() {
        for lane in 0..2 {
            let state = found.lane(port as u32, Vl(lane)).unwrap();
            assert!(std::ptr::eq(state, &raw const lanes[usize::from(lane)]), "port {port}, lane {lane}");
            assert!(state.free + state.returning <= state.capacity, "{state:?}");
        }
    }
    assert_eq!(found.lane(16, Vl(0)), None);
    for queue in &found.queues {
        let lane = found.lane(queue.input, queue.lane).unwrap();
        assert!(lane.packets as usize >= found.packets(queue).len(), "{queue:?}");
        assert!(lane.blocks >= queue.blocks && queue.blocks >= queue.head_blocks, "{queue:?}");
        // Space at hosts is returned in advance, that of a switch as a packet leaves it.
        assert_eq!(lane.blocks + lane.free + lane.returning, lane.capacity, "{lane:?}");
    }
    assert!(found.hosts.iter().map(|host| host.host.0).eq(0..6));
    let queues = snapshot(Extent::Queues);
    assert_eq!(queues.queued(), found.queued());
    assert_eq!((queues.lane(0, Vl(0)), queues.lanes.len(), queues.hosts.len()), (None, 0, 0));
}

/// A stall that begins now has not lasted yet, though it is known in advance.
#[test]
fn a_host_is_blocked_from_the_next_picosecond_on() {
    let one_lane = [("switch.virtual_lanes", "1")];
    let mut engine = prepare(ROW, &one_lane).engine(crate::testing::Log::default);
    engine.advance(Time::us(20), &mut |_, _| true);
    let ends: Vec<Time> = engine.finish().remove(0).stalls;
    assert!(ends.len() > 20, "{}", ends.len());
    let mut blocked = 0;
    for &now in ends.iter().take(40) {
        let mut engine = prepare(ROW, &one_lane).engine(|| NullObserver);
        engine.advance(now, &mut |_, _| true);
        let hosts = engine.snapshot(Extent::Everything).hosts;
        assert!(hosts.iter().all(|host| host.blocked_since.is_none_or(|since| since < now)), "{hosts:?}");
        blocked += hosts.iter().filter(|host| host.blocked_since.is_some()).count();
    }
    assert!(blocked > 0);
}

/// With combined input and output queues packets wait before a staging buffer of the output's, and in it.
#[test]
fn packets_wait_before_the_buffers_of_outputs() {
    for (queueing, expected) in [("cioq", true), ("voq", false)] {
        let mut engine = prepare(ROW, &[("switch.queueing", queueing), ("switch.staging.buffer", "128 B")])
            .engine(|| NullObserver);
        engine.advance(Time::us(20), &mut |_, _| true);
        let snapshot = engine.snapshot(Extent::Everything);
        let is_before = |queue: &&Queue| matches!(queue.place, BufferKind::BeforeStaging { .. });
        assert_eq!(snapshot.queues.iter().any(|queue| is_before(&queue)), expected, "{queueing}");
    }
}
