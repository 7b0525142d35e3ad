use fabricsim_protocols::ordering::{Cid, Flags, Kind, Seq, Transfer};
use proptest::prelude::*;

use super::*;
use crate::clock::Timestamp;
use crate::tests::{any_header, settings, token};

/// Memory of a target that grows with datagrams.
fn memory(receiver: &Receiver<'_>) -> usize {
    let streams = &receiver.memory.streams;
    streams.iter().map(|stream| stream.bytes.capacity() + stream.seen.capacity()).sum::<usize>()
        + receiver.memory.answers.capacity() * size_of::<Header>()
        + receiver.memory.done.capacity() * size_of::<(Ticket, u64)>()
}

/// The bound: the agreed bytes, a flag for each part, and an answer for each packet that the reorder buffer can release
/// at once, by doubling.
fn bound(settings: &Settings) -> usize {
    let parts: u32 = (0..settings.streams).map(|stream| settings.parts(stream)).sum();
    let released = 2 * (usize::from(settings.reorder_buffer) + 4);
    settings.bytes as usize + parts as usize + released * (size_of::<Header>() + size_of::<(Ticket, u64)>())
}

fn req(transfer: Transfer, seq: u16, part: (u16, u32, &[u8])) -> Vec<u8> {
    let mut buffer = Vec::new();
    let header = Header { kind: Kind::Req, transfer, cid: Cid(1), seq: Seq(seq), ..Header::default() };
    let header = Header { flags: Flags::SYN, ..header };
    datagram::write(&mut buffer, Role::Source, &token(), Timestamp(u64::MAX), &header, Some(part));
    buffer
}

#[test]
fn two_datagrams_far_ahead_allocate_nothing() {
    let (settings, token, clock) = (settings("unordered", false), token(), Clock::start());
    let mut receiver = Receiver::new(&settings, &token).expect("they are good");
    let before = memory(&receiver);
    for index in [u32::MAX - 1, u32::MAX] {
        receiver.take(&req(Transfer::Unordered, 0, (0, index, &[0; 500])), &clock, Time::ZERO);
    }
    assert_eq!((receiver.report.ignored, memory(&receiver)), (2, before));
    assert!(receiver.finish().0.concat().is_empty());
}

#[test]
fn parts_have_the_agreed_number_and_length() {
    let (mut settings, token, clock) = (settings("unordered", false), token(), Clock::start());
    // Three streams of 1000, 1000 and 1001 bytes, in parts of 500.
    settings.bytes = 3001;
    let good = [(0, 0, 500), (0, 1, 500), (2, 0, 500), (2, 1, 500), (2, 2, 1)];
    let bad =
        [(0, 0, 499), (0, 0, 501), (0, 2, 500), (0, 2, 0), (2, 2, 500), (2, 3, 1), (3, 0, 500), (0, 1, 0)];
    for (parts, ignored) in [(&good[..], 0), (&bad[..], 1)] {
        for &(stream, index, length) in parts {
            let mut receiver = Receiver::new(&settings, &token).expect("they are good");
            let datagram = req(Transfer::Unordered, 0, (stream, index, &vec![1; length]));
            receiver.take(&datagram, &clock, Time::ZERO);
            assert_eq!(receiver.report.ignored, ignored, "{stream} {index} {length}");
            assert_eq!(receiver.finish().0.concat().len(), if ignored == 0 { length } else { 0 });
        }
    }
}

#[test]
fn copies_beyond_the_agreed_bytes_are_counted_and_not_kept() {
    let (settings, token, clock) = (settings("unordered", false), token(), Clock::start());
    let mut receiver = Receiver::new(&settings, &token).expect("they are good");
    let before = memory(&receiver);
    let parts = settings.parts(0);
    for round in 0..5 {
        for index in 0..parts {
            let length = settings.part_bytes(0, index).expect("it is agreed") as usize;
            let datagram = req(Transfer::Unordered, index as u16, (0, index, &vec![round; length]));
            receiver.take(&datagram, &clock, Time::ZERO);
            receiver.memory.answers.clear();
        }
    }
    assert!(memory(&receiver) <= before + 1024);
    let agreed = settings.stream(0);
    let (streams, report) = receiver.finish();
    assert_eq!(streams[0].len() as u64, agreed.end - agreed.start);
    assert_eq!(report.excess_bytes, 4 * (agreed.end - agreed.start));
    assert!(report.order_violations > 0);
}

