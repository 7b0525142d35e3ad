//! Two ends that exchange messages, with planted losses; what they send is read as captures are.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;

use fabricsim_protocols::infiniband::{Extra, Remote, Status, Verb, Work};
use fabricsim_units::Time;
use fabricsim_wire::Psn;
use fabricsim_wire::dissect::{Dissection, Encapsulation, dissect};
use fabricsim_wire::headers::{Bth, Headers, RnrTimer};
use fabricsim_wire::ids::{PKey, Qpn, RKey};
use fabricsim_wire::roce::{FRAME_HEADERS, Ipv4Frame, UDP_PORT};
use proptest::prelude::*;

use super::*;
use crate::clock::{Clock, rest};

const KEY: RKey = RKey(0x4321);
const BASE: u64 = 0x7f00_0000;
const NUMBERS: [Qpn; 2] = [Qpn(0x11), Qpn(0x22)];
/// Numbers wrap during the first messages.
const FIRST: [Psn; 2] = [Psn::new(0x00ff_fffa), Psn::new(7)];

fn settings(end: usize, peer: Ipv4Addr, timeout: u8) -> RoceSettings {
    RoceSettings {
        number: NUMBERS[end],
        destination: NUMBERS[1 - end],
        peer,
        mtu: 1024,
        send_psn: FIRST[end],
        receive_psn: FIRST[1 - end],
        timeout,
        retries: 7,
        rnr_retries: 7,
        rnr_timer: RnrTimer::new(1),
        reads: 2,
    }
}

/// Two ports of loopback addresses that no other test uses, and an address beside them.
fn ports() -> ([RocePort; 2], Ipv4Addr) {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    let [_, high, low, _] = std::process::id().to_be_bytes()[..] else { unreachable!("four bytes") };
    for _ in 0..100 {
        let net = NEXT.fetch_add(1, Ordering::Relaxed);
        let address = |host| Ipv4Addr::new(127, high ^ 0x80, low ^ net, host);
        if let (Ok(one), Ok(other)) = (RocePort::bind(address(1)), RocePort::bind(address(2))) {
            return ([one, other], address(3));
        }
    }
    panic!("no loopback address is free");
}

struct Ends {
    ports: [RocePort; 2],
    pairs: [RoceQueuePair; 2],
    stranger: Ipv4Addr,
    clock: Clock,
}

fn region(permissions: Permissions) -> Region {
    let bytes = (0..20_000_u32).map(|at| (at.wrapping_mul(77) >> 3) as u8).collect();
    Region { va: BASE, r_key: KEY, permissions, bytes }
}

fn ends() -> Ends {
    let (ports, stranger) = ports();
    // 16.8 ms: much longer than an answer takes, where one thread serves both ends.
    let settings = [0, 1].map(|end| settings(end, ports[1 - end].address(), 12));
    let mut pairs = settings.map(|settings| RoceQueuePair::new(settings).unwrap());
    for pair in &mut pairs {
        pair.add_region(region(Permissions { write: true, read: true, atomic: true }));
    }
    Ends { ports, pairs, stranger, clock: Clock::start() }
}

impl Ends {
    fn poll(&mut self) {
        let mut worked = false;
        for (pair, port) in self.pairs.iter_mut().zip(&mut self.ports) {
            worked |= pair.poll(port, self.clock.now()).unwrap();
        }
        if !worked {
            rest();
        }
    }

    /// Until all work requests have ended.
    fn run(&mut self) {
        while self.pairs.iter().any(|pair| pair.pending() > 0) {
            self.poll();
            assert!(self.clock.now() < Time::ms(60_000), "{:?}", self.pairs);
        }
    }
}

fn data(id: u64, length: u32) -> Vec<u8> {
    (0..length).map(|at| (u64::from(at).wrapping_mul(id * 2 + 1) >> 2) as u8).collect()
}

fn work(id: u64, verb: Verb, length: u32) -> Work {
    Work { id, verb, length, extra: Extra::None, signaled: true, solicited: false, fence: false }
}

fn at(offset: u64) -> Remote {
    Remote { va: BASE + offset, r_key: KEY }
}

fn done(pair: &mut RoceQueuePair) -> Vec<SendDone> {
    std::iter::from_fn(|| pair.next_done()).collect()
}

fn received(pair: &mut RoceQueuePair) -> Vec<ReceivedMessage> {
    std::iter::from_fn(|| pair.next_received()).collect()
}

