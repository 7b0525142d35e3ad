//! The paper's sequence diagrams (figures 4 to 7) and the corners that it leaves out, packet by packet.

use fabricsim_units::Time;

use super::world::{InFlight, Planned, World};
use crate::ordering::{
    Flags, Kind, Mode, Reason, Resend, Seq, Source, SourceOptions, StartOffset, TargetOptions,
};

/// A world with one network in which the test decides what arrives when.
struct Stage {
    world: World,
    plan: Vec<Planned>,
    now: Time,
}

impl Stage {
    fn new(source: SourceOptions, target: TargetOptions, plan: &[Planned]) -> Self {
        Self { world: World::new(source, target, plan, false), plan: plan.to_vec(), now: Time::ZERO }
    }

    fn of(plan: &[Planned]) -> Self {
        Self::new(SourceOptions::default(), TargetOptions::default(), plan)
    }

    /// Everything that can be sent is.
    fn send_all(&mut self) -> Vec<(Kind, u16)> {
        let mut sent = Vec::new();
        for source in 0..self.world.sources.len() {
            while let Some(packet) = self.world.send(source, self.now) {
                sent.push((packet.header.kind, packet.header.seq.0));
            }
        }
        sent
    }

    fn place(&self, kind: Kind, seq: u16) -> usize {
        let is = |packet: &InFlight| packet.header.kind == kind && packet.header.seq == Seq(seq);
        let found = self.world.network.iter().position(is);
        found.unwrap_or_else(|| panic!("no {kind:?} {seq} in {:?}", self.world.network))
    }

    fn arrive(&mut self, kind: Kind, seq: u16) {
        let packet = self.world.leave(self.place(kind, seq));
        self.world.arrive(packet, &self.plan, true);
        assert_eq!(self.world.fault, None);
    }

    fn lose(&mut self, kind: Kind, seq: u16) {
        self.world.leave(self.place(kind, seq));
    }

    /// Time passes until the next timer.
    fn wait(&mut self) {
        self.now = self.world.sources.iter().map(Source::wake_at).min().unwrap_or(self.now);
        assert_ne!(self.now, Time::MAX, "no timer runs");
        (0..self.world.sources.len()).for_each(|source| self.world.expire(source, self.now, &self.plan));
    }

    /// Whatever is in the network, in the order in which it is written down.
    fn network(&self) -> Vec<(Kind, u16)> {
        self.world.network.iter().map(|packet| (packet.header.kind, packet.header.seq.0)).collect()
    }

    fn delivered(&self, stream: usize) -> u128 {
        self.world.records[stream].delivered
    }

    /// All that is left goes by itself, without losses.
    fn finish(&mut self) {
        for _ in 0..1000 {
            self.send_all();
            if self.world.network.is_empty() {
                if self.world.is_done(&self.plan) {
                    return;
                }
                self.wait();
                continue;
            }
            let packet = self.world.leave(0);
            self.world.arrive(packet, &self.plan, true);
            assert_eq!(self.world.fault, None);
        }
        panic!("it does not end: {:?}", self.world);
    }

    fn packet(&self, kind: Kind, seq: u16) -> InFlight {
        self.world.network[self.place(kind, seq)]
    }
}

use Kind::{Ack, Fin, FinAck, Nack, Req};

#[test]
fn figure_4_slow_mode() {
    let mut stage = Stage::of(&[Planned::new(Mode::SourceOrdered, false, 2)]);
    assert_eq!(stage.send_all(), [(Req, 0)]);
    stage.arrive(Req, 0);
    assert_eq!(stage.send_all(), []);
    stage.arrive(Ack, 0);
    assert_eq!(stage.send_all(), [(Req, 1)]);
    stage.arrive(Req, 1);
    stage.lose(Ack, 1);
    stage.wait();
    assert_eq!(stage.send_all(), [(Req, 1)]);
    stage.arrive(Req, 1);
    assert_eq!(stage.world.target.counters().delivered.get(), 3);
    stage.arrive(Ack, 1);
    assert_eq!(stage.world.target.most_connections(), 0);
    stage.finish();
}

