//! Random schedules, and LogGOPSim where it is at hand.
#![allow(dead_code, reason = "every test binary uses a part")]
#![allow(non_snake_case, reason = "the model's names differ in case only")]

use std::io::{BufReader, Cursor, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use fabricsim_traces::loggp::Parameters;
use fabricsim_traces::{ANY, Kind, Operation, RankBuilder, RankSchedule, Schedule, TraceError, goal};
use proptest::prelude::*;

/// Folder of the reference traces, or none after a loud message.
pub(crate) fn reference(folder: &str) -> Option<PathBuf> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/reference");
    let found = std::env::var_os("FABRICSIM_REFERENCE").map_or_else(|| default.into(), PathBuf::from);
    let found = found.join("traces").join(folder);
    if found.is_dir() {
        return Some(found);
    }
    // not by eprintln!, which the test harness captures
    let _ = writeln!(std::io::stderr(), "SKIPPED: there is no {}: set FABRICSIM_REFERENCE", found.display());
    None
}

/// Folder of LogGOPSim and its txt2bin, or none after a loud message.
pub(crate) fn loggopsim() -> Option<PathBuf> {
    let named = std::env::var_os("FABRICSIM_LOGGOPSIM").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = named
        .into_iter()
        .chain(std::env::split_paths(&path))
        .find(|folder| folder.join("LogGOPSim").is_file());
    if found.is_none() {
        // not by eprintln!, which the test harness captures
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: LogGOPSim is not in PATH: set FABRICSIM_LOGGOPSIM to its folder"
        );
    }
    found
}

/// Reads a schedule from memory.
pub(crate) fn parse(bytes: &[u8]) -> Result<Schedule, TraceError> {
    goal::read_from(&mut BufReader::new(Cursor::new(bytes)), "x.goal")
}

