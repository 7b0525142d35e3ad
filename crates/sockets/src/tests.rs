use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use fabricsim_protocols::ordering::Header;
use proptest::prelude::*;

use super::*;
use crate::clock::rest;

pub(crate) fn settings(mode: &str, exactly_once: bool) -> Settings {
    let json = format!(
        r#"{{"mode": "{mode}", "exactly_once": {exactly_once}, "bytes": 200000, "streams": 3, "packet_bytes": 500,
            "outstanding": 32, "reorder_buffer": 128, "connections": 8, "timeout_us": 20000, "lifetime_us": 10000,
            "deadline_s": 60}}"#
    );
    Settings::read(&json).expect("they are good")
}

/// A token for tests without sockets.
pub(crate) fn token() -> Token {
    Token::from_hex("00112233445566778899aabbccddeeff").expect("32 digits")
}

prop_compose! {
    /// Headers of any kind, with numbers that are often those of a transfer.
    pub(crate) fn any_header()(
        kind in 0_u8..5, transfer in 0_u8..6, flags: u8, reason in 0_u8..6, cid in 0_u16..4, without: bool,
        seq in prop_oneof![0_u16..12, any::<u16>()], word in prop_oneof![0_u64..12, any::<u64>()],
    ) -> Header {
        let mut bytes = [0; Header::BYTES];
        bytes[..4].copy_from_slice(&[kind, transfer, flags, reason]);
        bytes[4..6].copy_from_slice(&(cid | u16::from(without) << 15).to_be_bytes());
        bytes[6..8].copy_from_slice(&seq.to_be_bytes());
        bytes[8..].copy_from_slice(&word.to_be_bytes());
        Header::from_bytes(&bytes).expect("all fields are in range")
    }
}

const NETWORK: ProxySettings =
    ProxySettings { port: 0, delay_us: 100, jitter_us: 1000, loss: 0.02, seed: 1, queue_bytes: 1 << 24 };

/// Sends `data` through a bad network; what arrives, and the three reports.
fn transfer(data: &[u8], settings: &Settings) -> (Vec<u8>, SourceReport, TargetReport, ProxyReport) {
    transfer_beside(data, settings, |_, _| ())
}

/// The same, while another process of the machine does `beside` with the port of the network, until the flag is set.
fn transfer_beside(
    data: &[u8],
    settings: &Settings,
    beside: impl FnOnce(u16, &AtomicBool) + Send,
) -> (Vec<u8>, SourceReport, TargetReport, ProxyReport) {
    let settings = &Settings { bytes: data.len() as u64, ..settings.clone() };
    let proxy = Proxy::new(NETWORK).expect("there is a port");
    let (port, token) = (proxy.port().expect("it is bound"), proxy.token());
    let (done, all_done) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let network = scope.spawn(|| proxy.run(&all_done));
        scope.spawn(|| beside(port, &all_done));
        let target = scope.spawn(|| run_target(port, &token, settings, &done));
        let source = run_source(port, &token, data, settings, &AtomicBool::new(false));
        done.store(true, Ordering::Relaxed);
        let (parts, received) = target.join().expect("no panic").expect("no error");
        all_done.store(true, Ordering::Relaxed);
        let network = network.join().expect("no panic").expect("no error");
        (parts.concat(), source.expect("no error"), received, network)
    })
}

#[test]
fn ordered_bytes_come_out_of_a_network_that_reorders_and_drops() {
    let data: Vec<u8> = (0..200_000_u32).map(|i| (i.wrapping_mul(2654435761) >> 13) as u8).collect();
    for (mode, exactly_once) in
        [("ordered", false), ("ordered", true), ("go-back-n", false), ("selective-ordered", false)]
    {
        let (received, sent, target, network) = transfer(&data, &settings(mode, exactly_once));
        assert!(received == data, "{mode}: {} of {} bytes", received.len(), data.len());
        assert!(network.dropped > 0 && network.overtook > 0 && sent.resent > 0, "{network:?} {sent:?}");
        assert_eq!((target.order_violations, sent.wrong_results), (0, 0));
        assert!(target.idle && target.out_of_order > 0);
    }
}

#[test]
fn without_ordering_they_do_not() {
    let data: Vec<u8> = (0..100_000_u32).map(|i| (i.wrapping_mul(2654435761) >> 13) as u8).collect();
    let (received, _, target, _) = transfer(&data, &settings("unordered", false));
    assert!(target.order_violations > 0 && received != data);
}

/// Announcements and packets that do not have the session's token, as fast as one can send them.
fn forge(port: u16, stop: &AtomicBool) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("there is a port");
    let other = Token::random().expect("the system has random bytes");
    let mut buffer = Vec::new();
    let mut index = 0_u32;
    while !stop.load(Ordering::Relaxed) {
        for role in [datagram::Role::Target, datagram::Role::Source] {
            index = index.wrapping_sub(1);
            let part = Some((0, index, &[9; 500][..]));
            datagram::write(&mut buffer, role, &other, clock::Timestamp(u64::MAX), &Header::default(), part);
            for bytes in [&[role as u8][..], &datagram::announcement(role, &other), &buffer] {
                let _ = socket.send_to(bytes, (Ipv4Addr::LOCALHOST, port));
            }
        }
        rest();
    }
}

