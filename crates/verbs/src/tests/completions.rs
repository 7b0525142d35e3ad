//! Completion queues: order, overflow, unsignaled requests, and the race of the tutorial's section III-D.

use fabricsim_protocols::infiniband::{Extra, QueuePairState, Status};
use fabricsim_units::Time;
use fabricsim_wire::ids::Qpn;
use proptest::prelude::*;

use super::{Pair, connected, remote, sge};
use crate::completion::CompletionQueue;
use crate::{AsyncEvent, Capacities, Costs, Errno, ReceiveRequest, SendRequest, WcOpcode, WorkCompletion};

fn entry(wr_id: u64, visible: Time, solicited: bool) -> WorkCompletion {
    WorkCompletion {
        wr_id,
        status: Status::Success,
        opcode: WcOpcode::Recv,
        byte_len: 0,
        qp_num: Qpn(2),
        source: None,
        has_grh: false,
        extra: Extra::None,
        solicited,
        visible,
    }
}

/// Section III-G: requests without completion stay in the send queue until a completion after them is polled.
#[test]
fn unsignaled_requests_fill_the_send_queue() {
    let mut pair = Pair::new(Costs::LEAST);
    let [a, b] = connected(&mut pair, Capacities { send: 4, ..Capacities::default() });
    let post = |pair: &mut Pair, wr_id, signaled| {
        let request = SendRequest { signaled, ..SendRequest::write(wr_id, sge(&a, 0, 4), remote(&b, 0)) };
        pair.devices[0].post_send(a.qp, request, pair.now)
    };
    for wr_id in 0..4 {
        post(&mut pair, wr_id, wr_id == 3).unwrap();
        pair.run(Time::us(10 * (wr_id + 1)));
    }
    let error = post(&mut pair, 4, true).unwrap_err();
    assert_eq!(error.errno, Errno::NoMem);
    assert!(
        error.message.contains("unsignaled requests need a later signaled one (")
            || error.message.contains("signaled"),
        "{error}"
    );
    // All four are done, and one completion tells it.
    let done = pair.poll(0, a.cq);
    assert_eq!(done.iter().map(|done| done.wr_id).collect::<Vec<_>>(), [3]);
    for wr_id in 4..8 {
        post(&mut pair, wr_id, false).unwrap();
    }
    pair.run(Time::us(1000));
    // Without a signaled one nothing frees the queue.
    assert!(pair.poll(0, a.cq).is_empty());
    assert!(post(&mut pair, 8, true).is_err());
}

#[test]
fn a_full_completion_queue_is_an_asynchronous_error() {
    let mut pair = Pair::new(Costs::LEAST);
    let [a, b] = connected(&mut pair, Capacities::default());
    for wr_id in 0..300 {
        while pair.devices[1]
            .post_recv(b.qp, ReceiveRequest { wr_id, list: sge(&b, 0, 4) }, pair.now)
            .is_err()
        {
            pair.run(pair.now + Time::us(1));
        }
        let request = SendRequest { signaled: wr_id % 100 == 99, ..SendRequest::send(wr_id, sge(&a, 0, 4)) };
        while pair.devices[0].post_send(a.qp, request.clone(), pair.now).is_err() {
            pair.run(pair.now + Time::us(1));
            pair.poll(0, a.cq);
        }
    }
    pair.run(pair.now + Time::us(1000));
    let received = pair.poll(1, b.cq);
    assert_eq!(received.len(), 256);
    assert!(received.iter().enumerate().all(|(number, done)| done.wr_id == number as u64));
    let events: Vec<_> = std::iter::from_fn(|| pair.devices[1].async_event()).collect();
    assert!(events.contains(&AsyncEvent::CompletionQueueError(b.cq)), "{events:?}");
    assert!(events.ends_with(&[AsyncEvent::QueuePairFatal(b.qp)]), "{events:?}");
    assert_eq!(pair.devices[1].state(b.qp), Ok(QueuePairState::Error));
}

