//! The corners that the paper leaves out, packet by packet.

use fabricsim_units::{HostId, Time};

use super::plan::Planned;
use super::stage::Stage;
use super::world::InFlight;
use crate::ordering::Kind::{Ack, Fin, FinAck, Nack, Req};
use crate::ordering::{
    Flags, Header, Mode, Reason, Recovery, Resend, Seq, Source, SourceOptions, SourceOutbox, StartOffset,
    StreamId, TargetOptions, TimedOut,
};

#[test]
fn a_flush_comes_before_the_synchronization_operation() {
    let mut stage = Stage::of(&[Planned::new(Mode::SourceSynchronized, true, 3)]);
    assert_eq!(stage.send_all(), [(Req, 0), (Req, 1)]);
    stage.arrive(Req, 1);
    stage.arrive(Ack, 1);
    stage.arrive(Req, 0);
    assert_eq!(stage.send_all(), []);
    stage.arrive(Ack, 0);
    assert_eq!(stage.send_all(), [(Req, 2)]);
    stage.finish();
}

#[test]
fn without_connections_at_the_target_it_falls_back_to_slow_mode_and_returns() {
    let target = TargetOptions { connections: 1, ..TargetOptions::default() };
    let plan = [Planned::new(Mode::Ordered, false, 1), Planned::new(Mode::Ordered, false, 4).from(1)];
    let mut stage = Stage::new(SourceOptions::default(), target, &plan);
    // The first source takes the only connection.
    stage.world.send(0, stage.now);
    stage.arrive(Req, 0);
    (0..4).for_each(|_| assert!(stage.world.send(1, stage.now).is_some()));
    (0..4).for_each(|seq| stage.arrive(Req, seq));
    assert_eq!(stage.packet(Nack, 2).header.reason, Reason::NoConnection);
    (0..4).for_each(|seq| stage.arrive(Nack, seq));
    // The oldest again, as the only one; it is alone, but slow mode begins when it has been rejected twice.
    assert_eq!(stage.send_all(), [(Req, 0)]);
    stage.arrive(Req, 0);
    stage.arrive(Nack, 0);
    assert_eq!(stage.send_all(), [(Req, 0)]);
    assert!(stage.packet(Req, 0).header.flags.has(Flags::SLOW));
    stage.arrive(Req, 0);
    assert_eq!(stage.delivered(1), 0b0001);
    let answer = stage.world.network.iter().find(|packet| packet.to.0 == 1).expect("there is one").header;
    assert!(!answer.flags.has(Flags::CON) && answer.kind == Ack);
    let place = stage.world.network.iter().position(|packet| packet.to.0 == 1).expect("there is one");
    let packet = stage.world.leave(place);
    stage.world.arrive(packet, &stage.plan, true);
    // The first source closes; the next slow packet opens the connection that has become free.
    stage.arrive(Ack, 0);
    stage.send_all();
    stage.arrive(Fin, 0);
    stage.arrive(Req, 1);
    assert!(stage.packet(Ack, 1).header.flags.has(Flags::CON));
    stage.arrive(Ack, 1);
    assert_eq!(stage.world.sources[1].counters().slow.get(), 2);
    stage.finish();
    assert_eq!(stage.world.sources[1].counters().slow.get(), 2);
}

#[test]
fn packets_that_found_no_connection_are_sent_again_one_at_a_time_or_together() {
    let target = TargetOptions { connections: 1, ..TargetOptions::default() };
    let plan = [Planned::new(Mode::Ordered, false, 1), Planned::new(Mode::Ordered, false, 4).from(1)];
    for (recovery, again) in
        [(Recovery::OneAtATime, vec![(Req, 1)]), (Recovery::Burst, vec![(Req, 1), (Req, 2), (Req, 3)])]
    {
        let source = SourceOptions { recovery, ..SourceOptions::default() };
        let mut stage = Stage::new(source, target, &plan);
        stage.world.send(0, stage.now);
        stage.arrive(Req, 0);
        (0..4).for_each(|_| assert!(stage.world.send(1, stage.now).is_some()));
        (0..4).for_each(|seq| stage.arrive(Req, seq));
        (0..4).for_each(|seq| stage.arrive(Nack, seq));
        // The first source closes its connection, and the second gets it with its oldest packet.
        stage.arrive(Ack, 0);
        assert_eq!(stage.send_all(), [(Fin, 0), (Req, 0)]);
        stage.arrive(Fin, 0);
        stage.arrive(Req, 0);
        stage.arrive(Ack, 0);
        assert_eq!(stage.send_all(), again, "{recovery:?}");
        stage.finish();
        assert_eq!(stage.world.sources[1].counters().no_connection.get(), 4);
    }
}