#[test]
fn forged_datagrams_do_not_disturb_a_transfer() {
    let data: Vec<u8> = (0..100_000_u32).map(|i| (i.wrapping_mul(2654435761) >> 13) as u8).collect();
    let (received, _, target, network) = transfer_beside(&data, &settings("ordered", true), forge);
    assert!(received == data, "{} of {} bytes", received.len(), data.len());
    assert!(network.ignored > 100, "{network:?}");
    // None of them has passed the network.
    assert_eq!((target.ignored, target.excess_bytes, network.overflowed), (0, 0, 0));
}

#[test]
fn settings_are_checked() {
    let json = |packet: u32, mode: &str| {
        format!(
            r#"{{"mode": "{mode}", "exactly_once": false, "bytes": 9000, "streams": 3, "packet_bytes": {packet},
            "outstanding": 32, "reorder_buffer": 128, "connections": 8, "timeout_us": 20000, "lifetime_us": 10000,
            "deadline_s": 60}}"#
        )
    };
    let told = |packet, mode| Settings::read(&json(packet, mode)).expect_err("it is wrong").to_string();
    assert_eq!(told(1500, "ordered"), "packet_bytes is 1500: must be from 1 to 1400");
    assert!(
        told(100, "order")
            .starts_with("unknown variant `order`, expected one of `ordered`, `source-ordered`, ")
    );
    let once = json(100, "go-back-n").replace("false", "true");
    let error = Settings::read(&once).expect_err("there are no replay buffers").to_string();
    assert!(error.starts_with("exactly_once is for the modes ordered and source-ordered"), "{error}");
    for (bytes, message) in [
        ("2", "2 bytes are too few for 3 streams: at least one for each is needed"),
        ("68719476737", "bytes is 68719476737: must be from 1 to 68719476736"),
    ] {
        let json = json(100, "ordered").replace("\"bytes\": 9000", &format!("\"bytes\": {bytes}"));
        assert_eq!(Settings::read(&json).expect_err("it is out of range").to_string(), message);
    }
    let none = json(100, "ordered").replace("\"reorder_buffer\": 128", "\"reorder_buffer\": 0");
    let error = Settings::read(&none).expect_err("there is no buffer").to_string();
    assert_eq!(error, "reorder_buffer is 0: must be from 1 to 32767");
    let space = json(100, "ordered").replace("\"outstanding\": 32", "\"outstanding\": 40000");
    let error = Settings::read(&space).expect_err("the sequence numbers do not do").to_string();
    assert!(error.starts_with("outstanding is 40000: with 16 bits of SEQ"), "{error}");
}

#[test]
fn a_port_is_taken_once() {
    let network = NETWORK;
    let first = Proxy::new(network).expect("there is a port");
    let port = first.port().expect("it is bound");
    let error = Proxy::new(ProxySettings { port, ..network }).expect_err("it is taken").to_string();
    assert!(error.starts_with(&format!("cannot bind UDP port {port}: address in use")), "{error}");
    let slow =
        Proxy::new(ProxySettings { delay_us: i64::MAX as u64, ..network }).expect_err("too slow").to_string();
    assert!(slow.starts_with("delay_us is 9223372036854775807: must be from 0 to 10000000"), "{slow}");
    let small = Proxy::new(ProxySettings { queue_bytes: 9, ..network }).expect_err("too small").to_string();
    assert_eq!(small, "queue_bytes is 9: must be from 65536 to 4294967296");
}

#[test]
fn a_source_without_target_gives_up() {
    let mut hasty = settings("ordered", false);
    (hasty.deadline_s, hasty.bytes) = (0, 3);
    let error = run_source(9, &token(), b"abc", &hasty, &AtomicBool::new(true));
    assert_eq!(error.expect_err("it was stopped").to_string(), "stopped");
    let error = run_source(9, &token(), b"ab", &hasty, &AtomicBool::new(true));
    assert_eq!(error.expect_err("it is too little").to_string(), "2 bytes, but 3 were agreed");
    let error =
        run_source(9, &token(), b"abc", &hasty, &AtomicBool::new(false)).expect_err("there is no time");
    assert_eq!(error.to_string(), "not complete after 0 s: no target");
}

/// A network that delays packets for longer than their lifetime: all are dropped.
#[test]
fn what_is_too_old_is_dropped() {
    let mut short = settings("ordered", false);
    (short.lifetime_us, short.deadline_s, short.bytes) = (1, 1, 4000);
    let proxy = Proxy::new(ProxySettings { delay_us: 1000, jitter_us: 0, loss: 0.0, ..NETWORK });
    let proxy = proxy.expect("there is a port");
    let (port, token) = (proxy.port().expect("it is bound"), proxy.token());
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let network = scope.spawn(|| proxy.run(&done));
        let target = scope.spawn(|| run_target(port, &token, &short, &done));
        let source = run_source(port, &token, &[7; 4000], &short, &AtomicBool::new(false));
        done.store(true, Ordering::Relaxed);
        let (parts, received) = target.join().expect("no panic").expect("no error");
        network.join().expect("no panic").expect("no error");
        assert_eq!(
            source.expect_err("nothing arrives").to_string(),
            "not complete after 1 s: 0 of 4000 bytes are acknowledged"
        );
        assert!(parts.concat().is_empty() && received.received == 0 && received.too_old > 0);
    });
}
