use super::*;
use crate::ordering::Seq;

/// A stream with packets of which `sent` are sent at 1 us, with a connection that the target is not known to hold.
fn stream(mode: Mode, packets: u16, sent: u16) -> SourceStream<u32> {
    let mut stream = SourceStream::new(16);
    (stream.open, stream.mode, stream.cid) = (true, mode, Some(Cid(0)));
    (0..packets).for_each(|number| stream.window.push(u32::from(number), false));
    (0..sent).for_each(|position| stream.sent(position, Time::us(1)));
    stream
}

fn copies(stream: &SourceStream<u32>) -> (u32, Vec<u32>) {
    (stream.copies, (0..stream.window.len()).map(|position| stream.window.get(position).copies).collect())
}

fn answer(stream: &mut SourceStream<u32>, seq: u16) {
    stream.answered(&Header { seq: Seq(seq), ..Header::default() }, SequenceSpace::new(16));
}

/// Every copy counts for its packet and its stream, and every answer takes one away.
#[test]
fn copies_less_answers_are_counted() {
    let mut stream = stream(Mode::Ordered, 3, 2);
    assert_eq!(copies(&stream), (2, vec![1, 1, 0]));
    stream.time_out(1);
    stream.sent(1, Time::us(2));
    assert_eq!(copies(&stream), (3, vec![1, 2, 0]));
    for expected in [(2, vec![1, 1, 0]), (1, vec![1, 0, 0]), (1, vec![1, 0, 0])] {
        answer(&mut stream, 1);
        assert_eq!(copies(&stream), expected);
    }
    answer(&mut stream, 2);
    assert_eq!(copies(&stream), (1, vec![1, 0, 0]), "it was not sent");
}

/// After the quiet time no copy is in flight, but packets that have no answer may wait in the reorder buffer, and be answered at any time: answers do not tell
/// their copies any more. Such a packet has one copy while it is in flight, however often it is sent, until the next quiet time.
#[test]
fn copies_after_the_quiet_time_are_not_told_by_answers() {
    let options = SourceOptions::default();
    let mut stream = stream(Mode::Ordered, 3, 3);
    // The first is acknowledged by one of two copies; the second is rejected, by its only copy.
    stream.time_out(0);
    stream.sent(0, Time::us(2));
    stream.acknowledge(0, &options);
    answer(&mut stream, 0);
    stream.reject(1, Reason::BufferFull, &options);
    answer(&mut stream, 1);
    assert_eq!((copies(&stream), stream.waiting), ((2, vec![1, 0, 1]), 1));
    stream.quiet();
    assert_eq!((copies(&stream), stream.waiting, stream.lossy), ((0, vec![0, 0, 0]), 2, true));
    let uncounted = |stream: &SourceStream<u32>| [0, 1, 2].map(|at| stream.window.get(at).uncounted);
    assert_eq!(uncounted(&stream), [false, false, true]);
    let states = [0, 1, 2].map(|at| stream.window.get(at).state);
    assert_eq!(states, [State::Acknowledged, State::Rejected(Reason::BufferFull), State::TimedOut]);
    for _ in 0..3 {
        stream.sent(2, Time::us(9));
        assert_eq!(copies(&stream), (1, vec![0, 0, 1]));
        answer(&mut stream, 2);
        assert_eq!(copies(&stream), (1, vec![0, 0, 1]));
        stream.time_out(2);
    }
    stream.sent(1, Time::us(9));
    assert_eq!(copies(&stream), (2, vec![0, 1, 1]));
    stream.quiet();
    assert_eq!(copies(&stream), (0, vec![0, 0, 0]));
    // What was uncounted stays so.
    assert_eq!(uncounted(&stream), [false, true, true]);
    assert_eq!(stream.waiting, 2);
}

/// Go-back-N: some copies have no answer of their own from then on, so that one copy stands for all of them.
#[test]
fn one_copy_stands_for_all_after_going_back() {
    let mut stream = stream(Mode::GoBackN, 4, 3);
    assert_eq!((stream.copies, stream.uncounted), (3, false));
    answer(&mut stream, 3);
    assert_eq!(stream.copies, 2);
    stream.go_back(1);
    assert_eq!((stream.copies, stream.uncounted, stream.window.sent), (1, true, 1));
    (1..3).for_each(|position| stream.sent(position, Time::us(2)));
    answer(&mut stream, 3);
    assert_eq!((stream.copies, stream.window.sent), (1, 3));
    stream.quiet();
    assert_eq!((stream.copies, stream.window.sent), (0, 0), "none is in flight");
    stream.sent(0, Time::us(3));
    stream.sent(1, Time::us(3));
    assert_eq!((stream.copies, stream.uncounted), (1, true), "the first is counted");
}

