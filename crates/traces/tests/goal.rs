//! Readers and writers of GOAL: golden texts, round trips, errors, damage.

mod support;

use fabricsim_traces::{ANY, Kind, Operation, goal, loggp};
use proptest::prelude::*;
use support::{binary, parse, text};

const SMALL: &str = "// two ranks
num_ranks 2
rank 0 {
  l1: calc 100 cpu 1 /* a comment
  over two lines */
  l2: send 8b to 1 tag 7 cpu 1 nic 2
  l2 requires l1
  recv 16 b from -1 tag -1
}
rank 1 {
l1: recv 8b from 0 tag 7
l2: send 16b to 0 nic 1 // behind a statement
l2 irequires l1
}
";

#[test]
fn a_small_text_is_read() {
    let schedule = parse(SMALL.as_bytes()).unwrap();
    assert_eq!(schedule.events(), 5);
    let [zero, one] = schedule.ranks.as_slice() else { panic!() };
    let send = Operation { cpu: 1, nic: 2, ..Operation::send(1, 7, 8) };
    let calc = Operation { cpu: 1, ..Operation::calc(100) };
    assert_eq!(zero.operations(), [calc, send, Operation::recv(ANY, ANY, 16)]);
    assert_eq!((zero.after_end(0), zero.after_start(0)), (&[1][..], &[][..]));
    assert_eq!((one.after_end(0), one.after_start(0)), (&[][..], &[1][..]));
    assert_eq!(zero.roots().collect::<Vec<_>>(), [0, 2]);
}

#[test]
fn scaled_computation_is_rounded_and_messages_keep_their_size() {
    let mut schedule = parse(SMALL.as_bytes()).unwrap();
    schedule.scale_computation(0.125);
    assert_eq!(schedule.ranks[0].operations().iter().map(|one| one.size).collect::<Vec<_>>(), [13, 8, 16]);
    schedule.scale_computation(1e300);
    assert_eq!(schedule.ranks[0].operations()[0].size, fabricsim_traces::MOST);
}

#[test]
fn replaced_computations_take_the_same_time_and_messages_keep_their_size() {
    let text =
        "num_ranks 1\nrank 0 {\ncalc 100\ncalc 0\nsend 8b to 0 tag 1\ncalc 7\nrecv 8b from 0 tag 1\n}\n";
    let mut schedule = parse(text.as_bytes()).unwrap();
    let sizes = |schedule: &fabricsim_traces::Schedule| -> Vec<u64> {
        schedule.ranks[0].operations().iter().map(|one| one.size).collect()
    };
    schedule.replace_computation(30);
    assert_eq!(sizes(&schedule), [30, 0, 8, 30, 8]);
    schedule.replace_computation(u64::MAX);
    assert_eq!(sizes(&schedule), [fabricsim_traces::MOST, 0, 8, fabricsim_traces::MOST, 8]);
}

