use super::*;
use crate::ordering::{Cid, Seq};

const FROM: HostId = HostId(4);

/// Answers and deliveries.
#[derive(Default)]
struct Out {
    answers: Vec<(HostId, Header)>,
    delivered: Vec<(Ticket, u32)>,
}

impl TargetOutbox<u32> for Out {
    fn respond(&mut self, to: HostId, header: Header) {
        self.answers.push((to, header));
    }
    fn deliver(&mut self, ticket: Ticket, payload: u32) {
        self.delivered.push((ticket, payload));
    }
}

/// A target whose operations are visible at once and return 100 more than their payload.
struct Stage {
    target: Target<u32>,
    out: Out,
}

impl Stage {
    fn new(options: TargetOptions) -> Self {
        Self { target: Target::new(options).unwrap(), out: Out::default() }
    }

    /// A packet arrives; returns the answers.
    fn arrive(&mut self, header: Header) -> Vec<Header> {
        self.hand_in(header);
        for (ticket, payload) in std::mem::take(&mut self.out.delivered) {
            self.target.visible(ticket, u64::from(payload) + 100, &mut self.out);
        }
        self.out.answers.drain(..).map(|(_, header)| header).collect()
    }

    /// A packet arrives whose operation is not visible yet; its payload is its number.
    fn hand_in(&mut self, header: Header) {
        self.target.arrive(FROM, header, Some(u32::from(header.seq.0)), &mut self.out);
    }
}

fn request(transfer: Transfer, seq: u16) -> Header {
    Header { transfer, cid: Cid(3), seq: Seq(seq), ..Header::default() }
}

/// An exactly-once packet whose source knows that the `offset` packets before it are the oldest that are not acknowledged.
fn exactly_once(seq: u16, offset: u64) -> Header {
    let flags = Flags::EOD.with(Flags::OFFSET);
    Header { flags, word: offset, ..request(Transfer::Ordered, seq) }
}

/// With 16 numbers, packets up to 7 back can be compared. Offsets free the results before them, those of late copies, too; a copy that carries one from
/// before that is passed over.
#[test]
fn offsets_free_results_as_far_as_they_can_be_compared() {
    let mut stage = Stage::new(TargetOptions { sequence_bits: 4, ..TargetOptions::default() });
    for seq in 0..6 {
        stage.arrive(exactly_once(seq, u64::from(seq)));
        assert_eq!(stage.target.replay_buffers(), usize::from(seq) + 1);
    }
    // A late copy of packet 4 from when packet 2 was the oldest.
    stage.arrive(exactly_once(4, 2));
    assert_eq!(stage.target.replay_buffers(), 4);
    // A packet ahead, from when packet 3 was.
    assert_eq!(stage.arrive(exactly_once(7, 4)), []);
    assert_eq!((stage.target.replay_buffers(), stage.target.reorder_buffer().len()), (3, 1));
    // Packet 6 is delivered, and the one that waits behind it. Only these two have not been acknowledged.
    let answers = stage.arrive(exactly_once(6, 0));
    assert_eq!(answers.iter().map(Header::result).collect::<Vec<_>>(), [106, 107]);
    assert_eq!(stage.target.replay_buffers(), 2);
    stage.arrive(exactly_once(8, 1));
    stage.arrive(exactly_once(9, 0));
    assert_eq!(stage.target.replay_buffers(), 1);
    // 3 back and 7 before that: packet 0 was the oldest, which looks like one that is ahead.
    let answers = stage.arrive(exactly_once(7, 7));
    assert_eq!((answers.len(), stage.target.replay_buffers()), (1, 1));
    let answers = stage.arrive(exactly_once(9, 0));
    assert_eq!((answers[0].kind, answers[0].result()), (Kind::Ack, 109));
}

/// An ordered exactly-once packet that starts the sequence, or not.
fn ordered(seq: u16, flags: Flags) -> Header {
    Header { flags: flags.with(Flags::EOD), ..request(Transfer::Ordered, seq) }
}

/// With 16 numbers a source has at most 8 outstanding: when a packet comes, the one 8 before it has been acknowledged.
#[test]
fn results_are_kept_for_half_of_the_numbers() {
    let mut stage = Stage::new(TargetOptions { sequence_bits: 4, ..TargetOptions::default() });
    for seq in 0..20_u16 {
        let flags = if seq == 0 { Flags::SYN } else { Flags::NONE };
        stage.arrive(ordered(seq % 16, flags));
        assert_eq!(stage.target.replay_buffers(), usize::from(seq + 1).min(8), "packet {seq}");
    }
    assert_eq!((stage.target.open_connections(), stage.target.most_replay_buffers()), (1, 8));
    // Packets 12 to 19 are kept. A late copy of packet 17 tells that 13 was the oldest: 7 before the next one, which can be compared.
    let copy = Header { word: 4, ..ordered(1, Flags::OFFSET) };
    stage.arrive(copy);
    assert_eq!(stage.target.replay_buffers(), 7);
}