/// Packets that wait for a retransmission are counted. Those that found a buffer full need a permit, if they are not the oldest; there is one for each
/// acknowledgement, and none without a packet that waits.
#[test]
fn retransmissions_take_permits() {
    let options = SourceOptions { resend: Resend::Progress, ..SourceOptions::default() };
    let mut stream = stream(Mode::Ordered, 8, 8);
    stream.connect();
    let state = |stream: &SourceStream<u32>| (stream.waiting, stream.permits, stream.ready(&options, true));
    stream.acknowledge(7, &options);
    assert_eq!(state(&stream), (0, 0, None));
    for position in [2, 3, 5] {
        stream.reject(position, Reason::BufferFull, &options);
    }
    assert_eq!(state(&stream), (3, 0, None));
    stream.acknowledge(4, &options);
    stream.acknowledge(6, &options);
    assert_eq!(state(&stream), (3, 2, Some(2)));
    stream.sent(2, Time::us(2));
    assert_eq!(state(&stream), (2, 1, Some(3)));
    // A packet that has timed out needs no permit.
    stream.time_out(1);
    assert_eq!(state(&stream), (3, 1, Some(1)));
    stream.sent(1, Time::us(3));
    assert_eq!(state(&stream), (2, 1, Some(3)));
    stream.sent(3, Time::us(3));
    assert_eq!(state(&stream), (1, 0, None));
    // The oldest needs none, and takes none.
    for position in 0..4 {
        stream.acknowledge(position, &options);
    }
    assert_eq!(state(&stream), (1, 1, Some(5)));
    stream.sent(5, Time::us(4));
    assert_eq!(state(&stream), (0, 0, None));
    stream.reject(5, Reason::BufferFull, &options);
    assert_eq!(state(&stream), (1, 0, Some(5)));
    stream.acknowledge(5, &options);
    assert_eq!((state(&stream), stream.acknowledged), ((0, 0, None), 8));
}

/// Without a connection at the target new packets wait: at once, or when the packet has been rejected for a second time. Another reason stops nothing, and neither
/// does an answer that comes when there is a connection.
#[test]
fn a_stream_halts_when_it_finds_no_connection() {
    let (go_on, halt) = (OnNoConnection::Continue, OnNoConnection::Halt);
    for (mode, no_connection, reason, connected, is_copy, halts) in [
        (Mode::Ordered, go_on, Reason::NoConnection, false, false, false),
        (Mode::Ordered, go_on, Reason::NoConnection, false, true, true),
        (Mode::Ordered, halt, Reason::NoConnection, false, false, true),
        (Mode::Ordered, halt, Reason::NoConnection, true, true, false),
        (Mode::Ordered, halt, Reason::BufferFull, false, true, false),
        (Mode::Ordered, go_on, Reason::NoReplay, true, true, false),
        (Mode::Synchronized, go_on, Reason::NoConnection, false, false, true),
        (Mode::Selective, go_on, Reason::NoConnection, false, true, true),
        (Mode::Selective, go_on, Reason::BufferFull, false, true, false),
    ] {
        let options = SourceOptions { no_connection, ..SourceOptions::default() };
        let mut stream = stream(mode, 3, 2);
        stream.connected = connected;
        if is_copy {
            stream.time_out(0);
            stream.sent(0, Time::us(2));
        }
        stream.reject(0, reason, &options);
        assert_eq!((stream.halted, stream.waiting), (halts, 1), "{mode:?} {no_connection:?} {reason:?}");
        // Another copy's answer changes nothing.
        stream.reject(0, Reason::NoConnection, &options);
        assert_eq!((stream.halted, stream.waiting), (halts, 1));
    }
}

