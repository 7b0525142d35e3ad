//! Readers of DUMPI, Chakra and time-independent traces: given files, small texts, damage.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufReader, Cursor};
use std::path::PathBuf;

use fabricsim_traces::events::{Blocks, Collective, CollectiveCall, Event, Trace};
use fabricsim_traces::loggp::{Parameters, simulate};
use fabricsim_traces::records::COLLECTIVES;
use fabricsim_traces::{Format, Kind, Options, Schedule, chakra, dumpi, ti};
use proptest::prelude::*;
use support::{count, reference};

const STATED: Parameters = Parameters { L: 1000, o: 100, g: 10, G: 0, O: 0, S: 65535 };

fn ends(schedule: &Schedule) -> Vec<u64> {
    let outcome = simulate(schedule, &STATED).unwrap();
    assert_eq!((outcome.unmatched, outcome.unfinished), (vec![], vec![]));
    outcome.ends_ns
}

/// A schedule in which rank `n` of `ranks` makes one collective call.
fn collective(ranks: u32, call: impl Fn(u32) -> CollectiveCall) -> Schedule {
    let events = (0..ranks).map(|rank| vec![Event::Collective { call: call(rank), request: None }]).collect();
    Trace { ranks: events, groups: BTreeMap::new() }.expand("x").unwrap()
}

fn same(kind: Collective, bytes: u64, root: u32) -> CollectiveCall {
    CollectiveCall { kind, communicator: 0, root, send: Blocks::Same(bytes), receive: Blocks::Same(bytes) }
}

/// Messages of Open MPI 2.0.0's algorithms: `n ceil(log2 n)` for a barrier, `n - 1` for a reduction, `p log2 p + 2 (n - p)`
/// for an allreduce, with `p` the largest power of two that is not above `n`.
#[test]
fn collectives_have_the_number_of_messages_of_open_mpi() {
    let sends = |ranks, kind| count(&collective(ranks, |_| same(kind, 8, 0)), Kind::Send);
    assert_eq!([8, 6].map(|ranks| sends(ranks, Collective::Barrier)), [24, 18]);
    assert_eq!([8, 6].map(|ranks| sends(ranks, Collective::Reduce)), [7, 5]);
    assert_eq!([8, 6].map(|ranks| sends(ranks, Collective::Allreduce)), [24, 12]);
}

/// Bytes that each rank receives at least, whatever the algorithm: those that are not its own.
fn least(kind: Collective, ranks: u64, bytes: u64, rank: u32, root: u32) -> u64 {
    match kind {
        Collective::Bcast | Collective::Scatter if rank != root => bytes,
        Collective::Gather if rank == root => (ranks - 1) * bytes,
        Collective::Allgather | Collective::Alltoall | Collective::ReduceScatter => (ranks - 1) * bytes,
        _ => 0,
    }
}

#[test]
fn every_collective_matches_and_moves_its_bytes_for_any_number_of_ranks() {
    for kind in COLLECTIVES {
        for ranks in 1..=33 {
            for (bytes, root) in [(8, 0), (1000, ranks / 2), (20_000, ranks - 1)] {
                let schedule = collective(ranks, |_| same(kind, bytes, root));
                ends(&schedule);
                for (rank, of) in schedule.ranks.iter().enumerate() {
                    let received = of.operations().iter().filter(|one| one.kind == Kind::Recv);
                    let received: u64 = received.map(|one| one.size).sum();
                    let least = least(kind, u64::from(ranks), bytes, rank as u32, root);
                    assert!(received >= least, "{kind:?} {ranks} {bytes}: {received} {least}");
                }
            }
        }
    }
}

#[test]
fn ranks_that_differ_in_their_collectives_are_named() {
    let events = |kind: Collective| vec![Event::Collective { call: same(kind, 8, 0), request: None }];
    let trace = |ranks| Trace { ranks, groups: BTreeMap::new() }.expand("x.ti").unwrap_err().to_string();
    let kinds = trace(vec![events(Collective::Barrier), events(Collective::Bcast)]);
    assert_eq!(
        kinds,
        "x.ti: rank 1: collective 0 of communicator 0 is Bcast with root 0, and rank 0 calls Barrier with root 0"
    );
    let counts = trace(vec![events(Collective::Barrier), vec![]]);
    assert_eq!(counts, "x.ti: rank 1 ends after 0 collectives of communicator 0, other ranks have 1");
    let root =
        trace(vec![vec![Event::Collective { call: same(Collective::Bcast, 8, 2), request: None }], vec![]]);
    assert_eq!(root, "x.ti: rank 0: root 2 of a collective: must be 0 to 1");
}