#[test]
fn completions_keep_their_order() {
    let mut queue = CompletionQueue::new(8);
    queue.add(entry(1, Time::ns(50), false), None);
    queue.add(entry(2, Time::ns(20), false), None);
    assert_eq!(queue.poll(Time::ns(49)), None);
    let both: Vec<u64> =
        std::iter::from_fn(|| queue.poll(Time::ns(50))).map(|(done, _)| done.wr_id).collect();
    assert_eq!(both, [1, 2]);
}

#[test]
fn events_come_once_for_a_request_and_if_asked_for_solicited_ones_only() {
    let mut queue = CompletionQueue::new(8);
    queue.add(entry(1, Time::ns(10), false), None);
    assert_eq!(queue.next_event(), None, "no request was made");
    queue.request_event(true, Time::ns(10));
    queue.add(entry(2, Time::ns(20), false), None);
    assert_eq!(queue.next_event(), None);
    queue.add(entry(3, Time::ns(30), true), None);
    queue.add(entry(4, Time::ns(40), true), None);
    assert!(!queue.take_event(Time::ns(29)) && queue.take_event(Time::ns(30)));
    assert_eq!(queue.next_event(), None, "one request, one event");
}

proptest! {
    /// The program of section III-D: request an event, poll until the queue is empty, wait for the event. A completion may come between any
    /// two of its steps; there are wake-ups that find nothing, and no completion is left behind while it sleeps.
    #[test]
    fn no_completion_is_missed_by_a_program_that_polls_after_its_request(
        gaps in prop::collection::vec(0_u64..7, 1..40),
        steps in prop::collection::vec(1_u64..5, 200),
    ) {
        let mut queue = CompletionQueue::new(100);
        let mut times = gaps.iter().scan(0, |time, gap| { *time += gap; Some(*time) }).collect::<Vec<_>>().into_iter().peekable();
        let (mut now, mut polled, mut number) = (0, 0, 0);
        let mut steps = steps.into_iter().cycle();
        let mut arrive = |queue: &mut CompletionQueue, until: u64| {
            while let Some(at) = times.next_if(|&at| at <= until) {
                queue.add(entry(number, Time(at), false), None);
                number += 1;
            }
        };
        while polled < gaps.len() {
            queue.request_event(false, Time(now));
            now += steps.next().unwrap_or(1);
            arrive(&mut queue, now);
            while queue.poll(Time(now)).is_some() {
                polled += 1;
                now += steps.next().unwrap_or(1);
                arrive(&mut queue, now);
            }
            if polled == gaps.len() {
                break;
            }
            // It sleeps until the event.
            for _ in 0..1000 {
                if queue.next_event().is_some() {
                    break;
                }
                now += 1;
                arrive(&mut queue, now);
            }
            let event = queue.next_event();
            prop_assert!(event.is_some(), "asleep for ever with {} of {} polled", polled, gaps.len());
            now = now.max(event.map_or(0, |at| at.0));
            prop_assert!(queue.take_event(Time(now)));
        }
    }
}

/// The control of the property: a program that polls before its request, and not after it, sleeps for ever.
#[test]
fn a_program_that_polls_before_its_request_only_misses_completions() {
    let mut queue = CompletionQueue::new(8);
    assert_eq!(queue.poll(Time(0)), None);
    queue.add(entry(1, Time(1), false), None);
    queue.request_event(false, Time(1));
    assert_eq!(queue.next_event(), None);
}

#[test]
fn a_destroyed_queue_pair_leaves_no_completions() {
    let mut pair = Pair::new(Costs::LEAST);
    let [a, b] = connected(&mut pair, Capacities::default());
    pair.devices[0].post_send(a.qp, SendRequest::write(1, sge(&a, 0, 4), remote(&b, 0)), Time::ZERO).unwrap();
    pair.run(Time::us(100));
    let error = pair.devices[0].destroy_cq(a.cq).unwrap_err();
    assert_eq!(error.errno, Errno::Busy);
    pair.devices[0].destroy_qp(a.qp).unwrap();
    assert!(pair.poll(0, a.cq).is_empty());
    assert!(pair.devices[0].state(a.qp).is_err());
    pair.devices[0].destroy_cq(a.cq).unwrap();
    assert_eq!(pair.devices[1].state(b.qp).unwrap(), QueuePairState::ReadyToSend);
}