#[test]
fn a_transfer_for_which_there_is_no_memory_is_an_error() {
    let mut settings = settings("ordered", false);
    // More than an allocation can have.
    (settings.bytes, settings.streams) = (u64::MAX, 1);
    let token = token();
    let error = Receiver::new(&settings, &token).err().expect("no machine has so much").to_string();
    assert_eq!(error, format!("cannot allocate memory for a transfer of {} bytes", settings.bytes));
}

#[test]
fn datagrams_without_the_token_are_ignored() {
    let (settings, token, clock) = (settings("ordered", false), token(), Clock::start());
    let mut receiver = Receiver::new(&settings, &token).expect("they are good");
    let good = req(Transfer::Ordered, 0, (0, 0, &[1; 500]));
    for at in 0..datagram::PREFIX {
        let mut forged = good.clone();
        forged[at] ^= 1;
        receiver.take(&forged, &clock, Time::ZERO);
    }
    assert_eq!(receiver.report.ignored, datagram::PREFIX as u64);
    receiver.take(&good, &clock, Time::ZERO);
    assert_eq!(receiver.finish().1.received, 1);
}

/// A synchronization operation that arrives before the data that it counts is carried out after it, and nothing stays behind.
#[test]
fn a_synchronization_operation_that_was_held_is_carried_out() {
    let (settings, token, clock) = (settings("ordered", false), token(), Clock::start());
    let mut receiver = Receiver::new(&settings, &token).expect("they are good");
    let mut buffer = Vec::new();
    for (seq, flags, word, index) in [(1, Flags::LAST, 2, 1), (0, Flags::SYN, 0, 0)] {
        let (kind, transfer) = (Kind::Req, Transfer::Synchronized);
        let header = Header { kind, transfer, flags, cid: Cid(1), seq: Seq(seq), word, ..Header::default() };
        let part = Some((0, index, &[1; 500][..]));
        datagram::write(&mut buffer, Role::Source, &token, Timestamp(u64::MAX), &header, part);
        receiver.take(&buffer, &clock, Time::ZERO);
    }
    let answered: Vec<_> = receiver.memory.answers.iter().map(|answer| (answer.kind, answer.seq)).collect();
    assert_eq!(answered, [(Kind::Ack, Seq(0)), (Kind::Ack, Seq(1))]);
    let report = receiver.finish().1;
    assert_eq!((report.delivered, report.order_violations), (2, 0));
}

proptest! {
    /// Any bytes, with and without the token: no panic, and never more memory than the bound.
    #[test]
    fn any_bytes_stay_within_the_bound(
        mode in prop::sample::select(vec!["ordered", "unordered", "go-back-n", "selective", "selective-ordered"]),
        datagrams in prop::collection::vec(
            (any::<bool>(), prop::collection::vec(any::<u8>(), 0..=MAX_DATAGRAM + 9)), 0..20),
    ) {
        let (settings, token, clock) = (settings(mode, false), token(), Clock::start());
        let mut receiver = Receiver::new(&settings, &token).expect("they are good");
        for (has_token, mut bytes) in datagrams {
            if has_token {
                bytes.splice(0..0, datagram::announcement(Role::Source, &token));
            }
            receiver.take(&bytes, &clock, Time::ZERO);
            prop_assert!(memory(&receiver) <= bound(&settings));
            receiver.memory.answers.clear();
        }
    }

    /// Any headers and parts from a sender that has the token: no panic, and never more memory than the bound.
    #[test]
    fn any_headers_stay_within_the_bound(
        exactly_once: bool,
        packets in prop::collection::vec((any_header(), 0_u16..4, 0_u32..12, 0_usize..3), 0..200),
    ) {
        let (mut settings, token, clock) = (settings("ordered", exactly_once), token(), Clock::start());
        (settings.reorder_buffer, settings.connections, settings.outstanding) = (4, 2, 4);
        settings.bytes = 3 * 4100;
        let mut receiver = Receiver::new(&settings, &token).expect("they are good");
        let mut buffer = Vec::new();
        for (header, stream, index, cut) in packets {
            let length = settings.part_bytes(stream, index).unwrap_or(500) as usize;
            let part = vec![7; length.saturating_sub(cut.saturating_sub(1))];
            let part = (cut > 0).then_some((stream, index, &part[..]));
            datagram::write(&mut buffer, Role::Source, &token, Timestamp(u64::MAX), &header, part);
            receiver.take(&buffer, &clock, Time::ZERO);
            prop_assert!(memory(&receiver) <= bound(&settings));
            receiver.memory.answers.clear();
        }
    }
}
