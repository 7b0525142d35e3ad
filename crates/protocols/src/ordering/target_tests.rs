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
    assert_eq!(answers.iter().map(|answer| answer.result()).collect::<Vec<_>>(), [106, 107]);
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
