//! The paper's sequence diagrams (figures 4 to 7), packet by packet.

use super::plan::Planned;
use super::stage::Stage;
use crate::ordering::Kind::{Ack, Fin, FinAck, Req};
use crate::ordering::{Flags, Mode};

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
    assert!(!stage.world.target.is_idle());
    stage.arrive(Fin, 0);
    assert_eq!(stage.world.target.open_connections(), 0);
    assert!(stage.world.target.is_idle());
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