fn message(text: &str) -> String {
    parse(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn every_error_has_file_line_and_what_is_allowed() {
    let rank = |body: &str| message(&format!("num_ranks 2\nrank 0 {{\n{body}\n}}\n"));
    let cases = [
        (message(""), "x.goal: no num_ranks: not a GOAL schedule"),
        (message("rank 0 {"), "x.goal:1: rank: num_ranks must come before"),
        (message("num_ranks 0"), "x.goal:1: num_ranks 0: must be at least 1"),
        (message("num_ranks x"), "x.goal:1: \"x\": expected a number of ranks from 0 to 4294967294"),
        (message("hello"), "x.goal:1: \"hello\": expected num_ranks or rank"),
        (
            message("num_ranks 1000000\nrank 0 {\n}\n"),
            "x.goal:3: the file ends after 1 ranks: num_ranks is 1000000",
        ),
        (message("num_ranks 2\nrank 1 {"), "x.goal:2: rank 1: expected rank 0: ranks stand in order"),
        (
            message("num_ranks 1\nrank 0 {\n\n"),
            "x.goal:3: the file ends inside of rank 0 (line 2): \"}\" is missing",
        ),
        (message("num_ranks 1 /* \n\n"), "x.goal:2: the file ends inside of a comment: \"*/\" is missing"),
        (rank("send 8b to 2"), "x.goal:3: \"2\": expected a rank from 0 to 1"),
        (rank("recv 8b from 5"), "x.goal:3: \"5\": expected a rank from 0 to 1, or -1 for any"),
        (rank("send 8b to -1"), "x.goal:3: \"-1\": expected a rank from 0 to 1"),
        (
            rank("send -8b to 1"),
            "x.goal:3: \"-8b\": expected a number of bytes from 0 to 9223372036854775807 with \"b\"",
        ),
        (rank("send 8 to 1"), "x.goal:3: \"to\": expected \"b\""),
        (rank("send 8b from 1"), "x.goal:3: \"from\": expected \"to\""),
        (rank("calc 8b"), "x.goal:3: \"8b\": expected a duration in ns from 0 to 9223372036854775807"),
        (rank("calc 8 cpu 256"), "x.goal:3: \"256\": expected a processor from 0 to 255"),
        (rank("calc 8 tag 1"), "x.goal:3: \"tag\": expected cpu, nic or the end of the line"),
        (rank("l1: calc 1\nl1: calc 2"), "x.goal:4: label \"l1\": the rank has it already"),
        (rank("l1: calc 1\nl1 requires l2"), "x.goal:4: label \"l2\": no operation of rank 0 above has it"),
        (rank("l1: sned 8b to 1"), "x.goal:3: \"sned\": expected send, recv or calc behind the label \"l1\""),
        (rank("l1 needs l2"), "x.goal:3: \"needs\": expected \":\", requires or irequires"),
        (rank("%"), "x.goal:3: \"%\": expected send, recv, calc, a label or \"}\""),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

#[test]
fn every_error_of_a_binary_has_its_byte() {
    let schedule = parse(SMALL.as_bytes()).unwrap();
    let good = binary(&schedule);
    let changed = |at: usize, bytes: &[u8]| {
        let mut all = good.clone();
        all[at..at + bytes.len()].copy_from_slice(bytes);
        parse(&all).unwrap_err().to_string()
    };
    assert_eq!(parse(&good).unwrap(), schedule);
    let cut = parse(&good[..good.len() - 1]).unwrap_err().to_string();
    assert!(cut.starts_with("x.goal: byte 30: block of rank 1: must lie between"), "{cut}");
    let million = changed(8, &1_000_000u32.to_le_bytes());
    assert!(million.starts_with("x.goal: byte 8: 1000000 ranks need a table of 16000000 bytes"), "{million}");
    let mut swapped = good.clone();
    swapped[..8].reverse();
    let swapped = parse(&swapped).unwrap_err().to_string();
    assert_eq!(swapped, "x.goal: byte 0: foreign byte order: a binary schedule is little endian");
    assert!(changed(0, &2342u64.to_le_bytes()).contains("has used up this schedule"));
    // The first block: two counts, two roots, then operations of 39 bytes.
    let first = 14 + 32 + 8 + 8;
    assert!(
        changed(first + 4, &[9]).contains("type 9 of an operation: must be 1 (send), 2 (recv) or 3 (calc)")
    );
    assert!(changed(first + 39 + 5, &[2, 0, 0, 0]).contains("peer 2: must be 0 to 1"));
    assert!(changed(first, &[1]).contains("waits for 1 by its count, for 0 by the lists"));
    assert!(changed(first + 23, &[200]).contains("its list of dependents is not in the appendix"));
    assert!(changed(first - 8, &[1]).contains("roots must be the operations that wait for none"));
}

#[test]
fn the_writer_of_binaries_writes_what_txt2bin_writes() {
    let Some(folder) = support::reference("goal") else { return };
    let theirs = std::fs::read(folder.join("schedgen_dissemination_16.bin")).unwrap();
    let schedule = goal::read(&folder.join("schedgen_dissemination_16.goal")).unwrap();
    assert!(binary(&schedule) == theirs);
}

#[test]
fn what_has_no_match_is_listed_by_rank() {
    let text = "num_ranks 3\nrank 0 {\nl1: recv 8b from 1 tag 5\nl2: calc 10\nl2 requires l1\n}\nrank 1 {\nl1: calc 50\nl2: send 8b to 0 tag 6\nl2 requires l1\n}\nrank 2 {\nl1: calc 7\nl2: calc 8\nl1 requires l2\nl2 requires l1\n}\n";
    let parameters = loggp::Parameters::parse("L=1000,o=100,g=10,G=0").unwrap();
    let outcome = loggp::simulate(&parse(text.as_bytes()).unwrap(), &parameters).unwrap();
    let unmatched: Vec<_> = outcome
        .unmatched
        .iter()
        .map(|one| (one.rank, one.kind, one.peer, one.tag, one.operation, one.time_ns))
        .collect();
    assert_eq!(unmatched, [(0, "recv", Some(1), Some(5), 0, 0), (1, "send", Some(0), Some(6), 1, 1150)]);
    let unfinished: Vec<_> =
        outcome.unfinished.iter().map(|one| (one.rank, one.done, one.operations)).collect();
    assert_eq!(unfinished, [(0, 0, 2), (2, 0, 2)]);
}

#[test]
fn times_that_do_not_fit_are_an_error() {
    let text = format!("num_ranks 1\nrank 0 {{\nl1: calc {}\nl2: calc {0}\nl2 requires l1\n}}\n", i64::MAX);
    let error = loggp::simulate(&parse(text.as_bytes()).unwrap(), &loggp::Parameters::default()).unwrap_err();
    assert!(error.to_string().starts_with("rank 0, operation 1: its time exceeds 2^63 ns"), "{error}");
}

#[test]
fn parameters_are_read_in_any_order_and_checked() {
    let parameters = loggp::Parameters::parse("G=0, g=10,o=100,L=1000").unwrap();
    assert_eq!(parameters, loggp::Parameters { L: 1000, o: 100, g: 10, G: 0, O: 0, S: 65535 });
    for (text, problem) in [
        ("L", "\"L\": expected name=value"),
        ("L=1,L=2", "L: it is given already"),
        ("L=-1", "L=-1: must be a whole number of ns from 0 to 2147483647"),
        ("l=1", "l: no parameter of LogGP: expected L, o, g, G, O or S"),
    ] {
        assert_eq!(loggp::Parameters::parse(text).unwrap_err(), problem);
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(schedule in support::schedules(60, true, true)) {
        prop_assert_eq!(&parse(text(&schedule).as_bytes()).unwrap(), &schedule);
        prop_assert_eq!(&parse(&binary(&schedule)).unwrap(), &schedule);
    }

    #[test]
    fn a_replay_ends_with_all_operations_counted(schedule in support::schedules(60, true, true), parameters in support::parameters()) {
        let outcome = loggp::simulate(&schedule, &parameters).unwrap();
        let sends = support::count(&schedule, Kind::Send) as u64;
        prop_assert!(outcome.steps <= schedule.events() + sends);
        let open: u64 = outcome.unfinished.iter().map(|one| one.operations - one.done).sum();
        let receives = outcome.unmatched.iter().filter(|one| one.kind == "recv").count() as u64;
        prop_assert!(receives <= open);
    }

    #[test]
    fn damaged_files_do_not_panic(schedule in support::schedules(20, true, true), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        for mut bytes in [binary(&schedule), text(&schedule).into_bytes()] {
            let at = at.index(bytes.len());
            if cut {
                bytes.truncate(at);
            } else {
                bytes[at] = byte;
            }
            if let Ok(schedule) = parse(&bytes) {
                drop(loggp::simulate(&schedule, &loggp::Parameters::default()));
            }
        }
    }
}
