mod headers;

use super::*;
use crate::ordering::{Close, Flags, Reason, StartOffset};

const THERE: HostId = HostId(9);

/// Reports of a source.
#[derive(Default)]
struct Out {
    acknowledged: Vec<u32>,
    rooms: Vec<u16>,
    finished: Vec<u16>,
}

impl SourceOutbox<u32> for Out {
    fn acknowledged(&mut self, _: StreamId, payload: u32, _: u64) {
        self.acknowledged.push(payload);
    }
    fn room(&mut self, stream: StreamId) {
        self.rooms.push(stream.0);
    }
    fn finished(&mut self, stream: StreamId) {
        self.finished.push(stream.0);
    }
}

struct Stage {
    source: Source<u32>,
    out: Out,
}

impl Stage {
    fn new(options: SourceOptions) -> Self {
        Self { source: Source::new(options).unwrap(), out: Out::default() }
    }

    /// A stream with packets whose payloads are their numbers; it ends with the last if `ends`.
    fn open(&mut self, mode: Mode, exactly_once: bool, packets: u32, ends: bool) -> StreamId {
        let id = self.source.open(THERE, mode, exactly_once).unwrap();
        for number in 0..packets {
            self.source.offer(id, number, ends && number + 1 == packets);
        }
        id
    }

    /// Sends what may be sent.
    fn send_all(&mut self) -> Vec<Header> {
        std::iter::from_fn(|| self.source.next(Time::us(1))).map(|packet| packet.header).collect()
    }

    fn arrive(&mut self, header: Header) {
        self.source.arrive(THERE, header, &mut self.out);
    }

    /// The packet is visible, and the target has a connection if the packet asks for one.
    fn acknowledge(&mut self, request: &Header) {
        let connected = request.cid.stream().is_none();
        let answer = request.answer(Kind::Ack);
        self.arrive(Header { flags: answer.flags.with_if(Flags::CON, connected), ..answer });
    }

    fn refuse(&mut self, request: &Header, reason: Reason) {
        self.arrive(Header { reason, ..request.answer(Kind::Nack) });
    }

    /// Payloads that have been acknowledged since.
    fn acknowledged(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.out.acknowledged)
    }
}

fn numbers(headers: &[Header]) -> Vec<u16> {
    headers.iter().map(|header| header.seq.0).collect()
}

#[test]
fn streams_are_open_up_to_their_number() {
    let mut stage = Stage::new(SourceOptions { streams: 2, ..SourceOptions::default() });
    let state =
        |stage: &Stage| (stage.source.can_open(), stage.source.open_streams(), stage.source.is_idle());
    assert_eq!(state(&stage), (true, 0, true));
    assert_eq!(stage.open(Mode::Unordered, false, 1, true), StreamId(0));
    assert_eq!(state(&stage), (true, 1, false));
    assert_eq!(stage.open(Mode::Unordered, false, 1, true), StreamId(1));
    assert_eq!(state(&stage), (false, 2, false));
    assert_eq!(stage.source.open(THERE, Mode::Unordered, false), None);
    let sent = stage.send_all();
    stage.acknowledge(&sent[0]);
    assert_eq!((state(&stage), &stage.out.finished[..]), ((true, 1, false), &[0][..]));
    assert_eq!(stage.open(Mode::Unordered, false, 1, true), StreamId(0), "its slot is free");
    assert_eq!(state(&stage), (false, 2, false));
}

/// The turn passes to the stream behind the one that has sent, round the open ones; a stream that ends leaves the order of the others as it is.
#[test]
fn streams_take_turns() {
    let mut stage = Stage::new(SourceOptions { streams: 4, ..SourceOptions::default() });
    (0..4).for_each(|_| {
        stage.open(Mode::Unordered, false, 3, true);
    });
    let order = |stage: &Stage| -> Vec<u16> {
        let places: Vec<u16> =
            (0..stage.source.open_streams()).map(|place| stage.source.in_turn(place).0).collect();
        let candidates: Vec<u16> = stage.source.candidates().map(|id| id.0).collect();
        assert_eq!(places, candidates);
        places
    };
    assert_eq!(order(&stage), [0, 1, 2, 3]);
    let mut sent = vec![Vec::new(); 4];
    for (id, expected) in [(0, [1, 2, 3, 0]), (1, [2, 3, 0, 1]), (3, [0, 1, 2, 3]), (2, [3, 0, 1, 2])] {
        sent[usize::from(id)].push(stage.source.send(StreamId(id), Time::us(1)).unwrap().header);
        assert_eq!(order(&stage), expected, "after {id}");
    }
    let finish = |stage: &mut Stage, sent: &mut Vec<Header>, id: u16, turn: usize| {
        while let Some(packet) = stage.source.send(StreamId(id), Time::us(1)) {
            sent.push(packet.header);
        }
        stage.source.turn = turn;
        for header in sent.iter() {
            stage.acknowledge(header);
        }
        assert_eq!(stage.out.finished.pop(), Some(id));
    };
    // The turn stays with its stream; if that one has ended, it is the next one's, round the others.
    finish(&mut stage, &mut sent[0], 0, 2);
    assert_eq!(order(&stage), [2, 3, 1]);
    finish(&mut stage, &mut sent[3], 3, 2);
    assert_eq!(order(&stage), [1, 2]);
    finish(&mut stage, &mut sent[2], 2, 0);
    assert_eq!(order(&stage), [1]);
    // Behind the last stream comes the first, also if another one is opened.
    stage.source.send(StreamId(1), Time::us(1)).unwrap();
    stage.open(Mode::Unordered, false, 3, true);
    assert_eq!(order(&stage), [1, 0]);
}