/// Posts SEND, WRITE with immediate data, READ, atomic operations and SEND at one end, and checks what has become of them.
fn post(pair: &mut RoceQueuePair) {
    pair.post_send(work(1, Verb::Send, 0), data(1, 5000)).unwrap();
    let write = Work { extra: Extra::Immediate(0xfeed), fence: true, ..work(2, Verb::Write(at(100)), 0) };
    pair.post_send(work(3, Verb::Read(at(12_000)), 7000), Vec::new()).unwrap();
    pair.post_send(write, data(2, 10_001)).unwrap();
    for id in 4..7 {
        pair.post_send(work(id, Verb::FetchAdd { remote: at(11_000), add: id }, 8), Vec::new()).unwrap();
    }
    pair.post_send(work(7, Verb::Send, 0), Vec::new()).unwrap();
}

fn check(from: &mut RoceQueuePair, to: &mut RoceQueuePair) {
    let before = region(Permissions::default()).bytes;
    let done = done(from);
    let ids: Vec<u64> = done.iter().map(|done| done.completion.id).collect();
    assert_eq!(ids, [1, 3, 2, 4, 5, 6, 7]);
    assert!(done.iter().all(|done| done.completion.status == Status::Success), "{done:?}");
    assert!(done[1].data == before[12_000..19_000]);
    let word = u64::from_le_bytes(before[11_000..11_008].try_into().unwrap());
    let originals: Vec<u64> =
        done[3..6].iter().map(|done| done.completion.original.wrapping_sub(word)).collect();
    assert_eq!(originals, [0, 4, 9]);
    let received = received(to);
    let told: Vec<(u64, Extra, bool)> = received
        .iter()
        .map(|message| (message.received.id, message.received.extra, message.received.is_write))
        .collect();
    assert_eq!(told, [(0, Extra::None, false), (1, Extra::Immediate(0xfeed), true), (2, Extra::None, false)]);
    assert!(received[0].data == data(1, 5000) && received[2].data.is_empty());
    let bytes = &to.regions()[0].bytes;
    assert!(bytes[100..10_101] == data(2, 10_001) && bytes[..100] == before[..100]);
    assert_eq!(bytes[11_000..11_008], word.wrapping_add(15).to_le_bytes());
    assert!(bytes[11_008..] == before[11_008..] && bytes[10_101..11_000] == before[10_101..11_000]);
}

/// Reads what a port has sent as a capture.
fn dissected(port: &RocePort) -> Vec<Dissection> {
    let packets = dissect(port.recorded().unwrap().bytes(), "recorded").unwrap();
    for packet in &packets {
        assert_eq!((packet.packet.encapsulation, &packet.packet.problem), (Encapsulation::RoceV2, &None));
        assert!(packet.packet.icrc.as_ref().is_some_and(|icrc| icrc.ok), "{packet:?}");
    }
    packets
}

#[test]
fn messages_cross_sockets_that_lose_packets() {
    for (per_mille, seed) in [(0, 0), (80, 1), (80, 2), (200, 3)] {
        let mut ends = ends();
        for (port, pair) in ends.ports.iter_mut().zip(&mut ends.pairs) {
            port.lose(per_mille, seed);
            port.record();
            (0..3).for_each(|id| pair.post_receive(id, 6000));
            post(pair);
        }
        ends.run();
        let [one, other] = &mut ends.pairs;
        check(one, other);
        check(other, one);
        for port in &ends.ports {
            let packets = dissected(port);
            let counters = *port.counters();
            assert_eq!(packets.len() as u64, counters.sent + counters.lost);
            assert_eq!((counters.wrong_checksum, counters.malformed), (0, 0));
            assert_eq!(counters.lost > 0, per_mille > 0);
            let requests = packets.iter().filter(|packet| {
                !packet.packet.summary.contains("Response") && !packet.packet.summary.contains("Acknowledge")
            });
            // SEND 5, READ 1, WRITE 10, atomic operations 3, SEND 1.
            let requests = requests.count();
            assert!(if per_mille == 0 { requests == 20 } else { requests > 20 }, "{requests} requests");
        }
        assert_eq!([one.foreign(), other.foreign()], [0, 0]);
    }
}

