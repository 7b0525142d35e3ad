//! Messages of all kinds at random, with losses and packets that overtake others: memory at both ends is compared byte by byte.

use fabricsim_model::Random;
use fabricsim_protocols::infiniband::{OutOfOrder, Status, Verb};
use fabricsim_units::{HostId, Time};
use fabricsim_wire::Psn;

use super::pair::{End, SIZE};
use super::{Pair, connected, remote, sge};
use crate::{Capacities, Costs, ReceiveRequest, SendRequest};

/// Bytes in which the words of atomic operations are.
const WORDS: u64 = 1000;

/// Both memories as a program that does the same without a network would leave them.
struct Model {
    memories: [Vec<u8>; 2],
}

/// The network between the ends.
#[derive(Clone, Copy)]
struct Network {
    /// Packets that are lost, of 100.
    lost: u64,
    /// Nanoseconds by which packets are late, at most.
    late: u64,
    out_of_order: OutOfOrder,
    /// READs and atomic operations, too.
    has_responses: bool,
}

const PLAIN: Network = Network { lost: 0, late: 0, out_of_order: OutOfOrder::Drop, has_responses: true };

fn run(seed: u64, network: Network) -> u64 {
    let Network { lost, late, out_of_order, has_responses } = network;
    let mut random = Random::new(seed, 1, 1);
    let costs = Costs {
        payload_fetch: Time::ns(random.below(500)),
        receive: Time::ns(random.below(50)),
        ..Costs::LEAST
    };
    let mut pair = Pair::new(costs).with_loss(lost, seed).with_overtaking(late, out_of_order);
    let ends = connected(&mut pair, Capacities { inline: 64, ..Capacities::default() });
    let mut model = Model { memories: [0, 1].map(|_| (0..SIZE).map(|_| random.below(256) as u8).collect()) };
    for (host, end) in ends.iter().enumerate() {
        pair.devices[host].write_memory(end.mr, 0, &model.memories[host]).unwrap();
    }
    let mut expected = [Vec::new(), Vec::new()];
    // One direction at a time, so that the model needs no order of the two ends.
    let from = random.below(2) as usize;
    let (here, there) = (&ends[from], &ends[1 - from]);
    let half = SIZE / 2;
    // With OutOfOrder::Place WRITEs to the same bytes have no order: each has bytes of its own.
    let mut free = matches!(out_of_order, OutOfOrder::Place(_)).then_some(half);
    for wr_id in 0..=random.below(12) {
        let length = [random.below(10), random.below(1200), random.below(5000)][random.below(3) as usize];
        let (local, far) = (random.below(half - length - WORDS), half + random.below(half - length));
        let far = free.unwrap_or(far);
        free = free.map(|free| free + length);
        if far + length > SIZE {
            break;
        }
        let (l, f, n) = (local as usize, far as usize, length as usize);
        let memories = &mut model.memories;
        let request = match random.below(if has_responses { 4 } else { 2 }) {
            0 => {
                let receive = ReceiveRequest { wr_id, list: sge(there, far, length as u32) };
                pair.devices[1 - from].post_recv(there.qp, receive, pair.now).unwrap();
                expected[1 - from].push(wr_id);
                let data = memories[from][l..l + n].to_vec();
                memories[1 - from][f..f + n].copy_from_slice(&data);
                SendRequest::send(wr_id, sge(here, local, length as u32))
            }
            1 => {
                let data = memories[from][l..l + n].to_vec();
                memories[1 - from][f..f + n].copy_from_slice(&data);
                SendRequest::write(wr_id, sge(here, local, length as u32), remote(there, far))
            }
            2 => {
                // What is read goes to the upper half, from which nothing is sent. A READ whose data is lost, or was overtaken, is executed again: only
                // without that are words read that atomic operations change.
                let local = if lost + late == 0 { local } else { local.max(WORDS) };
                let l = local as usize;
                let data = memories[1 - from][l..l + n].to_vec();
                memories[from][f..f + n].copy_from_slice(&data);
                SendRequest::read(wr_id, sge(here, far, length as u32), remote(there, local))
            }
            _ => {
                let (word, result) = (8 * random.below(WORDS / 8), half + random.below(half - 8));
                let (w, r) = (word as usize, result as usize);
                // Regions begin at a page: the address is a multiple of 8.
                let original: [u8; 8] = memories[1 - from][w..w + 8].try_into().unwrap();
                memories[from][r..r + 8].copy_from_slice(&original);
                let new = u64::from_ne_bytes(original).wrapping_add(3);
                memories[1 - from][w..w + 8].copy_from_slice(&new.to_ne_bytes());
                let verb = Verb::FetchAdd { remote: remote(there, word), add: 3 };
                SendRequest::new(wr_id, verb, sge(here, result, 8))
            }
        };
        pair.devices[from].post_send(here.qp, request, pair.now).unwrap();
        expected[from].push(wr_id);
        if random.below(3) == 0 {
            pair.run(pair.now + Time::ns(random.below(3000)));
        }
    }
    pair.run(Time::ms(10_000));
    check(seed, (&mut pair, &ends), (&expected, &model));
    pair.devices[from].queue_pair_counters(here.qp).unwrap().retransmitted
}

