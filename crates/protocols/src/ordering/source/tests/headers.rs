//! Headers of packets.

use super::*;

/// What the packets of each transfer carry when nothing has been answered: transfer, flags, true for a connection, CNT or offset.
#[test]
fn packets_carry_what_their_transfer_needs() {
    use Mode::{GoBackN, Ordered, Selective, SelectiveOrdered, SourceSynchronized, Synchronized, Unordered};
    let (none, syn, eod, slow, last) = (Flags::NONE, Flags::SYN, Flags::EOD, Flags::SLOW, Flags::LAST);
    let packet =
        |transfer: Transfer, flags: Flags, has_cid: bool, word: u64| (transfer, flags, has_cid, word);
    let plain = |transfer| {
        vec![packet(transfer, syn, true, 0), packet(transfer, none, true, 0), packet(transfer, last, true, 0)]
    };
    let data = packet(Transfer::Unordered, none, false, 0);
    let once = |flags: Flags| packet(Transfer::Ordered, eod.with(flags), true, 0);
    let table = [
        (Unordered, false, vec![data, data, packet(Transfer::Unordered, last, false, 0)]),
        (Ordered, false, plain(Transfer::Ordered)),
        (Ordered, true, vec![once(syn), once(none), once(last)]),
        (GoBackN, false, plain(Transfer::GoBackN)),
        (Selective, false, plain(Transfer::Selective)),
        (SelectiveOrdered, true, plain(Transfer::SelectiveOrdered)),
        (
            Synchronized,
            true,
            vec![
                packet(Transfer::Synchronized, syn, true, 0),
                packet(Transfer::Synchronized, none, true, 0),
                packet(Transfer::Synchronized, last.with(eod), true, 3),
            ],
        ),
        // The synchronization operation waits.
        (SourceSynchronized, false, vec![data, data]),
        (SourceSynchronized, true, vec![data, data]),
        // One at a time, and without a connection if it may be executed twice.
        (Mode::SourceOrdered, false, vec![packet(Transfer::Ordered, slow, false, 0)]),
        (Mode::SourceOrdered, true, vec![once(syn)]),
    ];
    for (mode, exactly_once, expected) in table {
        let mut stage = Stage::new(SourceOptions { fast_from: 1, ..SourceOptions::default() });
        stage.open(mode, exactly_once, 3, true);
        let sent = stage.send_all();
        let seen: Vec<_> = sent
            .iter()
            .map(|header| (header.transfer, header.flags, header.cid.stream().is_none(), header.word))
            .collect();
        assert_eq!(seen, expected, "{mode:?}, exactly once: {exactly_once}");
        let answered: Vec<(Kind, Reason)> = sent.iter().map(|header| (header.kind, header.reason)).collect();
        assert!(answered.iter().all(|of| *of == (Kind::Req, Reason::None)));
        assert_eq!(numbers(&sent), (0..sent.len() as u16).collect::<Vec<_>>());
        if mode == SourceSynchronized {
            // The synchronization operation, as an ordered packet of its own.
            for header in &sent {
                stage.acknowledge(header);
            }
            let flags = if exactly_once { syn.with(eod).with(last) } else { slow.with(last) };
            let header = stage.send_all()[0];
            assert_eq!((header.transfer, header.flags), (Transfer::Ordered, flags), "{exactly_once}");
            assert_eq!(header.cid.stream().is_none(), exactly_once);
        }
    }
}

/// Offsets in packets: never, until the target is known to have a connection, or always; counted from the oldest that is not acknowledged.
#[test]
fn packets_carry_their_distance_from_the_oldest() {
    for (start_offset, before, after) in [
        (StartOffset::Never, [None; 3], [None; 2]),
        (StartOffset::UntilFirstAck, [Some(0), Some(1), Some(2)], [None; 2]),
        (StartOffset::Always, [Some(0), Some(1), Some(2)], [Some(2), Some(3)]),
    ] {
        let mut stage = Stage::new(SourceOptions { start_offset, fast_from: 1, ..SourceOptions::default() });
        let id = stage.open(Mode::Ordered, false, 3, false);
        let sent = stage.send_all();
        let offsets = |sent: &[Header]| sent.iter().map(Header::offset).collect::<Vec<_>>();
        assert_eq!(offsets(&sent), before, "{start_offset:?}");
        // The first is acknowledged: the oldest is the second. The third stays in the window.
        stage.acknowledge(&sent[0]);
        stage.acknowledge(&sent[2]);
        stage.source.offer(id, 3, false);
        stage.source.offer(id, 4, true);
        let sent = stage.send_all();
        assert_eq!((numbers(&sent), offsets(&sent)), (vec![3, 4], after.to_vec()), "{start_offset:?}");
        assert!(sent.iter().all(|header| !header.flags.has(Flags::SYN)));
    }
}

/// An ordered stream takes a connection from as many waiting packets on as its options say, the one to be sent included.
#[test]
fn few_packets_need_no_connection() {
    for (fast_from, packets, has_cid) in [(1, 1, true), (3, 2, false), (3, 3, true), (4, 3, false)] {
        let mut stage = Stage::new(SourceOptions { fast_from, ..SourceOptions::default() });
        stage.open(Mode::Ordered, false, packets, true);
        let sent = stage.send_all();
        let expected = if has_cid { packets as usize } else { 1 };
        assert_eq!(sent.len(), expected, "{packets} of {fast_from}");
        assert_eq!(sent[0].cid.stream().is_none(), has_cid, "{packets} of {fast_from}");
    }
    // Counted from the packet that is to be sent.
    let mut stage = Stage::new(SourceOptions { fast_from: 3, ..SourceOptions::default() });
    stage.open(Mode::Ordered, false, 2, false);
    let sent = stage.send_all();
    stage.acknowledge(&sent[0]);
    stage.source.offer(StreamId(0), 2, false);
    assert!(stage.send_all()[0].cid.stream().is_some(), "two packets");
}
