//! Writers of GOAL: text, and LogGOPSim's binary form.

use std::io::{self, Write};

use super::MAGIC;
use crate::{ANY, Kind, Operation, RankSchedule, Schedule};

/// Bytes of an operation in a binary schedule.
pub(crate) const NODE_LEN: u64 = 39;

/// Writes a schedule as text. Reading it returns an equal schedule.
pub fn write_text(schedule: &Schedule, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "num_ranks {}", schedule.ranks.len())?;
    for (number, rank) in schedule.ranks.iter().enumerate() {
        writeln!(out, "\nrank {number} {{")?;
        for (at, operation) in rank.operations().iter().enumerate() {
            write!(out, "l{}: ", at + 1)?;
            write_operation(operation, out)?;
        }
        for on in 0..rank.operations().len() as u32 {
            for operation in rank.after_end(on) {
                writeln!(out, "l{} requires l{}", operation + 1, on + 1)?;
            }
            for operation in rank.after_start(on) {
                writeln!(out, "l{} irequires l{}", operation + 1, on + 1)?;
            }
        }
        writeln!(out, "}}")?;
    }
    Ok(())
}

fn write_operation(operation: &Operation, out: &mut impl Write) -> io::Result<()> {
    let or_any = |value: u32| if value == ANY { "-1".to_owned() } else { value.to_string() };
    match operation.kind {
        Kind::Calc => write!(out, "calc {}", operation.size)?,
        kind => {
            let words = if kind == Kind::Send { ("send", "to") } else { ("recv", "from") };
            let (peer, tag) = (or_any(operation.peer), or_any(operation.tag));
            write!(out, "{} {}b {} {peer} tag {tag}", words.0, operation.size, words.1)?;
        }
    }
    if operation.cpu != 0 {
        write!(out, " cpu {}", operation.cpu)?;
    }
    if operation.nic != 0 {
        write!(out, " nic {}", operation.nic)?;
    }
    writeln!(out)
}

/// Writes a schedule in the binary form, as LogGOPSim's `txt2bin` does.
pub fn write_binary(schedule: &Schedule, out: &mut impl Write) -> io::Result<()> {
    let operations = || schedule.ranks.iter().flat_map(RankSchedule::operations);
    out.write_all(&MAGIC)?;
    out.write_all(&(schedule.ranks.len() as u32).to_le_bytes())?;
    out.write_all(&[operations().map(|one| one.cpu).max().unwrap_or(0)])?;
    out.write_all(&[operations().map(|one| one.nic).max().unwrap_or(0)])?;
    let mut begin = 6 + 16 * schedule.ranks.len() as u64;
    for rank in &schedule.ranks {
        let end = begin + block_len(rank);
        out.write_all(&begin.to_le_bytes())?;
        out.write_all(&end.to_le_bytes())?;
        begin = end;
    }
    schedule.ranks.iter().try_for_each(|rank| write_rank(rank, out))
}

fn block_len(rank: &RankSchedule) -> u64 {
    let edges: u64 = rank.missing().iter().map(|count| u64::from(*count)).sum();
    8 + 4 * rank.roots().count() as u64 + NODE_LEN * rank.operations().len() as u64 + 4 * edges
}

fn write_rank(rank: &RankSchedule, out: &mut impl Write) -> io::Result<()> {
    out.write_all(&(rank.operations().len() as u32).to_le_bytes())?;
    out.write_all(&(rank.roots().count() as u32).to_le_bytes())?;
    for root in rank.roots() {
        out.write_all(&root.to_le_bytes())?;
    }
    let mut appendix = 0u32;
    for (at, operation) in rank.operations().iter().enumerate() {
        out.write_all(&rank.missing()[at].to_le_bytes())?;
        out.write_all(&[operation.kind as u8])?;
        out.write_all(&operation.peer.to_le_bytes())?;
        out.write_all(&operation.size.to_le_bytes())?;
        out.write_all(&operation.tag.to_le_bytes())?;
        out.write_all(&[operation.cpu, operation.nic])?;
        for list in [rank.after_end(at as u32), rank.after_start(at as u32)] {
            out.write_all(&(list.len() as u32).to_le_bytes())?;
            out.write_all(&appendix.to_le_bytes())?;
            appendix += list.len() as u32;
        }
    }
    for at in 0..rank.operations().len() as u32 {
        for operation in rank.after_end(at).iter().chain(rank.after_start(at)) {
            out.write_all(&operation.to_le_bytes())?;
        }
    }
    Ok(())
}
