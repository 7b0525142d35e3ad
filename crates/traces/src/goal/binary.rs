//! Reader of LogGOPSim's binary schedules: little endian, a table of ranks, a block for each.
//!
//! Layout (LogGOPSim's `Parser.hpp`): u64 4223; u32 ranks, u8 largest cpu, u8 largest nic; for each rank u64 begin and
//! end of its block, counted from byte 8. A block has u32 operations, u32 roots, the roots, operations of 39 bytes, and
//! an appendix of u32 numbers with the lists of dependents.

use std::io::{BufReader, Read, Seek, SeekFrom};

use super::write::NODE_LEN;
use super::{INVALIDATED, MAGIC};
use crate::{ANY, Kind, MOST, Operation, RankBuilder, RankSchedule, Schedule, TraceError};

/// Entries that are reserved on a count's word; more are reserved as they are read.
const RESERVED: usize = 4096;

/// Reads a binary schedule; `file` is its name for messages.
pub fn read_binary<R: Read + Seek>(input: &mut BufReader<R>, file: &str) -> Result<Schedule, TraceError> {
    let system = |error| TraceError::system(file, &error);
    let length = input.seek(SeekFrom::End(0)).map_err(system)?;
    input.seek(SeekFrom::Start(0)).map_err(system)?;
    let mut reader = Reader { input, file, at: 0, length };
    let magic: [u8; 8] = reader.bytes("the magic number")?;
    if magic == INVALIDATED {
        return Err(reader.error_at(0, "LogGOPSim has used up this schedule (--save-mem): write it anew"));
    }
    if magic != MAGIC {
        return Err(reader.error_at(0, "not a binary schedule: the first eight bytes must be 4223"));
    }
    let ranks = reader.u32("the number of ranks")?;
    let [_, _] = reader.bytes::<2>("the numbers of processors and interfaces")?;
    if ranks == 0 || ranks == ANY {
        return Err(reader.error_at(8, format!("{ranks} ranks: must be 1 to {}", ANY - 1)));
    }
    let blocks = reader.table(ranks)?;
    let mut schedule = Schedule::default();
    for (rank, (begin, end)) in blocks.into_iter().enumerate() {
        reader.seek(begin)?;
        schedule.ranks.push(reader.block(rank, end, ranks)?);
    }
    Ok(schedule)
}

/// Lists of dependents of an operation in the appendix: count and first, on the end and on the start.
type Lists = [(u32, u32); 2];

struct Reader<'a, R> {
    input: &'a mut BufReader<R>,
    file: &'a str,
    at: u64,
    length: u64,
}

