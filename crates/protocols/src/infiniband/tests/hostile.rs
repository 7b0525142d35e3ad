//! Packets with any headers.

use fabricsim_wire::headers::{Bth, Headers, Opcode};
use proptest::prelude::*;

use super::link::Link;
use super::{FIRST, MTU, at, requester_options, responder_options, work};
use crate::infiniband::{Receive, Verb};

proptest! {
    /// Any packets between those of a connection: no panic, and nothing is written outside of the region.
    #[test]
    fn any_packets_do_no_harm(
        packets in prop::collection::vec((any::<[u8; 52]>(), 0_u8..26, -3_i32..6, 0..=MTU, any::<bool>()), 1..60),
    ) {
        let mut link = Link::new((requester_options(), responder_options()), FIRST, (0, 0), 1);
        link.far.receives.extend((0..9).map(|id| Receive { id, length: 600 }));
        link.post(work(1, Verb::Read(at(0)), 1000));
        link.post(work(2, Verb::Send, 600));
        while link.send() {}
        for (mut bytes, operation, ahead, length, is_request) in packets {
            bytes[0] = operation;
            let Ok(mut headers) = Headers::parse(&bytes) else { continue };
            headers.bth = Bth { opcode: Opcode(operation), psn: FIRST + ahead as u32, ..headers.bth };
            let queue = if is_request { &mut link.requests } else { &mut link.responses };
            queue.push_back((headers, vec![7; length as usize]));
            link.arrive();
            link.answer();
            link.return_one();
        }
        link.settle();
        let ended: Vec<u64> = link.local.completions.iter().map(|done| done.id).collect();
        prop_assert!([&[][..], &[1], &[1, 2]].contains(&&ended[..]), "{ended:?}");
    }
}