#[test]
fn the_given_dumpi_trace_has_the_calls_that_its_text_lists() {
    let Some(folder) = reference("dumpi") else { return };
    let listed = fs::read_to_string(folder.join("callcounts-single.txt")).unwrap();
    let mut expected = BTreeMap::new();
    for line in listed.lines().filter(|line| line.starts_with("MPI_")) {
        let (name, rest) = line.split_once(" called ").unwrap();
        let calls: u64 = rest.split(' ').next().unwrap().parse().unwrap();
        if calls > 0 {
            expected.insert(name.strip_prefix("MPI_").unwrap().to_owned(), calls);
        }
    }
    for rank in 0..4 {
        let bytes = fs::read(folder.join(format!("testtrace-000{rank}.bin"))).unwrap();
        let counts = dumpi::count_calls(&mut BufReader::new(Cursor::new(bytes)), "x.bin").unwrap();
        let counts: BTreeMap<String, u64> =
            counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
        assert_eq!(counts, expected);
    }
}

/// A ring of four ranks with 4 bytes and tag 1337, between a barrier and an allreduce of 4 bytes; the times of computation
/// are those between return and entry in `testtrace-0000.txt`.
#[test]
fn the_given_dumpi_trace_becomes_its_schedule() {
    let Some(folder) = reference("dumpi") else { return };
    for name in ["testtrace.meta", "testtrace-0002.bin"] {
        let schedule = Format::Dumpi.read(&folder.join(name), &Options::default()).unwrap();
        assert_eq!(schedule.ranks.len(), 4);
        let ring = |rank: usize, kind| {
            let all = schedule.ranks[rank].operations().iter();
            all.filter(|one| one.kind == kind && one.tag == 1337)
                .map(|one| (one.peer, one.size))
                .collect::<Vec<_>>()
        };
        for rank in 0..4usize {
            assert_eq!(ring(rank, Kind::Send), [((rank as u32 + 1) % 4, 4)]);
            assert_eq!(ring(rank, Kind::Recv), [((rank as u32 + 3) % 4, 4)]);
        }
        assert_eq!(count(&schedule, Kind::Send), 4 + 2 * 8);
        let first = schedule.ranks[0].operations().iter();
        let computed: Vec<u64> =
            first.filter(|one| one.kind == Kind::Calc).map(|one| one.size / 1000).collect();
        assert_eq!(computed, [24, 6, 7, 15, 10, 8, 15, 7]);
        ends(&schedule);
    }
}

#[test]
fn damaged_dumpi_files_have_messages_with_their_place() {
    let Some(folder) = reference("dumpi") else { return };
    let good = fs::read(folder.join("testtrace-0000.bin")).unwrap();
    let message = |bytes: &[u8]| {
        dumpi::count_calls(&mut BufReader::new(Cursor::new(bytes)), "x.bin").unwrap_err().to_string()
    };
    let cut = message(&good[..good.len() - 9]);
    assert_eq!(
        cut,
        "x.bin: byte 2951: no index at the end, byte 2951: the file was cut short, or its program did not end"
    );
    let mut swapped = good.clone();
    swapped[..8].reverse();
    assert_eq!(message(&swapped), "x.bin: byte 0: foreign byte order: a DUMPI file is big endian");
    let mut negative = good.clone();
    // The count of the call of MPI_Isend at byte 0x9f.
    negative[0xbc] = 0xff;
    assert_eq!(message(&negative), "x.bin: byte 159: MPI_Isend: a count of -16777215: must be 0 or more");
    let mut long = good.clone();
    // The number of statuses of MPI_Wait.
    let wait = good.windows(4).position(|bytes| bytes == 1606419960u32.to_be_bytes()).unwrap() - 4;
    long[wait] = 0x7f;
    assert!(
        message(&long).contains("MPI_Wait")
            || message(&long).contains("Wait: an array of 2130706433 entries: must be 0 to ")
    );
}

#[test]
fn the_given_chakra_trace_is_an_allreduce_of_a_megabyte() {
    let Some(folder) = reference("chakra") else { return };
    for name in ["all_reduce", "all_reduce.0.et", "all_reduce.1.et"] {
        let schedule = Format::Chakra.read(&folder.join(name), &Options::default()).unwrap();
        assert_eq!(schedule.ranks.len(), 2);
        // A ring of two ranks: two steps of half the bytes.
        for rank in &schedule.ranks {
            let sends: Vec<u64> =
                rank.operations().iter().filter(|one| one.kind == Kind::Send).map(|one| one.size).collect();
            assert_eq!(sends, [524_288, 524_288]);
        }
        ends(&schedule);
    }
}