impl<R: Read + Seek> Reader<'_, R> {
    fn error_at(&self, byte: u64, problem: impl Into<String>) -> TraceError {
        TraceError::byte(self.file, byte, problem)
    }

    fn bytes<const N: usize>(&mut self, what: &str) -> Result<[u8; N], TraceError> {
        let mut bytes = [0; N];
        if self.length.saturating_sub(self.at) < N as u64 {
            let problem = format!("the file ends inside of {what} (it has {} bytes)", self.length);
            return Err(self.error_at(self.at, problem));
        }
        self.input.read_exact(&mut bytes).map_err(|error| TraceError::system(self.file, &error))?;
        self.at += N as u64;
        Ok(bytes)
    }

    fn u32(&mut self, what: &str) -> Result<u32, TraceError> {
        self.bytes(what).map(u32::from_le_bytes)
    }

    fn seek(&mut self, byte: u64) -> Result<(), TraceError> {
        if byte != self.at {
            self.input.seek(SeekFrom::Start(byte)).map_err(|error| TraceError::system(self.file, &error))?;
            self.at = byte;
        }
        Ok(())
    }

    /// Begin and end of each rank's block, in bytes of the file.
    fn table(&mut self, ranks: u32) -> Result<Vec<(u64, u64)>, TraceError> {
        let mut last = 14 + 16 * u64::from(ranks);
        if last > self.length {
            let problem =
                format!("{ranks} ranks need a table of {} bytes: the file has {}", last - 14, self.length);
            return Err(self.error_at(8, problem));
        }
        let mut blocks = Vec::with_capacity(ranks as usize);
        for rank in 0..ranks {
            let place = self.at;
            let begin = u64::from_le_bytes(self.bytes("the table of ranks")?).checked_add(8);
            let end = u64::from_le_bytes(self.bytes("the table of ranks")?).checked_add(8);
            match (begin, end) {
                (Some(begin), Some(end)) if last <= begin && begin <= end && end <= self.length => {
                    blocks.push((begin, end));
                    last = end;
                }
                _ => {
                    let problem = format!(
                        "block of rank {rank}: must lie between byte {last} and the end at {}",
                        self.length
                    );
                    return Err(self.error_at(place, problem));
                }
            }
        }
        Ok(blocks)
    }

    fn block(&mut self, rank: usize, end: u64, ranks: u32) -> Result<RankSchedule, TraceError> {
        let begin = self.at;
        let (operations, roots) = (self.u32("a block")?, self.u32("a block")?);
        let fixed = u64::from(operations) * NODE_LEN + u64::from(roots) * 4;
        let left = end.saturating_sub(self.at);
        if roots > operations || fixed > left || !(left - fixed).is_multiple_of(4) {
            let problem = format!(
                "rank {rank}: {operations} operations and {roots} roots do not fit a block of {} bytes",
                end - begin
            );
            return Err(self.error_at(begin, problem));
        }
        let listed = self.numbers(roots)?;
        let mut builder = RankBuilder::default();
        let mut lists: Vec<Lists> = Vec::with_capacity((operations as usize).min(RESERVED));
        let mut missing = Vec::with_capacity((operations as usize).min(RESERVED));
        for _ in 0..operations {
            let (count, operation, list) = self.operation(ranks)?;
            builder.push(operation);
            missing.push(count);
            lists.push(list);
        }
        let appendix = self.numbers(((left - fixed) / 4) as u32)?;
        self.connect(rank, begin, &mut builder, &lists, &appendix)?;
        let found = builder.finish();
        if let Some(at) = (0..missing.len()).find(|at| missing[*at] != found.missing()[*at]) {
            let (claimed, count) = (missing[at], found.missing()[at]);
            let problem = format!(
                "rank {rank}, operation {at}: waits for {claimed} by its count, for {count} by the lists"
            );
            return Err(self.error_at(begin, problem));
        }
        if !found.roots().eq(listed.iter().copied()) {
            let problem = format!("rank {rank}: roots must be the operations that wait for none, ascending");
            return Err(self.error_at(begin + 8, problem));
        }
        Ok(found)
    }

    fn numbers(&mut self, count: u32) -> Result<Vec<u32>, TraceError> {
        let mut numbers = Vec::with_capacity((count as usize).min(RESERVED));
        for _ in 0..count {
            numbers.push(self.u32("a list of numbers")?);
        }
        Ok(numbers)
    }

    fn operation(&mut self, ranks: u32) -> Result<(u32, Operation, Lists), TraceError> {
        let begin = self.at;
        let bytes: [u8; NODE_LEN as usize] = self.bytes("an operation")?;
        let u32_at = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let kind = match bytes[4] {
            1 => Kind::Send,
            2 => Kind::Recv,
            3 => Kind::Calc,
            other => {
                let problem = format!("type {other} of an operation: must be 1 (send), 2 (recv) or 3 (calc)");
                return Err(self.error_at(begin + 4, problem));
            }
        };
        let (peer, tag) = (u32_at(5), u32_at(17));
        let size = u64::from_le_bytes(std::array::from_fn(|byte| bytes[9 + byte]));
        let any_is_allowed = kind == Kind::Recv;
        if kind != Kind::Calc && peer >= ranks && !(any_is_allowed && peer == ANY) {
            return Err(self.error_at(begin + 5, format!("peer {peer}: must be 0 to {}", ranks - 1)));
        }
        if tag == ANY && kind == Kind::Send {
            return Err(self.error_at(begin + 17, "a send with any tag: only receives may have that"));
        }
        if size > MOST {
            return Err(self.error_at(begin + 9, format!("size {size}: must be 0 to {MOST}")));
        }
        let (peer, tag) = if kind == Kind::Calc { (0, 0) } else { (peer, tag) };
        let operation = Operation { kind, cpu: bytes[21], nic: bytes[22], peer, tag, size };
        Ok((u32_at(0), operation, [(u32_at(23), u32_at(27)), (u32_at(31), u32_at(35))]))
    }

    /// Adds the dependencies that the lists in the appendix name.
    fn connect(
        &self,
        rank: usize,
        begin: u64,
        builder: &mut RankBuilder,
        lists: &[Lists],
        appendix: &[u32],
    ) -> Result<(), TraceError> {
        let mut used = 0u64;
        for (on, lists) in lists.iter().enumerate() {
            for (which, (count, first)) in lists.iter().enumerate() {
                used += u64::from(*count);
                let first = if *count == 0 { 0 } else { *first as usize };
                let range = appendix.get(first..first + *count as usize);
                let (Some(range), true) = (range, used <= appendix.len() as u64) else {
                    let problem =
                        format!("rank {rank}, operation {on}: its list of dependents is not in the appendix");
                    return Err(self.error_at(begin, problem));
                };
                for operation in range {
                    if *operation as usize >= builder.len() {
                        let problem = format!("rank {rank}: there is no operation {operation} to depend");
                        return Err(self.error_at(begin, problem));
                    }
                    if which == 0 {
                        builder.requires(*operation, on as u32);
                    } else {
                        builder.irequires(*operation, on as u32);
                    }
                }
            }
        }
        Ok(())
    }
}