/// Rule 2: what may be delivered without a connection, or is over, waits until no copy is in flight. Nothing else does.
#[test]
fn copies_are_waited_for_at_the_end_and_before_slow_mode() {
    for (has_cid, halted, exactly_once, packets, waits) in [
        (true, false, false, 1, false),
        (true, true, false, 1, true),
        (true, true, true, 1, false),
        (true, false, true, 1, false),
        (false, false, false, 1, true),
        (false, true, true, 1, true),
        (true, false, false, 0, true),
        (true, true, true, 0, true),
    ] {
        let mut stream = stream(Mode::Ordered, packets, 0);
        (stream.halted, stream.exactly_once) = (halted, exactly_once);
        stream.cid = stream.cid.filter(|_| has_cid);
        assert!(!stream.waits_for_copies());
        stream.copies = 1;
        assert_eq!(stream.waits_for_copies(), waits, "{has_cid} {halted} {exactly_once} {packets}");
    }
}

/// Rules 2, 3 and 5: a halted stream sends its oldest packet so that it may be delivered without a connection, if no copy is in flight and it need not be executed
/// exactly once. The oldest packet carries SYN, the first time and again.
#[test]
fn slow_mode_is_for_the_oldest_packet_alone() {
    let options = SourceOptions::default();
    let space = SequenceSpace::new(16);
    for (position, halted, exactly_once, copies, slow) in [
        (0, true, false, 0, true),
        (0, true, false, 1, false),
        (0, true, true, 0, false),
        (0, false, false, 0, false),
        (1, true, false, 0, false),
    ] {
        let mut stream = stream(Mode::Ordered, 3, 2);
        (stream.halted, stream.exactly_once) = (halted, exactly_once);
        for is_copy in [false, true] {
            stream.copies = copies;
            let flags = stream.header(5, position, &options, space).flags;
            assert_eq!(flags.has(Flags::SLOW), slow, "{position} {halted} {exactly_once} {copies}");
            assert_eq!((flags.has(Flags::SYN), flags.has(Flags::EOD)), (position == 0, exactly_once));
            if !is_copy {
                stream.time_out(position);
                stream.sent(position, Time::us(2));
            }
        }
    }
}

/// An offset counts from the oldest packet without acknowledgement, though older ones are in the window because a copy may be in flight.
#[test]
fn offsets_count_from_the_oldest_that_is_not_acknowledged() {
    let options = SourceOptions { start_offset: StartOffset::Always, ..SourceOptions::default() };
    let mut stream = stream(Mode::Ordered, 5, 4);
    let word = |stream: &SourceStream<u32>, position| {
        let header = stream.header(0, position, &options, SequenceSpace::new(16));
        (header.seq.0, header.word, header.flags.has(Flags::SYN))
    };
    assert_eq!([0, 3].map(|position| word(&stream, position)), [(0, 0, true), (3, 3, false)]);
    for position in 0..2 {
        stream.acknowledge(position, &options);
    }
    assert_eq!(
        [2, 3, 4].map(|position| word(&stream, position)),
        [(2, 0, true), (3, 1, false), (4, 2, false)]
    );
}

/// Without a connection an ordered stream sends one packet at a time; the source orders its packets so as well, unless a connection knows duplicates.
#[test]
fn packets_of_slow_mode_are_alone() {
    let options = SourceOptions::default();
    for (mode, has_cid, copies, is_ready) in [
        (Mode::Ordered, false, 0, true),
        (Mode::Ordered, false, 1, false),
        (Mode::Ordered, true, 1, true),
        (Mode::SourceOrdered, false, 0, true),
        (Mode::SourceOrdered, false, 1, false),
        (Mode::SourceOrdered, true, 1, true),
        (Mode::SourceSynchronized, false, 1, true),
        (Mode::Unordered, false, 1, true),
    ] {
        let mut stream = stream(mode, 3, 0);
        stream.cid = stream.cid.filter(|_| has_cid);
        stream.copies = copies;
        assert_eq!(stream.ready(&options, true).is_some(), is_ready, "{mode:?} {has_cid} {copies}");
        // Nor is a second one.
        let mut stream = self::stream(mode, 3, 1);
        stream.cid = stream.cid.filter(|_| has_cid);
        stream.copies = copies;
        let several = matches!(mode, Mode::Unordered | Mode::SourceSynchronized)
            || mode == Mode::Ordered && has_cid && options.speculative;
        assert_eq!(
            stream.ready(&options, true).is_some(),
            several,
            "{mode:?} {has_cid} {copies}, the second"
        );
    }
}
