use std::net::Ipv4Addr;

use proptest::prelude::*;

use super::*;
use crate::tests::token;

const SETTINGS: ProxySettings =
    ProxySettings { port: 0, delay_us: 100, jitter_us: 0, loss: 0.0, seed: 1, queue_bytes: 1 << 16 };

fn at(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

fn datagram(role: Role, length: usize) -> Vec<u8> {
    let mut bytes = datagram::announcement(role, &token()).to_vec();
    bytes.resize(bytes.len() + length, 0);
    bytes
}

/// Memory of the delayed datagrams.
fn memory(network: &Network) -> u64 {
    let bytes: usize = network.queue.iter().map(|Reverse(next)| next.bytes.len()).sum();
    (bytes + network.queue.capacity() * size_of::<Reverse<Delayed>>()) as u64
}

#[test]
fn it_listens_on_the_loopback_address_only() {
    let proxy = Proxy::new(SETTINGS).expect("there is a port");
    assert!(proxy.socket.local_addr().expect("it is bound").ip().is_loopback());
    assert!(port::open(0).expect("there is a port").local_addr().expect("it is bound").ip().is_loopback());
}

#[test]
fn one_byte_takes_no_place() {
    let mut network = Network::new(SETTINGS, token());
    for byte in 0..=255 {
        assert!(!network.take(Time::ZERO, at(9), &[byte]));
    }
    assert_eq!((network.source, network.target, network.report.ignored), (None, None, 256));
}

#[test]
fn a_place_is_that_of_the_first_address_with_the_token() {
    let mut network = Network::new(SETTINGS, token());
    assert!(!network.take(Time::ZERO, at(1), &datagram(Role::Source, 0)));
    assert!(!network.take(Time::ZERO, at(2), &datagram(Role::Target, 0)));
    assert!(network.take(Time::ZERO, at(1), &datagram(Role::Source, 0)));
    for (from, role) in [(3, Role::Source), (1, Role::Target), (2, Role::Source)] {
        assert!(!network.take(Time::ZERO, at(from), &datagram(role, 0)));
        assert!(!network.take(Time::ZERO, at(from), &datagram(role, 50)));
    }
    assert_eq!((network.source, network.target), (Some(at(1)), Some(at(2))));
    assert_eq!((network.report.ignored, network.queue.len()), (6, 0));
    network.take(Time::ZERO, at(1), &datagram(Role::Source, 50));
    assert!(network.next(Time::us(99)).is_none());
    let (to, bytes) = network.next(Time::us(100)).expect("it is due");
    assert_eq!((to, &bytes[..]), (Some(at(2)), &datagram(Role::Source, 50)[..]));
}

#[test]
fn a_full_queue_drops_and_recovers() {
    let mut network = Network::new(SETTINGS, token());
    for _ in 0..1000 {
        network.take(Time::ZERO, at(1), &datagram(Role::Source, 1000));
    }
    let queued = network.queue.len() as u64;
    assert!(queued > 40 && network.report.overflowed == 1000 - queued, "{queued}");
    while network.next(Time::ms(1)).is_some() {}
    assert_eq!((network.report.forwarded, network.queued_bytes), (queued, 0));
    network.take(Time::ms(1), at(1), &datagram(Role::Source, 1000));
    assert_eq!(network.queue.len(), 1);
}

proptest! {
    /// Any bytes from any address: no panic, no place without the token, and never more memory than `queue_bytes`.
    #[test]
    fn any_bytes_stay_within_the_bound(
        datagrams in prop::collection::vec((
            1_u16..5, 0_u8..3, prop::collection::vec(any::<u8>(), 0..=MAX_DATAGRAM + 9), 1_usize..40), 0..20),
    ) {
        let mut network = Network::new(SETTINGS, token());
        let mut presented = false;
        for (port, kind, rest, copies) in datagrams {
            let bytes = match kind {
                0 => rest,
                1 => [&datagram(Role::Source, 0)[..], &rest].concat(),
                _ => [&datagram(Role::Target, 0)[..], &rest].concat(),
            };
            presented |= kind > 0;
            for _ in 0..copies {
                network.take(Time::ZERO, at(port), &bytes);
                prop_assert!(memory(&network) <= SETTINGS.queue_bytes);
            }
            prop_assert!(presented || (network.source, network.target) == (None, None));
        }
    }
}
