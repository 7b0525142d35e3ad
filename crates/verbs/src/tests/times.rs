//! Times of the stages of a message, against sums by hand.

use fabricsim_units::{Rate, Time};

use super::pair::{LATENCY, WIRE};
use super::{Pair, connected, remote, sge};
use crate::{Capacities, Costs, ReceiveRequest, SendRequest, TranslationCosts};

/// Costs of which every sum tells its parts.
fn costs() -> Costs {
    Costs {
        post: Time::ns(1),
        post_receive: Time::ns(3),
        poll: Time::ns(2),
        doorbell: Time::ns(1_000),
        request_fetch: Time::ZERO,
        payload_fetch: Time::ns(20_000),
        bus: Rate::new(8_000_000_000).map(Rate::byte_time).unwrap_or_default(),
        message: Time::ZERO,
        packet: Time::ns(7),
        receive: Time::us(300),
        payload_write: Time::ms(4),
        completion: Time::ms(50),
        wake_up: Time::ms(600),
        unaligned: 2,
        max_inline: 256,
        translation: None,
    }
}

fn pair() -> (Pair, [super::pair::End; 2]) {
    let mut pair = Pair::new(costs());
    let ends = connected(&mut pair, Capacities { inline: 128, ..Capacities::default() });
    (pair, ends)
}

#[test]
fn a_write_passes_the_stages_one_after_the_other() {
    let (mut pair, [a, b]) = pair();
    pair.devices[1].watch(b.mr).unwrap();
    let request = SendRequest::write(5, sge(&a, 0, 64), remote(&b, 0));
    pair.devices[0].post_send(a.qp, request, Time::ZERO).unwrap();
    pair.run(Time::ms(5000));
    // Doorbell, 64 bytes over the bus, fetch; the wire; execution and write.
    let executed = Time::ns(1_000 + 64 + 20_000) + WIRE + LATENCY;
    assert_eq!(pair.devices[1].next_write(b.mr), Some(executed + Time::us(300) + Time::ms(4)));
    // The acknowledgement is sent when the packet is executed.
    let acknowledged = executed + Time::us(300) + WIRE + LATENCY;
    let done = pair.poll(0, a.cq);
    assert_eq!((done.len(), done[0].wr_id), (1, 5));
    assert_eq!(done[0].visible, acknowledged + Time::us(300) + Time::ms(50));
}

/// Of messages that follow each other faster than they are executed each is acknowledged when it has been executed itself.
#[test]
fn a_message_is_acknowledged_when_it_has_been_executed() {
    let mut pair = Pair::new(Costs { packet: Time::ns(4), ..costs() });
    let [a, b] = connected(&mut pair, Capacities { inline: 128, ..Capacities::default() });
    for id in 0..3 {
        let write = SendRequest::write(id, Vec::new(), remote(&b, 0));
        let request = SendRequest { inline: Some(vec![9; 64]), ..write };
        pair.devices[0].post_send(a.qp, request, Time::ZERO).unwrap();
    }
    pair.run(Time::ms(5000));
    let done = pair.poll(0, a.cq);
    let way = Time::ns(1_000 + 4) + LATENCY + Time::us(300) + WIRE + LATENCY + Time::us(300) + Time::ms(50);
    let visible: Vec<Time> = done.iter().map(|done| done.visible).collect();
    assert_eq!(visible, [1, 2, 3].map(|packets| WIRE * packets + way));
}

#[test]
fn inline_data_is_not_fetched() {
    let (mut pair, [a, b]) = pair();
    pair.devices[1].watch(b.mr).unwrap();
    let request =
        SendRequest { inline: Some(vec![9; 64]), ..SendRequest::write(5, Vec::new(), remote(&b, 3)) };
    pair.devices[0].post_send(a.qp, request, Time::ZERO).unwrap();
    pair.run(Time::ms(5000));
    let executed = Time::ns(1_000 + 7) + WIRE + LATENCY;
    assert_eq!(pair.devices[1].next_write(b.mr), Some(executed + Time::us(300) + Time::ms(4)));
    assert_eq!(pair.devices[1].read_memory(b.mr, 2, 66).unwrap(), [&[0][..], &[9; 64], &[0]].concat());
}

#[test]
fn a_read_takes_the_way_there_and_back_and_the_fetch_there() {
    let (mut pair, [a, b]) = pair();
    pair.devices[1].write_memory(b.mr, 128, &[7; 100]).unwrap();
    pair.devices[0]
        .post_send(a.qp, SendRequest::read(5, sge(&a, 0, 100), remote(&b, 128)), Time::ZERO)
        .unwrap();
    pair.run(Time::ms(5000));
    // The request has no payload. The responder reads two lines of 64 bytes.
    let executed = Time::ns(1_000 + 7) + WIRE + LATENCY + Time::us(300);
    let back = executed + Time::ns(128 + 20_000) + WIRE + LATENCY;
    let done = pair.poll(0, a.cq);
    assert_eq!(done[0].visible, back + Time::us(300) + Time::ms(4) + Time::ms(50));
    assert_eq!(pair.devices[0].read_memory(a.mr, 0, 101).unwrap(), [&[7; 100][..], &[0]].concat());
}

