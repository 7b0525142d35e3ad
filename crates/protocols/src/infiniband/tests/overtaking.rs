//! Packets that overtake others of their connection: dropped, held, or placed at once.

use super::link::Link;
use super::{FIRST, MTU, at, byte, requester_options, responder_options, work};
use crate::infiniband::{OutOfOrder, Receive, RequesterOptions, ResponderOptions, Verb};

const MODES: [OutOfOrder; 3] = [OutOfOrder::Drop, OutOfOrder::Hold(64), OutOfOrder::Place(64)];

fn link(out_of_order: OutOfOrder) -> Link {
    let self_contained_writes = matches!(out_of_order, OutOfOrder::Place(_));
    let options = (
        RequesterOptions { self_contained_writes, ..requester_options() },
        ResponderOptions { out_of_order, ..responder_options() },
    );
    Link::new(options, FIRST, (0, 0), 1)
}

/// Nothing is lost: what is held is not retransmitted, what is dropped is.
#[test]
fn only_what_is_dropped_is_retransmitted() {
    for out_of_order in MODES {
        let mut link = link(out_of_order);
        link.overtaken = 50;
        for id in 0..10 {
            let verb = if id % 2 == 0 { Verb::Write(at(300 * id)) } else { Verb::Send };
            link.post(work(id, verb, 300));
            link.far.receives.push_back(Receive { id, length: 300 });
        }
        let mut retransmitted = 0;
        while link.requester.pending() > 0 {
            while link.requests.len() < 6 {
                let repeats = link.requester.repeats();
                if !link.send() {
                    break;
                }
                retransmitted += u32::from(repeats);
            }
            link.disturb(true);
            link.arrive();
            while link.answer() {}
            while link.return_one() {}
        }
        assert_eq!(retransmitted > 0, out_of_order == OutOfOrder::Drop, "{out_of_order:?}: {retransmitted}");
        for id in (0..10).step_by(2) {
            let data: Vec<u8> = (0..300).map(|at| byte(id, at)).collect();
            assert_eq!(link.far.region[300 * id as usize..][..300], data, "{out_of_order:?}");
        }
        assert_eq!(link.far.received.len(), 5);
    }
}

/// The second packet of a WRITE comes first: its data is in memory at once, or only after that of the first. The message is acknowledged when both are there.
#[test]
fn data_is_placed_at_once_or_in_order() {
    for (out_of_order, is_early) in MODES.into_iter().zip([false, false, true]) {
        let mut link = link(out_of_order);
        link.post(work(3, Verb::Write(at(0)), 2 * MTU));
        assert!(link.send() && link.send());
        link.requests.swap(0, 1);
        link.arrive();
        let second = MTU as usize;
        assert_eq!(link.far.region[second] == byte(3, MTU), is_early, "{out_of_order:?}");
        assert_eq!(link.responder.expected(), FIRST);
        assert_eq!(link.far.held.len(), usize::from(out_of_order != OutOfOrder::Drop));
        link.arrive();
        link.settle();
        assert_eq!(link.local.completions.len(), 1, "{out_of_order:?}");
        assert_eq!(link.far.region[second], byte(3, MTU));
    }
}

/// What is further ahead than packets can be held causes a NAK.
#[test]
fn what_finds_no_place_is_refused() {
    for (window, is_refused) in [(2, true), (3, false)] {
        let mut link = link(OutOfOrder::Hold(window));
        link.post(work(1, Verb::Write(at(0)), 3 * MTU));
        assert!(link.send() && link.send() && link.send());
        link.requests.rotate_left(2);
        link.arrive();
        assert_eq!(link.responder.peek().is_some(), is_refused, "{window}");
        link.settle();
        assert_eq!(link.local.completions.len(), 1);
    }
}