/// A packet whose operation is being executed is notified that an answer will follow; go-back-N acknowledges what is visible before it.
#[test]
fn a_copy_of_what_is_being_executed_is_held() {
    let mut stage = Stage::new(TargetOptions::default());
    stage.hand_in(ordered(0, Flags::SYN));
    stage.hand_in(ordered(0, Flags::SYN));
    let (_, answer) = stage.out.answers.pop().unwrap();
    assert_eq!((answer.kind, answer.reason, stage.out.delivered.len()), (Kind::Nack, Reason::Held, 1));
    let answers = stage.arrive(ordered(0, Flags::SYN));
    // The NACK of the third copy, and the ACK of the first.
    let seen: Vec<_> = answers.iter().map(|answer| (answer.kind, answer.reason, answer.word)).collect();
    assert_eq!(seen, [(Kind::Nack, Reason::Held, 0), (Kind::Ack, Reason::None, 100)]);
    let answers = stage.arrive(ordered(0, Flags::SYN));
    assert_eq!((answers[0].kind, answers[0].word), (Kind::Ack, 100), "the result is kept");
    let mut stage = Stage::new(TargetOptions::default());
    (0..3).for_each(|seq| stage.hand_in(request(Transfer::GoBackN, seq)));
    let (ticket, _) = stage.out.delivered.remove(0);
    stage.target.visible(ticket, 0, &mut stage.out);
    stage.hand_in(request(Transfer::GoBackN, 1));
    let seen: Vec<_> = stage.out.answers.iter().map(|(_, answer)| (answer.kind, answer.seq)).collect();
    assert_eq!(seen, [(Kind::Ack, Seq(1)), (Kind::Ack, Seq(1))]);
    assert_eq!(stage.target.counters().duplicates.get(), 1);
}

/// Without room in the reorder buffer a packet is rejected. A connection that knows nothing else is closed again; one that has begun, or that holds another
/// packet, stays, and the answer says so.
#[test]
fn a_rejected_packet_leaves_no_connection_behind() {
    let options = TargetOptions { reorder_capacity: 1, ..TargetOptions::default() };
    for (before, kept) in [(None, false), (Some(ordered(0, Flags::SYN)), true)] {
        let mut stage = Stage::new(options);
        // Another connection fills the buffer.
        stage.arrive(Header { cid: Cid(9), ..ordered(5, Flags::NONE) });
        if let Some(header) = before {
            stage.arrive(header);
        }
        let answers = stage.arrive(ordered(2, Flags::NONE));
        let expected = (Kind::Nack, Reason::BufferFull, kept);
        let seen = (answers[0].kind, answers[0].reason, answers[0].flags.has(Flags::CON));
        assert_eq!((seen, stage.target.open_connections()), (expected, 1 + u32::from(kept)));
    }
    // A synchronized transfer begins with its first packet, whichever it is.
    let mut stage = Stage::new(options);
    stage.arrive(Header { cid: Cid(9), ..ordered(5, Flags::NONE) });
    let last = Header { word: 3, flags: Flags::LAST, ..request(Transfer::Synchronized, 2) };
    let answers = stage.arrive(last);
    assert_eq!((answers[0].reason, answers[0].flags.has(Flags::CON)), (Reason::BufferFull, true));
    let mut stage = Stage::new(options);
    assert_eq!(stage.arrive(ordered(2, Flags::NONE)), []);
    let answers = stage.arrive(ordered(3, Flags::NONE));
    assert!(answers[0].flags.has(Flags::CON), "it holds packet 2");
    assert_eq!((stage.target.open_connections(), stage.target.reorder_buffer().len()), (1, 1));
    // The start, and what has waited.
    let results: Vec<u64> = stage.arrive(ordered(1, Flags::SYN)).iter().map(Header::result).collect();
    assert_eq!(results, [101, 102]);
}