#[test]
fn without_identifiers_a_stream_is_slow_until_there_is_one() {
    let source = SourceOptions { connections: 1, ..SourceOptions::default() };
    let plan = [Planned::new(Mode::Ordered, false, 2), Planned::new(Mode::Ordered, false, 3)];
    let mut stage = Stage::new(source, TargetOptions::default(), &plan);
    assert_eq!(stage.send_all().len(), 3);
    let slow = stage.world.network.iter().find(|packet| packet.header.cid.stream().is_some());
    assert!(slow.is_some_and(|packet| packet.header.flags.has(Flags::SLOW)));
    stage.finish();
    assert_eq!(stage.world.target.most_connections(), 1);
}

#[test]
fn overflow_is_rejected_and_sent_again_when_it_is_the_oldest() {
    let target = TargetOptions { reorder_capacity: 1, ..TargetOptions::default() };
    for resend in [Resend::Oldest, Resend::Progress] {
        let source = SourceOptions { resend, ..SourceOptions::default() };
        let mut stage = Stage::new(source, target, &[Planned::new(Mode::Ordered, false, 4)]);
        stage.send_all();
        stage.arrive(Req, 3);
        stage.arrive(Req, 2);
        assert_eq!(stage.packet(Nack, 2).header.reason, Reason::BufferFull);
        stage.arrive(Nack, 2);
        assert_eq!(stage.send_all(), []);
        stage.arrive(Req, 0);
        stage.arrive(Ack, 0);
        let again = if resend == Resend::Progress { vec![(Req, 2)] } else { vec![] };
        assert_eq!(stage.send_all(), again);
        stage.arrive(Req, 1);
        stage.arrive(Ack, 1);
        let again = if resend == Resend::Oldest { vec![(Req, 2)] } else { vec![] };
        assert_eq!(stage.send_all(), again);
        stage.finish();
        assert_eq!(stage.world.target.counters().buffer_full.get(), 1);
    }
}

/// Packets that are acknowledged after their time-out wait for nothing: a packet that finds the buffer full later has to wait for an
/// acknowledgement of its own.
#[test]
fn late_answers_permit_no_retransmission() {
    let source = SourceOptions {
        resend: Resend::Progress,
        timed_out: TimedOut::Oldest,
        outstanding: 4,
        ..SourceOptions::default()
    };
    let target = TargetOptions { reorder_capacity: 1, ..TargetOptions::default() };
    let mut stage = Stage::new(source, target, &[Planned::new(Mode::Ordered, false, 8)]);
    stage.send_all();
    (0..4).for_each(|seq| stage.arrive(Req, seq));
    stage.wait();
    (0..4).for_each(|seq| stage.arrive(Ack, seq));
    assert_eq!(stage.send_all(), [(Req, 4), (Req, 5), (Req, 6), (Req, 7)]);
    stage.arrive(Req, 7);
    stage.arrive(Req, 6);
    assert_eq!(stage.packet(Nack, 6).header.reason, Reason::BufferFull);
    stage.arrive(Nack, 6);
    assert_eq!(stage.send_all(), []);
    stage.arrive(Req, 4);
    stage.arrive(Ack, 4);
    assert_eq!(stage.send_all(), [(Req, 6)]);
    stage.finish();
}

#[test]
fn exhausted_replay_buffers_are_freed_by_the_oldest_packet() {
    let target = TargetOptions { replay: 2, ..TargetOptions::default() };
    let mut stage = Stage::new(SourceOptions::default(), target, &[Planned::new(Mode::Ordered, true, 5)]);
    stage.send_all();
    (0..5).for_each(|seq| stage.arrive(Req, seq));
    assert_eq!(stage.delivered(0), 0b00011);
    assert_eq!(stage.packet(Nack, 2).header.reason, Reason::NoReplay);
    stage.finish();
    assert_eq!(stage.world.target.most_replay_buffers(), 2);
}

#[test]
fn offsets_free_replay_buffers_without_rejections() {
    let target = TargetOptions { replay: 2, ..TargetOptions::default() };
    let source =
        SourceOptions { start_offset: StartOffset::Always, outstanding: 2, ..SourceOptions::default() };
    let mut stage = Stage::new(source, target, &[Planned::new(Mode::Ordered, true, 2)]);
    stage.send_all();
    stage.arrive(Req, 1);
    stage.arrive(Req, 0);
    stage.finish();
    assert_eq!(stage.world.target.counters().no_replay.get(), 0);
}

#[test]
fn a_connection_is_set_up_before_packets_follow_if_that_is_wanted() {
    let source = SourceOptions { speculative: false, ..SourceOptions::default() };
    let plan = [Planned::new(Mode::Ordered, false, 3)];
    let mut stage = Stage::new(source, TargetOptions::default(), &plan);
    assert_eq!(stage.send_all(), [(Req, 0)]);
    stage.arrive(Req, 0);
    stage.arrive(Ack, 0);
    assert_eq!(stage.send_all(), [(Req, 1), (Req, 2)]);
    stage.finish();
}

