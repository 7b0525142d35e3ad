//! Reader of DUMPI traces (sst-dumpi): a binary file `NAME-NNNN.bin` for each rank, and `NAME.meta`. Computation is the
//! time between a call's return and the next one's entry.

mod calls;
mod communicators;
mod functions;
mod stream;
mod types;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use crate::{Schedule, TraceError};

use calls::Calls;
use communicators::Item;
use stream::Stream;

/// Reads a trace: `path` is the file `.meta` or the file of a rank.
pub fn read(path: &Path) -> Result<Schedule, TraceError> {
    let name = path.display().to_string();
    let without = name.strip_suffix(".meta").map(str::to_owned);
    let of_rank = name.strip_suffix(".bin").and_then(|name| name.rsplit_once('-'));
    let beginning = without.clone().or_else(|| of_rank.map(|(beginning, _)| beginning.to_owned()));
    let Some(beginning) = beginning else {
        return Err(TraceError::whole(&name, "expected a file NAME.meta or NAME-0000.bin of a DUMPI trace"));
    };
    let file = |rank: u32| PathBuf::from(format!("{beginning}-{rank:04}.bin"));
    let count = (0..u32::MAX).take_while(|rank| file(*rank).is_file()).count() as u32;
    if without.is_some() {
        let stated = processes(path, &name)?;
        if stated != u64::from(count) {
            let problem = format!("numprocs={stated}: {count} files from {} are there", file(0).display());
            return Err(TraceError::whole(&name, problem));
        }
    }
    if count == 0 {
        return Err(TraceError::whole(&file(0).display().to_string(), "there is no such file"));
    }
    let mut ranks = Vec::new();
    for rank in 0..count {
        let path = file(rank);
        let name = path.display().to_string();
        let input = File::open(&path).map_err(|error| TraceError::system(&name, &error))?;
        ranks.push(read_rank(&mut BufReader::new(input), &name, rank)?.0);
    }
    let trace = communicators::resolve(ranks).map_err(|problem| TraceError::whole(&name, problem))?;
    trace.expand(&name)
}

/// Reads one file, and replays nothing: returns the number of calls by function. `file` is its name for messages.
pub fn count_calls<R: Read + Seek>(
    input: &mut BufReader<R>,
    file: &str,
) -> Result<BTreeMap<&'static str, u64>, TraceError> {
    read_rank(input, file, 0).map(|(_, counts)| counts)
}

/// Reads the file of a run with one process; `file` is its name for messages.
pub fn read_single<R: Read + Seek>(input: &mut BufReader<R>, file: &str) -> Result<Schedule, TraceError> {
    let (items, _) = read_rank(input, file, 0)?;
    let trace = communicators::resolve(vec![items]).map_err(|problem| TraceError::whole(file, problem))?;
    trace.expand(file)
}

type Counts = BTreeMap<&'static str, u64>;

fn read_rank<R: Read + Seek>(
    input: &mut BufReader<R>,
    file: &str,
    rank: u32,
) -> Result<(Vec<Item>, Counts), TraceError> {
    let (mut stream, index) = Stream::open(input, file)?;
    let (_, sizes) = stream.head(&index)?;
    let mut calls = Calls::new(rank, sizes);
    let mut counts = BTreeMap::new();
    while let Some(call) = stream.call()? {
        let (name, _) = functions::FUNCTIONS[usize::from(call.function)];
        *counts.entry(name).or_insert(0) += 1;
        let taken = calls.take(name, &call);
        taken.map_err(|problem| stream.error_at(call.place, format!("MPI_{name}: {problem}")))?;
    }
    Ok((calls.items, counts))
}

/// Number of processes that a file `.meta` states.
fn processes(path: &Path, name: &str) -> Result<u64, TraceError> {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(1 << 20).read_to_end(&mut text));
    read.map_err(|error| TraceError::system(name, &error))?;
    let text = String::from_utf8_lossy(&text);
    for (at, line) in text.lines().enumerate() {
        if let Some(value) = line.strip_prefix("numprocs=") {
            let count = value.trim().parse().map_err(|_| "must be a whole number");
            return count
                .map_err(|problem| TraceError::line(name, at as u64 + 1, format!("{line}: {problem}")));
        }
    }
    Err(TraceError::whole(name, "no line numprocs=N: not a file of a DUMPI trace"))
}
