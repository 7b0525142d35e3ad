//! Arguments of a line.

use crate::error::quoted;
use crate::events::{Blocks, Collective, CollectiveCall, Message};
use crate::{ANY, MOST};

/// Bytes of SimGrid's types by number.
const TYPES: [u64; 55] = [
    8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16, 32, 8, 8, 8, 16, 16,
    8, 8, 8, 16, 16, 4, 4, 4, 8, 0, 0, 0, 4, 2, 4, 8, 16, 32, 0, 0, 1, 8,
];

/// A line behind its rank.
pub(super) struct Line<'a> {
    words: Vec<&'a str>,
    default_bytes: u64,
}

impl<'a> Line<'a> {
    pub(super) fn new(words: Vec<&'a str>, default_bytes: u64) -> Self {
        Self { words, default_bytes }
    }

    pub(super) fn verb(&self) -> Result<&'a str, String> {
        self.words.first().copied().ok_or_else(|| "no verb behind the rank".to_owned())
    }

    /// Number of arguments.
    pub(super) fn len(&self) -> usize {
        self.words.len() - 1
    }

    fn word(&self, at: usize, what: &str) -> Result<&'a str, String> {
        let found = self.words.get(at + 1).copied();
        found.ok_or_else(|| format!("{}: argument {} is missing: expected {what}", self.words[0], at + 1))
    }

    pub(super) fn whole(&self, at: usize, what: &str) -> Result<i64, String> {
        let word = self.word(at, what)?;
        word.parse().map_err(|_| format!("{}: expected {what}, a whole number", quoted(word.as_bytes())))
    }

    pub(super) fn real(&self, at: usize, what: &str) -> Result<f64, String> {
        let word = self.word(at, what)?;
        let value = word.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
        value.ok_or_else(|| format!("{}: expected {what}, from 0", quoted(word.as_bytes())))
    }

    /// A number of elements.
    fn count(&self, at: usize, what: &str) -> Result<u64, String> {
        let value = self.real(at, what)?;
        if value > MOST as f64 / 1e3 {
            return Err(format!("{value}: {what} must be at most {}", MOST / 1000));
        }
        Ok(value as u64)
    }

    /// Bytes of the type that an argument names, if it is there.
    fn type_bytes(&self, at: usize) -> Result<u64, String> {
        if at >= self.len() {
            return Ok(self.default_bytes);
        }
        let number = self.whole(at, "the number of a type")?;
        // Types of the program's own have no number.
        if number == -1 {
            return Ok(self.default_bytes);
        }
        let found = usize::try_from(number).ok().and_then(|number| TYPES.get(number));
        found.copied().ok_or_else(|| format!("type {number}: must be 0 to {}", TYPES.len() - 1))
    }

    fn rank(&self, at: usize, what: &str, ranks: u32) -> Result<u32, String> {
        let rank = self.whole(at, what)?;
        let found = u32::try_from(rank).ok().filter(|rank| *rank < ranks);
        found.ok_or_else(|| format!("{rank}: expected {what} from 0 to {}", ranks - 1))
    }

    fn root(&self, at: usize, ranks: u32) -> Result<u32, String> {
        if at < self.len() { self.rank(at, "a root", ranks) } else { Ok(0) }
    }

    /// A message: peer, tag, elements and perhaps type. Receives may have -1 for peer and tag.
    pub(super) fn message(&self, ranks: u32, is_send: bool) -> Result<Message, String> {
        let is_any = |at: usize, what| Ok::<_, String>(!is_send && self.whole(at, what)? == -1);
        let peer = if is_any(0, "a rank")? { ANY } else { self.rank(0, "a rank", ranks)? };
        let tag = if is_any(1, "a tag")? {
            ANY
        } else {
            let tag = self.whole(1, "a tag")?;
            u32::try_from(tag)
                .ok()
                .filter(|tag| *tag < ANY)
                .ok_or_else(|| format!("tag {tag}: must be 0 to {}", ANY - 1))?
        };
        let bytes = self.count(2, "a number of elements")? * self.type_bytes(3)?;
        Ok(Message { peer, tag, bytes, communicator: 0 })
    }

    /// Elements for each rank, from an argument on, in bytes.
    fn each(&self, at: usize, ranks: u32, bytes: u64) -> Result<Blocks, String> {
        let all = (0..ranks as usize).map(|rank| Ok(self.count(at + rank, "a number of elements")? * bytes));
        all.collect::<Result<_, String>>().map(Blocks::Each)
    }

    /// A collective operation and the flops that follow; none if the verb is not known.
    pub(super) fn collective(&self, verb: &str, ranks: u32) -> Result<Option<(CollectiveCall, f64)>, String> {
        let n = ranks as usize;
        let same = |count: usize, kind: usize| {
            Ok::<_, String>(Blocks::Same(self.count(count, "a number of elements")? * self.type_bytes(kind)?))
        };
        let none = Blocks::Same(0);
        let mut flops = 0.0;
        let mut root = 0;
        let (kind, send, receive) = match verb {
            "barrier" => (Collective::Barrier, none.clone(), none),
            "bcast" => {
                root = self.root(1, ranks)?;
                let bytes = same(0, 2)?;
                (Collective::Bcast, bytes.clone(), bytes)
            }
            "reduce" => {
                flops = self.real(1, "a number of flops")?;
                root = self.root(2, ranks)?;
                (Collective::Reduce, same(0, 3)?, none)
            }
            "allreduce" | "scan" | "exscan" => {
                flops = self.real(1, "a number of flops")?;
                let kind = if verb == "allreduce" { Collective::Allreduce } else { Collective::Scan };
                (kind, same(0, 2)?, none)
            }
            "alltoall" => (Collective::Alltoall, same(0, 2)?, same(1, 3)?),
            "allgather" => (Collective::Allgather, same(0, 2)?, same(1, 3)?),
            "gather" | "scatter" => {
                root = self.root(2, ranks)?;
                let kind = if verb == "gather" { Collective::Gather } else { Collective::Scatter };
                (kind, same(0, 3)?, same(1, 4)?)
            }
            "gatherv" => {
                root = self.root(1 + n, ranks)?;
                (Collective::Gather, same(0, 2 + n)?, self.each(1, ranks, self.type_bytes(3 + n)?)?)
            }
            "scatterv" => {
                root = self.root(1 + n, ranks)?;
                (Collective::Scatter, self.each(0, ranks, self.type_bytes(2 + n)?)?, same(n, 3 + n)?)
            }
            "allgatherv" => {
                let bytes = self.type_bytes(1 + n)?;
                (Collective::Allgather, same(0, 1 + n)?, self.each(1, ranks, bytes)?)
            }
            "alltoallv" => {
                let (out, back) = (self.type_bytes(2 + 2 * n)?, self.type_bytes(3 + 2 * n)?);
                (Collective::Alltoall, self.each(1, ranks, out)?, self.each(2 + n, ranks, back)?)
            }
            "reducescatter" => {
                flops = self.real(n, "a number of flops")?;
                (Collective::ReduceScatter, none, self.each(0, ranks, self.type_bytes(1 + n)?)?)
            }
            _ => return Ok(None),
        };
        Ok(Some((CollectiveCall { kind, communicator: 0, root, send, receive }, flops)))
    }
}