/// All has ended well and in order, and memory is that of the model.
fn check(seed: u64, (pair, ends): (&mut Pair, &[End; 2]), (expected, model): (&[Vec<u64>; 2], &Model)) {
    for (host, end) in ends.iter().enumerate() {
        let done = pair.poll(host, end.cq);
        assert!(done.iter().all(|done| done.status == Status::Success), "{seed}: {done:?}");
        let ids: Vec<u64> = done.iter().map(|done| done.wr_id).collect();
        assert_eq!(ids, expected[host], "{seed}: completions of host {host}, in order of posting");
        let memory = pair.devices[host].read_memory(end.mr, 0, SIZE).unwrap();
        assert!(memory == model.memories[host], "{seed}: memory of host {host}");
        assert!(!pair.devices[host].is_busy());
        assert_eq!(pair.devices[host].held_packets(), 0, "{seed}: what was held is executed or discarded");
    }
}

#[test]
fn memory_is_what_it_would_be_without_a_network() {
    assert_eq!((0..100).map(|seed| run(seed, PLAIN)).sum::<u64>(), 0);
    let retransmitted: u64 = (0..400).map(|seed| run(seed, Network { lost: 3, ..PLAIN })).sum();
    assert!(retransmitted > 100, "{retransmitted}");
}

/// Nothing that is held is sent anew; without that (`Drop`) much is.
#[test]
fn memory_is_the_same_where_packets_overtake_others() {
    const HELD: [OutOfOrder; 3] = [OutOfOrder::Hold(64), OutOfOrder::Place(64), OutOfOrder::Hold(3)];
    let count = |network: Network| (0..150).map(|seed| run(seed, network)).sum::<u64>();
    for late in [15, 200, 3000] {
        let overtaking = Network { late, ..PLAIN };
        let one_way = Network { has_responses: false, ..overtaking };
        let dropped = count(one_way);
        assert!(dropped > 100, "{late}: {dropped}");
        count(overtaking);
        for out_of_order in HELD {
            let retransmitted = count(Network { out_of_order, ..one_way });
            if out_of_order == OutOfOrder::Hold(3) {
                assert!(retransmitted < dropped, "{late}: {retransmitted} and {dropped}");
            } else {
                assert_eq!(retransmitted, 0, "{late} {out_of_order:?}");
            }
            count(Network { out_of_order, ..overtaking });
            assert!(count(Network { out_of_order, lost: 3, ..overtaking }) > 0);
        }
    }
}

/// A packet that claims a number within a READ behind it is dropped with its bytes when the READ has come.
#[test]
fn what_is_held_within_the_numbers_of_a_read_is_discarded() {
    let mut pair = Pair::new(Costs::LEAST).with_overtaking(1, OutOfOrder::Hold(64));
    let ends = connected(&mut pair, Capacities::default());
    let (here, there) = (&ends[0], &ends[1]);
    let first = Psn::new(7);
    let write = SendRequest::write(1, sge(here, 0, 10), remote(there, 0));
    let read = SendRequest::read(2, sge(here, 0, 3000), remote(there, 0));
    for (request, psn, held) in [(write, first.next().next(), 1), (read, first, 0)] {
        pair.devices[0].post_send(here.qp, request, pair.now).unwrap();
        pair.devices[0].expire(Time::us(1));
        let mut sent = pair.devices[0].send(0, Time::us(1)).unwrap();
        sent.packet.headers.bth.psn = psn;
        let what = (sent.packet.length, sent.content.as_deref());
        pair.devices[1].receive(HostId(0), &sent.packet.headers, what, Time::us(1));
        assert_eq!(pair.devices[1].held_packets(), held);
    }
}