/// A stream that is open has room for its outstanding packets, and for as many as its acknowledgements can tell apart.
#[test]
fn room_depends_on_the_transfer() {
    let limit = |mode, outstanding, sequence_bits| {
        let options = SourceOptions { outstanding, sequence_bits, fast_from: 1, ..SourceOptions::default() };
        let mut stage = Stage::new(options);
        let id = stage.source.open(THERE, mode, false).unwrap();
        let mut offered = 0;
        while stage.source.has_room(id) {
            stage.source.offer(id, offered, false);
            offered += 1;
        }
        offered
    };
    for (mode, expected) in [
        (Mode::Unordered, [5, 300, 8]),
        (Mode::Ordered, [5, 300, 8]),
        (Mode::SourceOrdered, [5, 300, 8]),
        (Mode::SourceSynchronized, [5, 300, 8]),
        // 128 bits at the target.
        (Mode::Synchronized, [5, 128, 8]),
        // A cumulative number is of half of the space at most, the one after the window included.
        (Mode::GoBackN, [5, 300, 7]),
        // 64 bits in an acknowledgement.
        (Mode::Selective, [5, 64, 7]),
        (Mode::SelectiveOrdered, [5, 64, 7]),
    ] {
        let limits = [limit(mode, 5, 16), limit(mode, 300, 16), limit(mode, 8, 4)];
        assert_eq!(limits, expected, "{mode:?}");
    }
}

/// What has been acknowledged takes no room, though it may stay in the window behind others; an ended stream needs none.
#[test]
fn acknowledged_packets_give_room() {
    for ends in [false, true] {
        let options = SourceOptions { outstanding: 3, fast_from: 1, ..SourceOptions::default() };
        let mut stage = Stage::new(options);
        let id = stage.open(Mode::Ordered, false, 3, ends);
        assert!(!stage.source.has_room(id));
        assert_eq!(stage.source.outstanding(id), 0);
        let sent = stage.send_all();
        assert_eq!(stage.source.outstanding(id), 3);
        stage.acknowledge(&sent[1]);
        assert_eq!((stage.source.has_room(id), stage.source.outstanding(id)), (true, 2));
        stage.acknowledge(&sent[2]);
        assert_eq!((stage.source.has_room(id), stage.source.outstanding(id)), (true, 1));
        let rooms = if ends { vec![] } else { vec![0, 0] };
        assert_eq!((stage.out.rooms.clone(), stage.acknowledged()), (rooms, vec![1, 2]));
        if !ends {
            stage.source.offer(id, 3, false);
            stage.source.offer(id, 4, false);
            assert!(!stage.source.has_room(id));
        }
    }
}

/// Packets that are acknowledged stay in the window while a copy may be in flight. The end of the quiet time gives their room back.
#[test]
fn timers_give_room() {
    let mut stage = Stage::new(SourceOptions { kept: 2, fast_from: 1, ..SourceOptions::default() });
    let id = stage.open(Mode::Ordered, false, 2, false);
    stage.send_all();
    stage.source.expire(Time::ms(2), &mut stage.out);
    let sent: Vec<Header> =
        std::iter::from_fn(|| stage.source.next(Time::ms(2))).map(|packet| packet.header).collect();
    assert_eq!(numbers(&sent), [0, 1]);
    for header in &sent {
        stage.acknowledge(header);
    }
    assert_eq!((stage.acknowledged(), stage.source.has_room(id)), (vec![0, 1], false));
    stage.out.rooms.clear();
    stage.source.expire(Time::ms(4) - Time::ps(1), &mut stage.out);
    assert!(stage.out.rooms.is_empty() && !stage.source.has_room(id));
    stage.source.expire(Time::ms(4), &mut stage.out);
    assert!(!stage.out.rooms.is_empty() && stage.source.has_room(id));
    assert_eq!(stage.source.wake_at(), Time::MAX);
}

