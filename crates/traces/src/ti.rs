//! Reader of SimGrid's time-independent traces, as `smpirun -trace-ti` writes them: a file that lists one file for each rank,
//! or one file with the lines of all ranks. A line is a rank, a verb and its arguments; sizes are numbers of elements.
//!
//! Source: the parsers of actions in SimGrid's `smpi_replay.cpp`, the numbers of types in `smpi_datatype.cpp`.

mod line;

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use crate::error::{quoted, suggestion};
use crate::events::{Event, Trace};
use crate::{Options, Schedule, TraceError};

use line::Line;

/// Verbs, in the order of the documentation.
const VERBS: [&str; 27] = [
    "init",
    "finalize",
    "comm_size",
    "comm_split",
    "comm_dup",
    "send",
    "isend",
    "recv",
    "irecv",
    "test",
    "wait",
    "waitall",
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "alltoall",
    "alltoallv",
    "gather",
    "scatter",
    "gatherv",
    "scatterv",
    "allgather",
    "allgatherv",
    "reducescatter",
    "scan",
    "compute",
];

/// Further verbs: no communication.
const OTHERS: [&str; 3] = ["exscan", "sleep", "location"];

/// Reads a trace.
pub fn read(path: &Path, options: &Options) -> Result<Schedule, TraceError> {
    let file = path.display().to_string();
    let trace = read_files(path, options)?;
    trace.expand(&file)
}

fn read_files(path: &Path, options: &Options) -> Result<Trace, TraceError> {
    let name = path.display().to_string();
    let open = |path: &Path, name: &str| {
        File::open(path).map(BufReader::new).map_err(|error| TraceError::system(name, &error))
    };
    let mut names = Vec::new();
    for line in open(path, &name)?.lines() {
        let line = line.map_err(|error| TraceError::system(&name, &error))?;
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [] => {}
            [file] => names.push((*file).to_owned()),
            _ if names.is_empty() => {
                return read_events(&mut open(path, &name)?, &name, None, options);
            }
            _ => {
                return Err(TraceError::line(
                    &name,
                    names.len() as u64 + 1,
                    format!("{}: expected the name of a file", quoted(line.as_bytes())),
                ));
            }
        }
    }
    if names.is_empty() {
        return Err(TraceError::whole(&name, "no lines: not a time-independent trace"));
    }
    let count = names.len() as u32;
    let mut trace = Trace::default();
    for (rank, file) in names.iter().enumerate() {
        let path = path.parent().unwrap_or(Path::new(".")).join(file);
        let name = path.display().to_string();
        let mut one = read_events(&mut open(&path, &name)?, &name, Some((rank as u32, count)), options)?;
        trace.ranks.append(&mut one.ranks);
    }
    Ok(trace)
}

/// Reads the calls of one rank of `count` from `input`, or, without that, those of all ranks.
pub fn read_events(
    input: &mut impl BufRead,
    file: &str,
    only: Option<(u32, u32)>,
    options: &Options,
) -> Result<Trace, TraceError> {
    let mut lines = Vec::new();
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let count = input.read_until(b'\n', &mut bytes).map_err(|error| TraceError::system(file, &error))?;
        if count == 0 {
            break;
        }
        lines.push(String::from_utf8_lossy(&bytes).into_owned());
    }
    let ranks = match only {
        Some((_, count)) => count,
        None => count_ranks(&lines, file)?,
    };
    let mut readers: BTreeMap<u32, Reader> = BTreeMap::new();
    for (number, text) in lines.iter().enumerate() {
        let place = number as u64 + 1;
        let mut words = text.split_whitespace();
        let Some(first) = words.next() else { continue };
        if first.starts_with('#') {
            continue;
        }
        let rank = parse_rank(first).map_err(|problem| TraceError::line(file, place, problem))?;
        if let Some((expected, _)) = only
            && rank != expected
        {
            return Err(TraceError::line(
                file,
                place,
                format!("rank {rank}: this is the file of rank {expected}"),
            ));
        }
        let reader = readers.entry(rank).or_insert_with(|| Reader::new(rank, ranks, options));
        let line = Line::new(words.collect(), reader.default_bytes);
        reader.take(&line).map_err(|problem| TraceError::line(file, place, problem))?;
    }
    let mut take = |rank: u32| readers.remove(&rank).map(|reader| reader.events).unwrap_or_default();
    let ranks: Vec<Vec<Event>> = match only {
        Some((rank, _)) => vec![take(rank)],
        None => (0..ranks).map(take).collect(),
    };
    Ok(Trace { ranks, groups: BTreeMap::new() })
}