#[test]
fn damaged_chakra_files_have_messages_with_their_place() {
    let Some(folder) = reference("chakra") else { return };
    let good = fs::read(folder.join("all_reduce.0.et")).unwrap();
    let message =
        |bytes: &[u8]| chakra::read_rank(&mut Cursor::new(bytes), "x.et", 0, 2).unwrap_err().to_string();
    assert_eq!(message(&good[..20]), "x.et: byte 8: the file ends inside of a node: 11 of 72 bytes");
    assert_eq!(message(&[]), "x.et: an empty file: not a Chakra execution trace");
    assert!(message(b"num_ranks 2\n").starts_with("x.et: byte 0: "));
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("fabricsim-traces-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

const PING: &str = "0 init\n0 isend 1 5 100 1\n0 compute 2000\n0 wait 0 1 5\n0 irecv 1 6 2\n0 waitall\n0 barrier\n0 finalize\n";
const PONG: &str = "1 init\n1 recv 0 5 100 1\n1 send 0 6 2 0\n1 barrier\n1 finalize\n";

#[test]
fn a_time_independent_trace_is_a_list_of_files_or_one_file() {
    let folder = Folder::new("ti");
    folder.write("a.txt", PING);
    folder.write("b.txt", PONG);
    let list = folder.write("list.txt", "a.txt\nb.txt\n");
    let one = folder.write("one.txt", &format!("{PING}{PONG}"));
    let schedule = Format::Ti.read(&list, &Options::default()).unwrap();
    assert_eq!(schedule, Format::Ti.read(&one, &Options::default()).unwrap());
    let sizes = |kind| {
        schedule.ranks[0]
            .operations()
            .iter()
            .filter(|one| one.kind == kind)
            .map(|one| one.size)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (sizes(Kind::Send), sizes(Kind::Recv), sizes(Kind::Calc)),
        (vec![400, 0], vec![2, 0], vec![2000])
    );
    let slow = Options { flops_per_s: 1e8 };
    assert_eq!(Format::Ti.read(&one, &slow).unwrap().ranks[0].operations()[1].size, 20_000);
    ends(&schedule);
}

#[test]
fn errors_of_a_time_independent_trace_have_their_line() {
    let message = |text: &str| {
        let read = ti::read_events(&mut Cursor::new(text), "t.txt", None, &Options::default());
        read.unwrap_err().to_string()
    };
    let two = |line: &str| message(&format!("0 init\n1 init\n{line}\n"));
    assert_eq!(
        two("0 sedn 1 5 8"),
        "t.txt:3: no verb \"sedn\": expected init, finalize, comm_size, comm_split, comm_dup, send, isend, recv, irecv, test, wait, waitall, barrier, bcast, reduce, allreduce, alltoall, alltoallv, gather, scatter, gatherv, scatterv, allgather, allgatherv, reducescatter, scan, compute, exscan, sleep, location; did you mean \"send\"?"
    );
    assert_eq!(two("0 send 2 5 8"), "t.txt:3: 2: expected a rank from 0 to 1");
    assert_eq!(two("0 send 1 5"), "t.txt:3: send: argument 3 is missing: expected a number of elements");
    assert_eq!(two("0 send 1 5 -8"), "t.txt:3: \"-8\": expected a number of elements, from 0");
    assert_eq!(two("0 send 1 5 8 99"), "t.txt:3: type 99: must be 0 to 54");
    assert_eq!(two("0 bcast 8 7"), "t.txt:3: 7: expected a root from 0 to 1");
    assert_eq!(two("0 compute x"), "t.txt:3: \"x\": expected a number of flops, from 0");
    assert_eq!(two("x init"), "t.txt:3: \"x\": expected the number of a rank");
    assert_eq!(two("1000000 init"), "t.txt:3: rank 1000000: rank 2 has no line");
    assert_eq!(message(""), "t.txt: no lines: not a time-independent trace");
}

fn pick(at: prop::sample::Index, byte: u8, cut: bool, mut bytes: Vec<u8>) -> Vec<u8> {
    let at = at.index(bytes.len());
    if cut {
        bytes.truncate(at);
    } else {
        bytes[at] = byte;
    }
    bytes
}

proptest! {
    #[test]
    fn damaged_files_do_not_panic(at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        let text = pick(at, byte, cut, format!("{PING}{PONG}").into_bytes());
        if let Ok(trace) = ti::read_events(&mut Cursor::new(text), "t.txt", None, &Options::default()) {
            drop(trace.expand("t.txt"));
        }
        if let Some(folder) = reference("dumpi") {
            let bytes = pick(at, byte, cut, fs::read(folder.join("testtrace-0000.bin")).unwrap());
            drop(dumpi::count_calls(&mut BufReader::new(Cursor::new(bytes)), "x.bin"));
        }
        if let Some(folder) = reference("chakra") {
            let bytes = pick(at, byte, cut, fs::read(folder.join("all_reduce.0.et")).unwrap());
            drop(chakra::read_rank(&mut Cursor::new(bytes), "x.et", 0, 2));
        }
    }
}