#[test]
fn unordered_packets_wait_for_no_connection() {
    let source = SourceOptions { speculative: false, ..SourceOptions::default() };
    let plan = [Planned::new(Mode::Unordered, false, 3)];
    let mut stage = Stage::new(source, TargetOptions::default(), &plan);
    assert_eq!(stage.send_all(), [(Req, 0), (Req, 1), (Req, 2)]);
    stage.finish();
}

/// An answer to a packet that has not been sent changes nothing, although its place in a full window is that of the oldest packet.
#[test]
fn answers_to_packets_that_were_not_sent_are_ignored() {
    let source = SourceOptions { outstanding: 2, kept: 2, ..SourceOptions::default() };
    let plan = [Planned::new(Mode::Unordered, false, 3)];
    let mut stage = Stage::new(source, TargetOptions::default(), &plan);
    assert_eq!(stage.send_all(), [(Req, 0), (Req, 1)]);
    stage.arrive(Req, 0);
    let ack = stage.packet(Ack, 0);
    let early = InFlight { header: Header { seq: Seq(2), ..ack.header }, ..ack };
    stage.world.arrive(early, &stage.plan, true);
    assert_eq!(stage.world.sources[0].outstanding(StreamId(0)), 2);
    stage.arrive(Ack, 0);
    assert_eq!(stage.world.sources[0].outstanding(StreamId(0)), 1);
    stage.finish();
}

#[test]
fn sequence_numbers_wrap() {
    let source = SourceOptions {
        sequence_bits: 3,
        outstanding: 4,
        first_sequence: Seq(6),
        ..SourceOptions::default()
    };
    let target = TargetOptions { sequence_bits: 3, ..TargetOptions::default() };
    let mut stage = Stage::new(source, target, &[Planned::new(Mode::Ordered, true, 4)]);
    assert_eq!(stage.send_all(), [(Req, 6), (Req, 7), (Req, 0), (Req, 1)]);
    for seq in [1, 0, 7, 6] {
        stage.arrive(Req, seq);
    }
    assert_eq!(stage.delivered(0), 0b1111);
    stage.finish();
}

/// An early packet that is lost holds up neither more nor less than the target cannote.
#[test]
fn a_synchronized_transfer_stays_within_the_targets_bitmap() {
    let options = SourceOptions { outstanding: 100, ..SourceOptions::default() };
    let mut stage =
        Stage::new(options, TargetOptions::default(), &[Planned::new(Mode::Synchronized, true, 120)]);
    let mut source: Source<u32> = Source::new(options).expect("the options are good");
    let stream = source.open(HostId(9), Mode::Synchronized, true).expect("there is room");
    let mut out = Nothing;
    let mut sent = 0;
    while source.has_room(stream) {
        source.offer(stream, sent, false);
        let packet = source.next(Time::ZERO).expect("it has just been offered");
        // All but the first are acknowledged.
        if sent > 0 {
            let ack = Header { kind: Ack, flags: Flags::CON, word: 0, ..packet.header };
            source.arrive(HostId(9), ack, &mut out);
        }
        sent += 1;
    }
    assert_eq!(sent, 128);
    assert_eq!(stage.send_all().len(), 100);
    stage.lose(Req, 0);
    (1..100).for_each(|seq| stage.arrive(Req, seq));
    (1..100).for_each(|seq| stage.arrive(Ack, seq));
    while stage.world.offer(&stage.plan, 0) {}
    stage.finish();
    assert_eq!(stage.world.target.counters().buffer_full.get(), 0);
}

/// A target keeps a bit for each of the packets that it may receive early: 128 of a synchronized transfer, 64 of a selective one.
#[test]
fn a_packet_beyond_the_targets_bitmap_is_rejected() {
    for (mode, window) in [(Mode::Synchronized, 128), (Mode::Selective, 64), (Mode::SelectiveOrdered, 64)] {
        for (seq, is_beyond) in [(window - 1, false), (window, true)] {
            let mut stage = Stage::of(&[Planned::new(mode, false, 2)]);
            stage.send_all();
            let sent = stage.packet(Req, 0);
            let early = InFlight { header: Header { seq: Seq(seq), ..sent.header }, ..sent };
            stage.world.arrive(early, &stage.plan, true);
            assert_eq!(stage.network().contains(&(Nack, seq)), is_beyond, "{mode:?}: {:?}", stage.network());
            assert_eq!(stage.world.target.counters().buffer_full.get(), u64::from(is_beyond));
        }
    }
}

/// An outbox that discards all reports.
struct Nothing;

impl SourceOutbox<u32> for Nothing {
    fn acknowledged(&mut self, _: StreamId, _: u32, _: u64) {}
    fn room(&mut self, _: StreamId) {}
    fn finished(&mut self, _: StreamId) {}
}