/// Number of ranks of a file that has the lines of all of them.
fn count_ranks(lines: &[String], file: &str) -> Result<u32, TraceError> {
    let mut found: BTreeMap<u32, u64> = BTreeMap::new();
    for (number, text) in lines.iter().enumerate() {
        let Some(first) = text.split_whitespace().next().filter(|first| !first.starts_with('#')) else {
            continue;
        };
        let place = number as u64 + 1;
        let rank = parse_rank(first).map_err(|problem| TraceError::line(file, place, problem))?;
        found.entry(rank).or_insert(place);
    }
    let gap = found.iter().enumerate().find(|(expected, (rank, _))| *expected as u32 != **rank);
    if let Some((missing, (rank, place))) = gap {
        return Err(TraceError::line(file, *place, format!("rank {rank}: rank {missing} has no line")));
    }
    if found.is_empty() {
        return Err(TraceError::whole(file, "no lines: not a time-independent trace"));
    }
    Ok(found.len() as u32)
}

fn parse_rank(word: &str) -> Result<u32, String> {
    word.parse().map_err(|_| format!("{}: expected the number of a rank", quoted(word.as_bytes())))
}

/// Reads the lines of one rank.
struct Reader<'a> {
    rank: u32,
    ranks: u32,
    options: &'a Options,
    /// Bytes of an element whose type is not stated.
    default_bytes: u64,
    events: Vec<Event>,
    /// Requests that have not been waited for, by source, destination and tag.
    pending: BTreeMap<(i64, i64, i64), VecDeque<u64>>,
    next: u64,
}

impl<'a> Reader<'a> {
    fn new(rank: u32, ranks: u32, options: &'a Options) -> Self {
        let (events, pending) = (Vec::new(), BTreeMap::new());
        Self { rank, ranks, options, default_bytes: 1, events, pending, next: 0 }
    }

    fn take(&mut self, line: &Line) -> Result<(), String> {
        let verb = line.verb()?;
        match verb {
            // Types that are not stated are bytes, or doubles if there is an argument.
            "init" => self.default_bytes = if line.len() > 0 { 8 } else { 1 },
            "send" | "isend" | "recv" | "irecv" => self.message(verb, line)?,
            "wait" => {
                let key =
                    (line.whole(0, "a source")?, line.whole(1, "a destination")?, line.whole(2, "a tag")?);
                let found = self.pending.get_mut(&key).and_then(VecDeque::pop_front);
                let wildcard = (-1, key.1, key.2);
                let found = found.or_else(|| self.pending.get_mut(&wildcard).and_then(VecDeque::pop_front));
                if let Some(request) = found {
                    self.events.push(Event::Wait(vec![request]));
                }
            }
            "waitall" => {
                let all = std::mem::take(&mut self.pending).into_values().flatten();
                self.events.push(Event::Wait(all.collect()));
            }
            "compute" => self.compute(line.real(0, "a number of flops")? / self.options.flops_per_s)?,
            "sleep" => self.compute(line.real(0, "a number of seconds")?)?,
            "finalize" | "comm_size" | "comm_split" | "comm_dup" | "test" | "location" => {}
            _ => self.collective(verb, line)?,
        }
        Ok(())
    }

    fn compute(&mut self, seconds: f64) -> Result<(), String> {
        let ns = (seconds * 1e9).round();
        if !(0.0..9e18).contains(&ns) {
            return Err(format!("{seconds} s: a duration must be from 0 to 9e9 s"));
        }
        self.events.push(Event::Compute { ns: ns as u64 });
        Ok(())
    }

    fn message(&mut self, verb: &str, line: &Line) -> Result<(), String> {
        let is_send = verb.ends_with("send");
        let message = line.message(self.ranks, is_send)?;
        let request = verb.starts_with('i').then_some(self.next);
        if let Some(request) = request {
            self.next += 1;
            let (peer, me) = (line.whole(0, "a rank")?, i64::from(self.rank));
            let (source, destination) = if is_send { (me, peer) } else { (peer, me) };
            let key = (source, destination, line.whole(1, "a tag")?);
            self.pending.entry(key).or_default().push_back(request);
        }
        self.events.push(if is_send {
            Event::Send { message, request }
        } else {
            Event::Recv { message, request }
        });
        Ok(())
    }

    fn collective(&mut self, verb: &str, line: &Line) -> Result<(), String> {
        let Some((call, flops)) = line.collective(verb, self.ranks)? else {
            let known: Vec<&str> = VERBS.iter().chain(&OTHERS).copied().collect();
            return Err(format!(
                "no verb {:?}: expected {}{}",
                verb,
                known.join(", "),
                suggestion(verb, &known)
            ));
        };
        self.events.push(Event::Collective { call, request: None });
        if flops > 0.0 {
            self.compute(flops / self.options.flops_per_s)?;
        }
        Ok(())
    }
}