#[test]
fn figure_5_fast_mode() {
    let mut stage = Stage::of(&[Planned::new(Mode::Ordered, false, 3)]);
    assert_eq!(stage.send_all(), [(Req, 0), (Req, 1), (Req, 2)]);
    assert!(stage.packet(Req, 0).header.flags.has(Flags::SYN));
    assert!(!stage.packet(Req, 1).header.flags.has(Flags::SYN));
    stage.arrive(Req, 1);
    stage.arrive(Req, 2);
    assert_eq!((stage.delivered(0), stage.world.target.reorder_buffer().len()), (0, 2));
    assert_eq!(stage.network(), [(Req, 0)]);
    stage.arrive(Req, 0);
    assert_eq!(stage.delivered(0), 0b111);
    assert_eq!(stage.world.target.counters().reordered.get(), 2);
    assert!(stage.packet(Ack, 0).header.flags.has(Flags::CON));
    // The last ACK first: it is not sufficient to close.
    stage.arrive(Ack, 2);
    stage.arrive(Ack, 0);
    assert_eq!(stage.send_all(), []);
    stage.arrive(Ack, 1);
    assert_eq!(stage.send_all(), [(Fin, 0)]);
    assert_eq!(stage.world.target.open_connections(), 1);
    stage.arrive(Fin, 0);
    assert_eq!(stage.world.target.open_connections(), 0);
    assert!(!stage.world.sources[0].is_idle());
    stage.arrive(FinAck, 0);
    assert!(stage.world.is_done(&stage.plan));
}

#[test]
fn figure_6_exactly_once() {
    let mut stage = Stage::of(&[Planned::new(Mode::Ordered, true, 3)]);
    stage.send_all();
    (0..3).for_each(|seq| stage.arrive(Req, seq));
    stage.arrive(Ack, 0);
    stage.arrive(Ack, 2);
    stage.lose(Ack, 1);
    assert_eq!(stage.world.target.replay_buffers(), 3);
    stage.wait();
    assert_eq!(stage.send_all(), [(Req, 1)]);
    // It is the oldest without acknowledgement: it carries SYN, which frees the replay buffer of what came before.
    assert!(stage.packet(Req, 1).header.flags.has(Flags::SYN));
    stage.arrive(Req, 1);
    assert_eq!((stage.delivered(0), stage.world.target.replay_buffers()), (0b111, 2));
    assert_eq!(stage.world.target.counters().delivered.get(), 3);
    assert_eq!(stage.packet(Ack, 1).header.result(), 1);
    stage.arrive(Ack, 1);
    stage.lose_nothing_until_quiet();
    assert_eq!(stage.send_all(), [(Fin, 0)]);
    stage.arrive(Fin, 0);
    assert_eq!(stage.world.target.replay_buffers(), 0);
    stage.arrive(FinAck, 0);
    assert!(stage.world.is_done(&stage.plan));
}

impl Stage {
    /// One answer was lost, so FIN waits for the quiet time.
    fn lose_nothing_until_quiet(&mut self) {
        assert_eq!(self.send_all(), []);
        self.wait();
    }
}

#[test]
fn figure_7_synchronized_transfer() {
    let mut stage = Stage::of(&[Planned::new(Mode::Synchronized, true, 4)]);
    assert_eq!(stage.send_all(), [(Req, 0), (Req, 1), (Req, 2), (Req, 3)]);
    let operation = stage.packet(Req, 3).header;
    assert!(operation.flags.has(Flags::EOD) && operation.count() == 4);
    stage.arrive(Req, 1);
    stage.arrive(Req, 3);
    assert_eq!(stage.delivered(0), 0b0010);
    stage.arrive(Req, 0);
    assert_eq!(stage.delivered(0), 0b0011);
    stage.arrive(Req, 2);
    assert_eq!(stage.delivered(0), 0b1111);
    stage.arrive(Ack, 3);
    assert_eq!(stage.send_all(), []);
    (0..3).for_each(|seq| stage.arrive(Ack, seq));
    assert_eq!(stage.send_all(), [(Fin, 0)]);
    stage.finish();
}

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