#[test]
fn only_the_oldest_is_sent_again_if_that_is_wanted() {
    for (timed_out, again) in
        [(TimedOut::Each, vec![(Req, 0), (Req, 1), (Req, 2)]), (TimedOut::Oldest, vec![(Req, 0)])]
    {
        let source = SourceOptions { timed_out, ..SourceOptions::default() };
        let plan = [Planned::new(Mode::Ordered, false, 3)];
        let mut stage = Stage::new(source, TargetOptions::default(), &plan);
        stage.send_all();
        stage.lose(Req, 0);
        stage.lose(Req, 1);
        stage.arrive(Req, 2);
        stage.wait();
        assert_eq!(stage.world.sources[0].counters().timeouts.get(), 3, "of each, whatever is retransmitted");
        assert_eq!(stage.send_all(), again);
        if timed_out == TimedOut::Oldest {
            stage.arrive(Req, 0);
            stage.arrive(Ack, 0);
            // The next one's time has run out, too.
            assert_eq!(stage.send_all(), [(Req, 1)]);
            stage.arrive(Req, 1);
            assert_eq!(stage.delivered(0), 0b111);
        }
        stage.finish();
    }
}

#[test]
fn a_connection_that_is_in_use_is_not_closed() {
    let mut stage = Stage::of(&[Planned::new(Mode::Ordered, true, 2)]);
    stage.send_all();
    stage.arrive(Req, 1);
    let fin =
        InFlight { header: Header { kind: Fin, ..stage.packet(Req, 0).header }, ..stage.packet(Req, 0) };
    stage.world.arrive(fin, &stage.plan, true);
    assert_eq!((stage.world.target.open_connections(), stage.network()), (1, vec![(Req, 0)]));
    stage.finish();
}

#[test]
fn go_back_n_sends_everything_after_a_gap_again() {
    let mut stage = Stage::of(&[Planned::new(Mode::GoBackN, false, 3)]);
    stage.send_all();
    stage.arrive(Req, 1);
    stage.arrive(Req, 2);
    assert_eq!(stage.network(), [(Req, 0), (Nack, 0)]);
    stage.arrive(Nack, 0);
    assert_eq!(stage.send_all(), [(Req, 0), (Req, 1), (Req, 2)]);
    (0..3).for_each(|seq| stage.arrive(Req, seq));
    stage.finish();
    assert_eq!(stage.world.target.counters().delivered.get(), 3);
    assert_eq!(stage.world.target.counters().out_of_sequence.get(), 2);
}

#[test]
fn selective_acknowledgements_tell_what_has_arrived() {
    for mode in [Mode::Selective, Mode::SelectiveOrdered] {
        let mut stage = Stage::of(&[Planned::new(mode, false, 3)]);
        stage.send_all();
        stage.arrive(Req, 2);
        assert_eq!(stage.delivered(0), if mode == Mode::Selective { 0b100 } else { 0 });
        stage.arrive(Ack, 0);
        stage.lose(Req, 0);
        stage.lose(Req, 1);
        stage.wait();
        // Only what has not arrived.
        assert_eq!(stage.send_all(), [(Req, 0), (Req, 1)]);
        stage.finish();
        assert_eq!(stage.world.target.counters().delivered.get(), 3);
    }
}

#[test]
fn a_lost_fin_or_answer_is_made_good() {
    for lost in [Fin, FinAck] {
        let mut stage = Stage::of(&[Planned::new(Mode::Ordered, false, 1)]);
        stage.send_all();
        stage.arrive(Req, 0);
        stage.arrive(Ack, 0);
        stage.send_all();
        if lost == FinAck {
            stage.arrive(Fin, 0);
        }
        stage.lose(lost, 0);
        stage.wait();
        assert_eq!(stage.send_all(), [(Fin, 0)]);
        stage.finish();
    }
}

/// The first packet has a copy whose answer was lost. FIN waits until the quiet time of that packet is over, and not of the last one.
#[test]
fn fin_waits_for_the_copies_of_a_packet_alone() {
    let mut stage = Stage::of(&[Planned::new(Mode::Ordered, false, 2)]);
    let send = |stage: &mut Stage| stage.world.send(0, stage.now).map(|packet| packet.header.seq.0);
    assert_eq!(send(&mut stage), Some(0));
    stage.lose(Req, 0);
    stage.wait();
    assert_eq!(send(&mut stage), Some(0));
    stage.now += Time::us(1);
    assert_eq!(send(&mut stage), Some(1));
    for seq in 0..2 {
        stage.arrive(Req, seq);
        stage.arrive(Ack, seq);
    }
    stage.lose_nothing_until_quiet();
    assert_eq!(stage.send_all(), [(Fin, 0)]);
    stage.finish();
}