#[test]
fn a_send_has_completions_at_both_ends() {
    let (mut pair, [a, b]) = pair();
    pair.devices[1].post_recv(b.qp, ReceiveRequest { wr_id: 8, list: sge(&b, 0, 500) }, Time::ZERO).unwrap();
    pair.devices[0].post_send(a.qp, SendRequest::send(5, sge(&a, 0, 64)), Time::ZERO).unwrap();
    pair.run(Time::ms(5000));
    let executed = Time::ns(1_000 + 64 + 20_000) + WIRE + LATENCY + Time::us(300);
    let received = pair.poll(1, b.cq);
    assert_eq!((received[0].wr_id, received[0].byte_len), (8, 64));
    assert_eq!(received[0].visible, executed + Time::ms(4) + Time::ms(50));
}

#[test]
fn unaligned_memory_is_fetched_twice() {
    let time = |offset| {
        let (mut pair, [a, b]) = pair();
        pair.devices[1].watch(b.mr).unwrap();
        let request = SendRequest::write(5, sge(&a, offset, 1024), remote(&b, 0));
        pair.devices[0].post_send(a.qp, request, Time::ZERO).unwrap();
        pair.run(Time::ms(5000));
        pair.devices[1].next_write(b.mr).unwrap()
    };
    assert_eq!(time(32), time(64) + Time::ns(1024));
}

/// The next packet is fetched while one is sent: a long message takes the time of the slowest stage for each packet.
#[test]
fn stages_work_at_the_same_time() {
    let (mut pair, [a, b]) = pair();
    pair.devices[1].watch(b.mr).unwrap();
    let request = SendRequest::write(5, sge(&a, 0, 8 * 1024), remote(&b, 0));
    pair.devices[0].post_send(a.qp, request, Time::ZERO).unwrap();
    pair.run(Time::ms(5000));
    let executed = Time::ns(1_000 + 8 * 1024 + 20_000) + WIRE + LATENCY;
    assert_eq!(pair.devices[1].next_write(b.mr), Some(executed + Time::us(300) + Time::ms(4)));
}

/// Pages of memory that are not in the cache are looked for one after the other, at either end. Those that were used before are known.
#[test]
fn unknown_pages_are_looked_for_at_both_ends() {
    const MISS: Time = Time::us(70);
    let translation = Some(TranslationCosts { entries: 64, page: 4096, miss: MISS });
    let mut pair = Pair::new(Costs { translation, ..costs() });
    let ends @ [a, b] = connected(&mut pair, Capacities { inline: 128, ..Capacities::default() });
    pair.devices[1].watch(b.mr).unwrap();
    let stages = Time::ns(1_000 + 1024 + 20_000) + WIRE + LATENCY + Time::us(300) + Time::ms(4);
    // Across the border of two pages at the sender, in one page at the receiver; then the same again.
    for misses in [3, 0] {
        let begun = pair.now;
        let request = SendRequest::write(5, sge(&a, 3584, 1024), remote(&b, 0));
        pair.devices[0].post_send(a.qp, request, begun).unwrap();
        pair.run(begun + Time::ms(1000));
        let at = pair.devices[1].next_write(b.mr).unwrap();
        assert_eq!(at, begun + Time(misses * MISS.0) + stages);
        // The next packet is read while this one waits for its page, but for the time that reading takes.
        let read = Time::us(300);
        assert_eq!(pair.devices[1].accepts_from() + read + Time::ms(4), at);
        assert!(pair.devices[1].take_write(b.mr, pair.now).unwrap());
        pair.poll(0, ends[0].cq);
    }
    let counts = [0, 1].map(|host| pair.devices[host].counters());
    assert_eq!(counts.map(|of| (of.translations, of.translation_misses)), [(4, 2), (2, 1)]);
}

/// The responder of a READ looks for its pages before it fetches, the requester before it writes and completes.
#[test]
fn a_read_looks_for_pages_at_both_ends() {
    const MISS: Time = Time::us(70);
    let translation = Some(TranslationCosts { entries: 64, page: 4096, miss: MISS });
    let mut pair = Pair::new(Costs { translation, ..costs() });
    let [a, b] = connected(&mut pair, Capacities { inline: 128, ..Capacities::default() });
    pair.devices[0]
        .post_send(a.qp, SendRequest::read(5, sge(&a, 0, 100), remote(&b, 128)), Time::ZERO)
        .unwrap();
    pair.run(Time::ms(5000));
    let executed = Time::ns(1_000 + 7) + WIRE + LATENCY + Time::us(300);
    let back = executed + MISS + Time::ns(128 + 20_000) + WIRE + LATENCY;
    let done = pair.poll(0, a.cq);
    assert_eq!(done[0].visible, back + Time::us(300) + MISS + Time::ms(4) + Time::ms(50));
}

#[test]
fn a_work_request_is_fetched_after_the_doorbell() {
    let mut pair = Pair::new(Costs { request_fetch: Time::us(90), ..costs() });
    let [a, b] = connected(&mut pair, Capacities { inline: 128, ..Capacities::default() });
    pair.devices[1].watch(b.mr).unwrap();
    let request = SendRequest::write(5, sge(&a, 0, 64), remote(&b, 0));
    pair.devices[0].post_send(a.qp, request, Time::ZERO).unwrap();
    pair.run(Time::ms(5000));
    let executed = Time::ns(1_000 + 90_000 + 64 + 20_000) + WIRE + LATENCY;
    assert_eq!(pair.devices[1].next_write(b.mr), Some(executed + Time::us(300) + Time::ms(4)));
}