/// The same with a thread for each end, as two processes would do it.
#[test]
fn ends_work_in_threads_of_their_own() {
    let (ports, _) = ports();
    let addresses = ports.each_ref().map(RocePort::address);
    let clock = Clock::start();
    let ended = AtomicU8::new(0);
    let pairs = thread::scope(|scope| {
        let mut threads = Vec::new();
        for (end, mut port) in ports.into_iter().enumerate() {
            let (clock, ended) = (&clock, &ended);
            threads.push(scope.spawn(move || {
                // 268 ms, on a machine that may be busy.
                let mut pair = RoceQueuePair::new(settings(end, addresses[1 - end], 16)).unwrap();
                pair.add_region(region(Permissions { write: true, read: true, atomic: true }));
                (0..3).for_each(|id| pair.post_receive(id, 6000));
                port.lose(30, end as u64);
                post(&mut pair);
                let mut is_counted = false;
                while ended.load(Ordering::Relaxed) < 2 {
                    if !pair.poll(&mut port, clock.now()).unwrap() {
                        rest();
                    }
                    if pair.pending() == 0 && !std::mem::replace(&mut is_counted, true) {
                        ended.fetch_add(1, Ordering::Relaxed);
                    }
                    assert!(clock.now() < Time::ms(60_000), "{pair:?}");
                }
                pair
            }));
        }
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    let [mut one, mut other] = <[RoceQueuePair; 2]>::try_from(pairs).unwrap();
    check(&mut one, &mut other);
    check(&mut other, &mut one);
}

/// Without receive requests the sender waits, and goes on when there is one.
#[test]
fn a_receiver_that_is_not_ready_delays_a_message() {
    let mut ends = ends();
    ends.pairs[0].post_send(work(1, Verb::Send, 0), data(1, 3000)).unwrap();
    for _ in 0..50 {
        ends.poll();
    }
    assert_eq!(ends.pairs[0].pending(), 1);
    ends.pairs[1].post_receive(5, 3000);
    ends.run();
    assert!(received(&mut ends.pairs[1])[0].data == data(1, 3000));
}

/// What the other end does not allow is refused, both queue pairs go to the error state, and all else is flushed.
#[test]
fn refused_requests_break_the_connection() {
    let no_read = Permissions { write: true, read: false, atomic: false };
    for (verb, length) in [
        (Verb::Write(Remote { r_key: RKey(1), ..at(0) }), 100),
        (Verb::Write(at(19_999)), 2),
        (Verb::Write(Remote { va: u64::MAX, r_key: KEY }), 2),
        (Verb::Read(at(0)), 10),
        (Verb::FetchAdd { remote: at(0), add: 1 }, 8),
    ] {
        let mut ends = ends();
        let mut pair = RoceQueuePair::new(settings(1, ends.ports[0].address(), 12)).unwrap();
        pair.add_region(region(no_read));
        pair.post_receive(9, 100);
        ends.pairs[1] = pair;
        ends.pairs[1].post_send(work(3, Verb::Send, 0), vec![1]).unwrap();
        ends.pairs[0].post_send(work(1, verb, length), data(1, length)).unwrap();
        ends.pairs[0].post_send(work(2, Verb::Send, 0), data(2, 10)).unwrap();
        ends.run();
        let statuses = |pair: &mut RoceQueuePair| -> Vec<(u64, Status)> {
            done(pair).iter().map(|done| (done.completion.id, done.completion.status)).collect()
        };
        assert_eq!(
            statuses(&mut ends.pairs[0]),
            [(1, Status::RemoteAccess), (2, Status::Flushed)],
            "{verb:?}"
        );
        assert_eq!(statuses(&mut ends.pairs[1]), [(3, Status::Flushed)]);
        assert_eq!(received(&mut ends.pairs[1])[0].received.status, Status::Flushed);
        assert!(ends.pairs.iter().all(RoceQueuePair::is_broken));
        assert!(ends.pairs[1].regions()[0].bytes == region(no_read).bytes);
        ends.pairs[1].post_receive(10, 100);
        assert_eq!(received(&mut ends.pairs[1]).len(), 1, "flushed at once");
    }
}

/// An end without answers gives up after its retries.
#[test]
fn an_end_gives_up_after_its_retries() {
    let (ports, stranger) = ports();
    let [mut port, _] = ports;
    let mut pair = RoceQueuePair::new(RoceSettings { retries: 2, ..settings(0, stranger, 8) }).unwrap();
    port.record();
    pair.post_receive(1, 10);
    pair.post_send(work(1, Verb::Write(at(0)), 0), data(1, 1500)).unwrap();
    let clock = Clock::start();
    while pair.pending() > 0 {
        pair.poll(&mut port, clock.now()).unwrap();
        assert!(clock.now() < Time::ms(60_000));
    }
    assert_eq!(done(&mut pair)[0].completion.status, Status::RetriesExceeded);
    assert_eq!(received(&mut pair)[0].received.status, Status::Flushed);
    assert_eq!(dissected(&port).len(), 6, "two packets, three times");
}

/// Datagrams of strangers, with wrong checksums, or for other queue pairs.
#[test]
fn datagrams_of_others_are_dropped_and_counted() {
    let mut ends = ends();
    let (here, there) = (ends.ports[0].address(), ends.ports[1].address());
    let stranger = UdpSocket::bind((ends.stranger, UDP_PORT)).unwrap();
    ends.pairs[0].post_receive(1, 100);
    let send = Bth {
        dest_qp: NUMBERS[0],
        psn: FIRST[1],
        opcode: fabricsim_wire::headers::Opcode(4),
        p_key: PKey::DEFAULT,
        ..Bth::default()
    };
    let headers = Headers { bth: send, ..Headers::default() };
    let datagram_from = |source| {
        let mut buffer = [0; 200];
        let length = Ipv4Frame { source, destination: here }.emit(&headers, b"guess", &mut buffer).unwrap();
        buffer[FRAME_HEADERS..length].to_vec()
    };
    let datagram = datagram_from(ends.stranger);
    stranger.send_to(&datagram, (here, UDP_PORT)).unwrap();
    let mut damaged = datagram.clone();
    damaged[20] ^= 1;
    stranger.send_to(&damaged, (here, UDP_PORT)).unwrap();
    stranger.send_to(b"short", (here, UDP_PORT)).unwrap();
    stranger.send_to(&[0; 5000], (here, UDP_PORT)).unwrap();
    // From another port of the right address.
    UdpSocket::bind((there, 0)).unwrap().send_to(&datagram_from(there), (here, UDP_PORT)).unwrap();
    let other_partition = Headers { bth: Bth { p_key: PKey(0x8001), ..send }, ..headers };
    ends.ports[1].send(here, &other_partition, b"wrong", Time::ZERO).unwrap();
    let other_pair = Headers { bth: Bth { dest_qp: Qpn(9), ..send }, ..headers };
    ends.ports[1].send(here, &other_pair, b"wrong", Time::ZERO).unwrap();
    for _ in 0..20 {
        ends.poll();
    }
    let counters = *ends.ports[0].counters();
    assert_eq!((counters.received, counters.wrong_checksum + counters.malformed), (3, 4), "{counters:?}");
    assert!(counters.wrong_checksum > 0);
    assert_eq!(ends.pairs[0].foreign(), 3);
    assert!(received(&mut ends.pairs[0]).is_empty());
    ends.pairs[1].post_send(work(1, Verb::Send, 0), data(1, 50)).unwrap();
    ends.run();
    assert!(received(&mut ends.pairs[0])[0].data == data(1, 50));
}

#[test]
fn settings_have_ranges() {
    let here = Ipv4Addr::LOCALHOST;
    let message = |settings| RoceQueuePair::new(settings).unwrap_err().to_string();
    let good = settings(0, here, 12);
    let allowed = "mtu = 1000: must be 256, 512, 1024, 2048 or 4096";
    assert_eq!(message(RoceSettings { mtu: 1000, ..good }), allowed);
    assert_eq!(message(RoceSettings { reads: 0, ..good }), "reads = 0: must be 1 to 255");
    assert_eq!(message(RoceSettings { timeout: 32, ..good }), "timeout = 32: must be 0 to 31");
    let error = RocePort::bind(Ipv4Addr::new(10, 0, 0, 1)).unwrap_err().to_string();
    assert_eq!(error, "address = 10.0.0.1: must be a loopback address, 127.0.0.1 to 127.255.255.254");
    let mut pair = RoceQueuePair::new(good).unwrap();
    pair.post_send(work(1, Verb::Send, 0), Vec::new()).unwrap();
    let error = pair.post_send(work(1, Verb::Read(at(0)), 1), Vec::new()).unwrap_err().to_string();
    assert_eq!(error, "work request 1 is pending already");
}

proptest! {
    /// Packets with any headers do no harm: nothing is written outside of the part that may be.
    #[test]
    fn any_packets_do_no_harm(
        packets in prop::collection::vec((any::<[u8; 52]>(), 0_u8..26, -2_i32..4, 0..=1024_usize, any::<bool>()), 1..60),
    ) {
        let peer = Ipv4Addr::LOCALHOST;
        let mut pair = RoceQueuePair::new(settings(0, peer, 12)).unwrap();
        pair.add_region(region(Permissions { write: false, read: true, atomic: false }));
        pair.post_send(work(1, Verb::Read(at(0)), 3000), Vec::new()).unwrap();
        pair.post_receive(1, 1000);
        for (mut bytes, opcode, ahead, length, has_key) in packets {
            bytes[0] = opcode;
            if has_key {
                // RETH: a key that is right.
                bytes[20..24].copy_from_slice(&KEY.0.to_be_bytes());
            }
            let Ok(mut headers) = Headers::parse(&bytes) else { continue };
            headers.bth = Bth { psn: FIRST[1] + ahead as u32, dest_qp: NUMBERS[0], p_key: PKey::DEFAULT, ..headers.bth };
            pair.take(Incoming { from: peer, headers, payload: vec![9; length] }, Time::ZERO);
        }
        prop_assert!(pair.regions().first().is_none_or(|kept| kept.bytes == region(Permissions::default()).bytes));
    }
}
