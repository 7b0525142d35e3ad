//! [`Device::changes`], by which a scheduler knows that nothing has come for programs.

use fabricsim_units::Time;
use proptest::prelude::*;

use super::pair::End;
use super::{Pair, connected, remote, sge};
use crate::{AsyncEvent, Capacities, Costs, Device, ReceiveRequest, SendRequest};

fn changes(pair: &Pair) -> [u64; 2] {
    [0, 1].map(|host| pair.devices[host].changes())
}

/// What a program of an end may wait for: the times of the next completion and of the next WRITE to its memory.
fn awaited(device: &Device, end: &End) -> (Option<Time>, Option<Time>) {
    (device.next_completion(end.cq).unwrap(), device.next_write(end.mr))
}

/// Messages of two packets each. Those that no program waits for are not counted, the others once.
#[test]
fn messages_count_and_not_their_packets() {
    let mut pair = Pair::new(Costs::LEAST);
    let [a, b] = connected(&mut pair, Capacities::default());
    let unseen = |request: SendRequest| SendRequest { signaled: false, ..request };
    let post = |pair: &mut Pair, request: SendRequest| {
        pair.devices[0].post_send(a.qp, request, pair.now).unwrap();
        pair.run(pair.now + Time::us(100));
        changes(pair)
    };
    let write = || SendRequest::write(1, sge(&a, 0, 1500), remote(&b, 0));
    let [first, second] = changes(&pair);
    assert_eq!(post(&mut pair, unseen(write())), [first, second]);
    assert_eq!(post(&mut pair, write()), [first + 1, second]);
    pair.devices[1].watch(b.mr).unwrap();
    assert_eq!(post(&mut pair, unseen(write())), [first + 1, second + 1]);
    pair.devices[1].post_recv(b.qp, ReceiveRequest { wr_id: 2, list: sge(&b, 0, 1500) }, pair.now).unwrap();
    assert_eq!(changes(&pair), [first + 1, second + 1]);
    assert_eq!(post(&mut pair, unseen(SendRequest::send(3, sge(&a, 0, 1500)))), [first + 1, second + 2]);
    // What programs do themselves is no change.
    assert_eq!((pair.poll(0, a.cq).len(), pair.poll(1, b.cq).len()), (1, 1));
    assert_eq!(changes(&pair), [first + 1, second + 2]);
}

/// While there is an asynchronous event that has not been taken, every packet counts, in numbers that others never have.
#[test]
fn with_asynchronous_events_each_packet_counts() {
    let mut pair = Pair::new(Costs::LEAST);
    let [a, b] = connected(&mut pair, Capacities::default());
    let send = |pair: &mut Pair| {
        let list = sge(&b, 0, 4);
        while pair.devices[1]
            .post_recv(b.qp, ReceiveRequest { wr_id: 0, list: list.clone() }, pair.now)
            .is_err()
        {
            pair.run(pair.now + Time::us(1));
        }
        pair.devices[0].post_send(a.qp, SendRequest::send(0, sge(&a, 0, 4)), pair.now).unwrap();
        pair.run(pair.now + Time::us(100));
        pair.poll(0, a.cq);
    };
    // The queue of the receiver has 256 places.
    for _ in 0..256 {
        send(&mut pair);
    }
    let before = pair.devices[1].changes();
    assert!(before < 1 << 63);
    send(&mut pair);
    let full = pair.devices[1].changes();
    assert!(full > 1 << 63);
    let write = SendRequest { signaled: false, ..SendRequest::write(1, sge(&a, 0, 4), remote(&b, 0)) };
    pair.devices[0].post_send(a.qp, write, pair.now).unwrap();
    pair.run(pair.now + Time::us(100));
    assert!(pair.devices[1].changes() > full);
    assert_eq!(pair.devices[1].async_event(), Some(AsyncEvent::CompletionQueueError(b.cq)));
    while pair.devices[1].async_event().is_some() {}
    assert_eq!(pair.devices[1].changes(), before + 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// From one step to the next, nothing that a program waits for changes unless the number does.
    #[test]
    fn equal_numbers_mean_that_nothing_has_come(
        messages in prop::collection::vec((0_u8..3, 1_u32..4000, any::<bool>()), 1..12),
        is_watched in any::<bool>(),
        lost in 0_u64..20,
        seed in any::<u64>(),
    ) {
        let mut pair = Pair::new(Costs::LEAST).with_loss(lost, seed);
        let ends @ [a, b] = connected(&mut pair, Capacities::default());
        if is_watched {
            pair.devices[1].watch(b.mr).unwrap();
        }
        for &(kind, length, signaled) in &messages {
            let list = sge(&a, 0, length);
            let request = match kind {
                0 => SendRequest::write(1, list, remote(&b, 0)),
                1 => SendRequest::read(1, list, remote(&b, 0)),
                _ => {
                    let receive = ReceiveRequest { wr_id: 1, list: sge(&b, 0, 4000) };
                    pair.devices[1].post_recv(b.qp, receive, Time::ZERO).unwrap();
                    SendRequest::send(1, list)
                }
            };
            pair.devices[0].post_send(a.qp, SendRequest { signaled, ..request }, Time::ZERO).unwrap();
        }
        let mut seen = 0;
        let mut before = ([0; 2], [(None, None); 2]);
        for step in 0..2000 {
            pair.run(Time::ns(20 * step));
            let found = (changes(&pair), [0, 1].map(|host| awaited(&pair.devices[host], &ends[host])));
            for host in 0..2 {
                seen += usize::from(found.1[host] != before.1[host]);
                prop_assert!(found.0[host] != before.0[host] || found.1[host] == before.1[host]);
            }
            before = found;
        }
        let is_seen = |&(kind, _, signaled): &(u8, u32, bool)| signaled || kind == 2 || (kind == 0 && is_watched);
        prop_assert!(seen == 0 || messages.iter().any(is_seen));
    }
}
