//! Headers that no correct peer sends: whatever comes in by a port, nothing panics and no bound is passed.

use fabricsim_units::{HostId, Time};
use proptest::prelude::*;

use crate::ordering::{
    Cid, Flags, Header, Kind, Mode, Reason, Seq, Source, SourceOptions, SourceOutbox, StreamId, Target,
    TargetOptions, TargetOutbox, Ticket, Transfer,
};

#[derive(Default)]
struct Out(Vec<Ticket>);

impl TargetOutbox<u8> for Out {
    fn respond(&mut self, _: HostId, _: Header) {}
    fn deliver(&mut self, ticket: Ticket, _: u8) {
        self.0.push(ticket);
    }
}

impl SourceOutbox<u8> for Out {
    fn acknowledged(&mut self, _: StreamId, _: u8, _: u64) {}
    fn room(&mut self, _: StreamId) {}
    fn finished(&mut self, _: StreamId) {}
}

const MODES: [Mode; 8] = [
    Mode::Unordered,
    Mode::SourceOrdered,
    Mode::Ordered,
    Mode::SourceSynchronized,
    Mode::Synchronized,
    Mode::GoBackN,
    Mode::Selective,
    Mode::SelectiveOrdered,
];

/// Few connections and numbers, so that headers meet.
fn header() -> impl Strategy<Value = Header> {
    let cid = prop_oneof![4 => 0_u16..3, 1 => 0x8000_u16..0x8003, 1 => any::<u16>()];
    let seq = prop_oneof![4 => 0_u16..10, 1 => any::<u16>()];
    let word = prop_oneof![4 => 0_u64..10, 1 => any::<u64>()];
    (0_u8..5, 0_u8..6, any::<u8>(), 0_u8..6, cid, seq, word).prop_map(
        |(kind, transfer, flags, reason, cid, seq, word)| {
            let base =
                Header { flags: Flags(flags), cid: Cid(cid), seq: Seq(seq), word, ..Header::default() };
            let mut bytes = base.to_bytes();
            (bytes[0], bytes[1], bytes[3]) = (kind, transfer, reason);
            Header::from_bytes(&bytes).expect("all fields are in range")
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_target_stands_any_header(
        headers in prop::collection::vec((0_u32..2, header(), any::<bool>()), 1..200),
        sequence_bits in prop_oneof![Just(3_u8), Just(16)],
    ) {
        let options = TargetOptions {
            connections: 2,
            reorder_capacity: 4,
            reorder_ring: 2,
            reorder_cache: 2,
            replay: 3,
            sequence_bits,
            ..TargetOptions::default()
        };
        let mut target = Target::new(options).expect("the options are good");
        let mut out = Out::default();
        for (from, header, executes) in headers {
            target.arrive(HostId(from), header, Some(7), &mut out);
            if executes {
                for ticket in std::mem::take(&mut out.0) {
                    target.visible(ticket, 5, &mut out);
                }
            }
            prop_assert!(target.open_connections() <= 2 && target.reorder_buffer().len() <= 4);
        }
    }

    #[test]
    fn a_source_stands_any_answer(
        mode in 0_usize..8,
        exactly_once: bool,
        steps in prop::collection::vec((header(), any::<bool>()), 1..200),
    ) {
        let options = SourceOptions {
            streams: 2,
            connections: 2,
            outstanding: 3,
            sequence_bits: 4,
            timeout: Time(50),
            lifetime: Time(30),
            ..SourceOptions::default()
        };
        let mut source = Source::new(options).expect("the options are good");
        let stream = source.open(HostId(1), MODES[mode], exactly_once).expect("there is room");
        let mut out = Out::default();
        let mut offered = 0;
        for (now, (header, answers)) in (0_u64..).step_by(10).zip(steps) {
            if offered < 20 && source.has_room(stream) {
                offered += 1;
                source.offer(stream, 7, offered == 20);
            }
            let sent = source.next(Time(now));
            // As a rule it is nearly an answer to what has just been sent.
            let header = match sent {
                Some(packet) if answers => Header {
                    kind: header.kind,
                    reason: header.reason,
                    flags: header.flags,
                    word: header.word,
                    ..packet.header
                },
                _ => header,
            };
            source.arrive(HostId(1), header, &mut out);
            source.expire(Time(now), &mut out);
        }
    }
}

#[test]
fn the_names_of_a_header_are_what_they_were() {
    // What is on a wire does not change by itself.
    let header = Header {
        kind: Kind::Nack,
        transfer: Transfer::Synchronized,
        flags: Flags::CON.with(Flags::SYN),
        reason: Reason::Held,
        cid: Cid(0x0102),
        seq: Seq(0x0304),
        word: 0x0506,
    };
    assert_eq!(header.to_bytes(), [2, 2, 5, 4, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 5, 6]);
}