/// Section III-E: the synchronization operation is executed when as many operations as it counts are visible, itself included; each packet once.
#[test]
fn the_synchronization_operation_comes_after_all_data() {
    let mut stage = Stage::new(TargetOptions::default());
    let data = |seq| request(Transfer::Synchronized, seq);
    let last = Header { word: 4, flags: Flags::LAST.with(Flags::EOD), ..data(3) };
    stage.hand_in(data(1));
    stage.hand_in(last);
    stage.hand_in(data(2));
    stage.hand_in(data(2));
    let seen: Vec<_> = stage.out.answers.drain(..).map(|(_, answer)| (answer.kind, answer.reason)).collect();
    assert_eq!(seen, [(Kind::Nack, Reason::Held)], "the copy of 2, which is being executed");
    let payloads =
        |stage: &Stage| stage.out.delivered.iter().map(|(_, payload)| *payload).collect::<Vec<_>>();
    assert_eq!((payloads(&stage), stage.target.reorder_buffer().len()), (vec![1, 2], 1));
    for (ticket, payload) in std::mem::take(&mut stage.out.delivered) {
        stage.target.visible(ticket, u64::from(payload), &mut stage.out);
    }
    assert!(payloads(&stage).is_empty());
    stage.out.answers.clear();
    // A copy of what is visible changes nothing.
    assert_eq!(stage.arrive(data(1)).len(), 1);
    let answers = stage.arrive(data(0));
    assert_eq!((answers.len(), payloads(&stage)), (1, vec![3]));
    let (ticket, _) = stage.out.delivered.remove(0);
    assert!(ticket.is_last() && ticket.reordered);
    stage.target.visible(ticket, 77, &mut stage.out);
    let (_, answer) = stage.out.answers.pop().unwrap();
    assert_eq!((answer.kind, answer.seq, answer.result()), (Kind::Ack, Seq(3), 77));
    assert_eq!((stage.target.open_connections(), stage.target.reorder_buffer().len()), (1, 0));
}

/// Every packet of a selective transfer is delivered once; the answer has the first that is missing, and a bit for each behind it.
#[test]
fn selective_packets_are_delivered_once() {
    for transfer in [Transfer::Selective, Transfer::SelectiveOrdered] {
        let mut stage = Stage::new(TargetOptions::default());
        let mut seen = Vec::new();
        for seq in [0, 2, 2, 5, 5, 2, 1, 63, 67, 0] {
            stage.hand_in(request(transfer, seq));
            let (_, answer) = stage.out.answers.pop().unwrap();
            seen.push((seq, answer.kind == Kind::Ack, answer.seq.0, answer.word));
        }
        let far = 1 << 60;
        let expected = [
            (0, true, 1, 0),
            (2, true, 1, 0b10),
            (2, true, 1, 0b10),
            (5, true, 1, 0b1_0010),
            (5, true, 1, 0b1_0010),
            (2, true, 1, 0b1_0010),
            (1, true, 3, 0b100),
            (63, true, 3, far | 0b100),
            // 64 behind the first that is missing: out of reach.
            (67, false, 67, 0),
            (0, true, 3, far | 0b100),
        ];
        assert_eq!(seen, expected, "{transfer:?}");
        let delivered: Vec<u32> = stage.out.delivered.iter().map(|(_, payload)| *payload).collect();
        let in_order = transfer == Transfer::SelectiveOrdered;
        assert_eq!(delivered, if in_order { vec![0, 1, 2] } else { vec![0, 2, 5, 1, 63] });
        assert_eq!(stage.target.counters().duplicates.get(), 4);
    }
}

/// FIN frees what the connection has, and is answered, also if there is none; while operations are executed or packets held it is ignored.
#[test]
fn fin_closes_an_idle_connection() {
    let mut stage = Stage::new(TargetOptions::default());
    let fin = Header { kind: Kind::Fin, transfer: Transfer::Ordered, cid: Cid(3), ..Header::default() };
    let answer = Header { kind: Kind::FinAck, ..fin };
    assert_eq!((stage.arrive(fin), stage.target.is_idle()), (vec![answer], true));
    stage.arrive(ordered(0, Flags::SYN));
    stage.arrive(ordered(2, Flags::NONE));
    assert_eq!((stage.arrive(fin), stage.target.is_idle()), (vec![], false));
    stage.hand_in(ordered(1, Flags::NONE));
    stage.target.arrive(FROM, fin, None, &mut stage.out);
    assert!(stage.out.answers.is_empty(), "two operations are being executed");
    for (ticket, payload) in std::mem::take(&mut stage.out.delivered) {
        stage.target.visible(ticket, u64::from(payload), &mut stage.out);
    }
    stage.out.answers.clear();
    assert_eq!((stage.arrive(fin), stage.target.is_idle()), (vec![answer], true));
    assert_eq!((stage.target.replay_buffers(), stage.target.open_connections()), (0, 0));
}