/// A copy is counted and marked as one, whether the packet has timed out or counts as not sent (go-back-N).
#[test]
fn copies_are_told_from_first_packets() {
    for mode in [Mode::Ordered, Mode::GoBackN] {
        let mut stage = Stage::new(SourceOptions::default());
        let id = stage.open(mode, false, 3, true);
        let copies = |stage: &mut Stage, now| -> Vec<(u16, bool)> {
            let sent = std::iter::from_fn(|| stage.source.next(now));
            sent.map(|packet| (packet.header.seq.0, packet.retransmitted)).collect()
        };
        assert_eq!(copies(&mut stage, Time::us(1)), [(0, false), (1, false), (2, false)], "{mode:?}");
        assert_eq!(stage.source.wake_at(), Time::us(1) + Time::ms(1), "the time-out");
        stage.source.expire(Time::ms(2), &mut stage.out);
        assert_eq!(copies(&mut stage, Time::ms(2)), [(0, true), (1, true), (2, true)], "{mode:?}");
        let counters = stage.source.counters();
        assert_eq!((counters.sent.get(), counters.resent.get(), counters.slow.get()), (6, 3, 0), "{mode:?}");
        let timeouts = if mode == Mode::GoBackN { 1 } else { 3 };
        assert_eq!((counters.timeouts.get(), stage.source.outstanding(id)), (timeouts, 3), "{mode:?}");
    }
}

/// Answers to nothing are counted; a FIN-ACK to a FIN is none of them.
#[test]
fn answers_to_nothing_are_stray() {
    let mut stage = Stage::new(SourceOptions { fast_from: 1, ..SourceOptions::default() });
    stage.open(Mode::Ordered, false, 1, true);
    let sent = stage.send_all();
    let stray = |stage: &Stage| stage.source.counters().stray.get();
    stage.acknowledge(&sent[0]);
    assert_eq!((stray(&stage), &stage.out.finished[..]), (0, &[0][..]));
    stage.acknowledge(&sent[0]);
    assert_eq!(stray(&stage), 1, "the stream is not there any more");
    let fin = stage.send_all();
    assert_eq!((fin[0].kind, stage.source.counters().fins.get()), (Kind::Fin, 1));
    stage.arrive(fin[0].answer(Kind::FinAck));
    assert_eq!((stray(&stage), stage.source.is_idle()), (1, true));
    stage.arrive(fin[0].answer(Kind::FinAck));
    assert_eq!(stray(&stage), 2);
}

/// An ordered stream gives its connection back when it has nothing to send, or at its end: as its options say. Others keep theirs.
#[test]
fn connections_close_when_idle_or_at_the_end() {
    for (mode, close, closes) in [
        (Mode::Ordered, Close::Idle, true),
        (Mode::Ordered, Close::End, false),
        (Mode::Selective, Close::Idle, false),
        (Mode::GoBackN, Close::Idle, false),
        (Mode::GoBackN, Close::End, false),
    ] {
        let mut stage = Stage::new(SourceOptions { close, fast_from: 1, ..SourceOptions::default() });
        let id = stage.open(mode, false, 1, false);
        let mut answer = stage.send_all()[0];
        if mode != Mode::Ordered {
            answer.seq = Seq(1);
        }
        stage.acknowledge(&answer);
        assert_eq!(stage.acknowledged(), [0], "{mode:?}");
        assert_eq!(stage.source.peek_fin().is_some(), closes, "{mode:?} {close:?}");
        // The end of the stream.
        stage.source.offer(id, 1, true);
        let last = stage.send_all();
        let mut answer = *last.last().unwrap();
        if mode != Mode::Ordered {
            answer.seq = Seq(2);
        }
        stage.acknowledge(&answer);
        assert_eq!((stage.acknowledged(), &stage.out.finished[..]), (vec![1], &[0][..]), "{mode:?}");
        assert!(stage.source.peek_fin().is_some(), "{mode:?} {close:?}");
    }
}