pub(crate) fn text(schedule: &Schedule) -> String {
    let mut out = Vec::new();
    goal::write_text(schedule, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

pub(crate) fn binary(schedule: &Schedule) -> Vec<u8> {
    let mut out = Vec::new();
    goal::write_binary(schedule, &mut out).unwrap();
    out
}

/// What LogGOPSim prints about a schedule: times of hosts, or the largest.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Times(Vec<u64>),
    Largest(u64),
    /// Host, true for messages (false for receives), source and tag (-1 for any), in order.
    Unmatched(Vec<(i64, bool, i64, i64)>),
}

/// Runs LogGOPSim.
pub(crate) fn run(tool: &Path, schedule: &Path, parameters: &Parameters) -> Verdict {
    let Parameters { L, o, g, G, O, S } = parameters;
    let mut command = Command::new(tool.join("LogGOPSim"));
    command.arg("-f").arg(schedule);
    for (name, value) in [("-L", L), ("-o", o), ("-g", g), ("-G", G), ("-O", O)] {
        command.arg(name).arg(value.to_string());
    }
    let output = command.arg("-S").arg(S.to_string()).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let times: Vec<u64> = printed
        .lines()
        .filter(|line| line.starts_with("Host "))
        .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
        .collect();
    if !times.is_empty() {
        return Verdict::Times(times);
    }
    let Some((_, rest)) = printed.split_once("Maximum finishing time at host ") else {
        return Verdict::Unmatched(unmatched(&printed));
    };
    Verdict::Largest(rest.split(' ').nth(1).unwrap().parse().unwrap())
}

/// The queues that LogGOPSim lists.
fn unmatched(printed: &str) -> Vec<(i64, bool, i64, i64)> {
    let mut found = Vec::new();
    let (mut host, mut is_message) = (-1, false);
    for line in printed.lines() {
        let number = |word: &str| {
            let rest = line.split_once(word)?.1.trim_start();
            let end = rest.find(|c: char| c != '-' && !c.is_ascii_digit()).unwrap_or(rest.len());
            rest[..end].parse::<i64>().ok()
        };
        if let Some(on) = number("queue on host") {
            (host, is_message) = (on, line.starts_with("unexpected"));
        } else if let (Some(source), Some(tag)) = (number(" src:"), number("tag:")) {
            found.push((host, is_message, source, tag));
        }
    }
    assert!(!found.is_empty(), "{printed}");
    found.sort_unstable();
    found
}

/// An operation and its dependencies, as numbers that are made to fit.
type Draft = (u8, usize, u8, u16, u8, u8, Vec<(usize, bool)>);

/// Bytes of a message by its tag: LogGOPSim takes a receive's size for that of its message.
type Sizes = [u16; 4];

fn drafts(most: usize) -> impl Strategy<Value = (usize, Sizes, Vec<Draft>)> {
    let dependencies = prop::collection::vec((any::<usize>(), any::<bool>()), 0..3);
    let draft = (0u8..3, any::<usize>(), 0u8..4, 1u16..200, 0u8..2, 0u8..2, dependencies);
    let size = || prop_oneof![Just(0u16), 1u16..20, 1u16..200];
    (1usize..7, [size(), size(), size(), size()], prop::collection::vec(draft, 1..most))
}

/// Random schedules. A message's send and receive depend on earlier operations of their ranks only, so all end; `wild`: some
/// receives have any source or any tag, `lossy`: some sends and receives are missing.
pub(crate) fn schedules(most: usize, wild: bool, lossy: bool) -> impl Strategy<Value = Schedule> {
    drafts(most).prop_map(move |(ranks, sizes, drafts)| {
        let mut builders: Vec<RankBuilder> = (0..ranks).map(|_| RankBuilder::default()).collect();
        for (at, (kind, place, tag, duration, cpu, nic, dependencies)) in drafts.into_iter().enumerate() {
            let (from, to) = (place % ranks, (place / 7) % ranks);
            let on = |operation| Operation { cpu, nic, ..operation };
            if kind == 0 {
                add(&mut builders[from], on(Operation::calc(u64::from(duration) * 10)), &dependencies);
                continue;
            }
            let (size, tag) = (u64::from(sizes[usize::from(tag)]), u32::from(tag));
            let source = if wild && place % 5 == 0 { ANY } else { from as u32 };
            let wanted = if wild && place % 11 == 0 { ANY } else { tag };
            if !lossy || at % 7 != 0 {
                add(&mut builders[from], on(Operation::send(to as u32, tag, size)), &dependencies);
            }
            if !lossy || at % 5 != 0 {
                // On another processor and interface than the send: a message takes those of the send.
                let operation = Operation { cpu: nic, nic: cpu, ..Operation::recv(source, wanted, size) };
                add(&mut builders[to], operation, &dependencies[..dependencies.len().min(1)]);
            }
        }
        // LogGOPSim takes the first event without looking whether there is one.
        for builder in builders.iter_mut().filter(|builder| builder.is_empty()) {
            builder.push(Operation::calc(1));
        }
        Schedule { ranks: builders.into_iter().map(RankBuilder::finish).collect() }
    })
}

fn add(builder: &mut RankBuilder, operation: Operation, dependencies: &[(usize, bool)]) {
    let number = builder.push(operation);
    for (on, at_start) in dependencies.iter().filter(|_| number > 0) {
        let on = (number as usize - 1).saturating_sub(on % 4) as u32;
        if *at_start {
            builder.irequires(number, on);
        } else {
            builder.requires(number, on);
        }
    }
}

/// Random parameters.
pub(crate) fn parameters() -> impl Strategy<Value = Parameters> {
    let time = || prop_oneof![Just(0u32), 1u32..20, 50u32..2000];
    let per_byte = || prop_oneof![Just(0u32), 1u32..4];
    (time(), time(), time(), per_byte(), per_byte(), prop_oneof![Just(65535u64), 0u64..200])
        .prop_map(|(L, o, g, G, O, S)| Parameters { L, o, g, G, O, S })
}

/// Sum of the kinds of operations of a schedule.
pub(crate) fn count(schedule: &Schedule, kind: Kind) -> usize {
    schedule.ranks.iter().flat_map(RankSchedule::operations).filter(|one| one.kind == kind).count()
}