/// Bit i of an acknowledgement stands for the packet i after SEQ; before SEQ all have arrived. An acknowledgement that others have overtaken
/// counts from where it did.
#[test]
fn selective_acknowledgements_name_packets_by_bits() {
    for (answers, expected) in [
        (&[(0_u16, 0b10_1100_u64)][..], vec![2, 3, 5]),
        (&[(2, 0b1010)], vec![0, 1, 3, 5]),
        (&[(2, 0), (0, 0b11_1000)], vec![0, 1, 3, 4, 5]),
        (&[(3, 0), (1, 0b10_0000)], vec![0, 1, 2]),
        (&[(3, 0), (1, 0b01_0010)], vec![0, 1, 2, 5]),
        (&[(6, 0)], vec![0, 1, 2, 3, 4, 5]),
        // More than was sent.
        (&[(7, 0)], vec![]),
        (&[(0, 0b100_0000)], vec![]),
    ] {
        let mut stage = Stage::new(SourceOptions::default());
        stage.open(Mode::Selective, false, 8, false);
        let sent: Vec<Header> = (0..6).map(|_| stage.source.next(Time::us(1)).unwrap().header).collect();
        for &(seq, word) in answers {
            let answer = sent[0].answer(Kind::Ack);
            stage.arrive(Header { seq: Seq(seq), word, flags: Flags::CON, ..answer });
        }
        assert_eq!(stage.acknowledged(), expected, "{answers:?}");
    }
}

/// A rejection of a selective packet acknowledges nothing.
#[test]
fn a_rejection_is_counted_by_its_reason() {
    for (reason, counts) in [
        (Reason::NoConnection, [1, 0, 0]),
        (Reason::BufferFull, [0, 1, 0]),
        (Reason::NoReplay, [0, 0, 1]),
        (Reason::Held, [0, 0, 0]),
    ] {
        let mut stage = Stage::new(SourceOptions::default());
        stage.open(Mode::Selective, false, 2, true);
        let sent = stage.send_all();
        stage.refuse(&sent[1], reason);
        let counters = stage.source.counters();
        let counted =
            [&counters.no_connection, &counters.buffer_full, &counters.no_replay].map(|of| of.get());
        assert_eq!((counted, stage.acknowledged()), (counts, vec![]), "{reason:?}");
    }
}

/// Go-back-N: a NACK restarts at the packet that it names; without a connection only the oldest is tried, until there is one.
#[test]
fn go_back_n_restarts_where_a_nack_says() {
    for (reason, connected, again) in [
        (Reason::OutOfSequence, true, vec![1, 2, 3]),
        (Reason::OutOfSequence, false, vec![1, 2, 3]),
        (Reason::NoConnection, false, vec![1]),
        (Reason::NoConnection, true, vec![1, 2, 3]),
    ] {
        let mut stage = Stage::new(SourceOptions::default());
        stage.open(Mode::GoBackN, false, 4, true);
        let sent = stage.send_all();
        assert_eq!(numbers(&sent), [0, 1, 2, 3]);
        let flags = if connected { Flags::CON } else { Flags::NONE };
        stage.arrive(Header { seq: Seq(1), flags, ..sent[0].answer(Kind::Ack) });
        stage.arrive(Header { seq: Seq(1), reason, flags: Flags::NONE, ..sent[1].answer(Kind::Nack) });
        let sent = stage.send_all();
        assert_eq!(numbers(&sent), again, "{reason:?} {connected}");
        stage.arrive(Header { seq: Seq(2), flags: Flags::CON, ..sent[0].answer(Kind::Ack) });
        let rest = if again.len() == 1 { vec![2, 3] } else { vec![] };
        assert_eq!((numbers(&stage.send_all()), stage.acknowledged()), (rest, vec![0, 1]));
    }
}

/// An acknowledgement of a copy from before going back counts, although its packets count as not sent since.
#[test]
fn late_acknowledgements_count_after_going_back() {
    let mut stage = Stage::new(SourceOptions::default());
    let id = stage.open(Mode::GoBackN, false, 4, false);
    let sent = stage.send_all();
    let nack = Header { seq: Seq(1), reason: Reason::OutOfSequence, ..sent[1].answer(Kind::Nack) };
    stage.arrive(Header { flags: Flags::CON, ..nack });
    assert_eq!((stage.acknowledged(), stage.source.outstanding(id)), (vec![], 1));
    stage.arrive(Header { seq: Seq(3), flags: Flags::CON, ..sent[0].answer(Kind::Ack) });
    assert_eq!((stage.acknowledged(), stage.source.outstanding(id)), (vec![0, 1, 2], 0));
    assert_eq!(numbers(&stage.send_all()), [3]);
    // As far as there are packets.
    stage.arrive(Header { seq: Seq(5), flags: Flags::CON, ..sent[0].answer(Kind::Ack) });
    assert!(stage.acknowledged().is_empty());
}
