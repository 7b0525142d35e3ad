//! Schedules: operations of each rank, and which of them wait for which.

/// Peer or tag of a receive that matches any.
pub const ANY: u32 = u32::MAX;

/// Largest size of a message in bytes and largest duration of a computation in ns.
pub const MOST: u64 = i64::MAX as u64;

/// Kind of an operation, in the order in which operations that become executable together are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// A message to `peer`.
    Send = 1,
    /// A message from `peer`.
    Recv = 2,
    /// A computation.
    Calc = 3,
}

impl Kind {
    /// The word for it in GOAL text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Recv => "recv",
            Self::Calc => "calc",
        }
    }
}

/// An operation of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Kind.
    pub kind: Kind,
    /// Processor of the rank that executes it.
    pub cpu: u8,
    /// Network interface of the rank that executes it.
    pub nic: u8,
    /// The other rank; [`ANY`] for a receive from any; 0 for a computation.
    pub peer: u32,
    /// Tag; [`ANY`] for a receive of any; 0 for a computation.
    pub tag: u32,
    /// Bytes, or ns of a computation; at most [`MOST`].
    pub size: u64,
}

impl Operation {
    /// A send on the first processor and interface.
    pub fn send(peer: u32, tag: u32, bytes: u64) -> Self {
        Self { kind: Kind::Send, cpu: 0, nic: 0, peer, tag, size: bytes }
    }

    /// A receive on the first processor and interface.
    pub fn recv(peer: u32, tag: u32, bytes: u64) -> Self {
        Self { kind: Kind::Recv, cpu: 0, nic: 0, peer, tag, size: bytes }
    }

    /// A computation on the first processor.
    pub fn calc(ns: u64) -> Self {
        Self { kind: Kind::Calc, cpu: 0, nic: 0, peer: 0, tag: 0, size: ns }
    }
}

/// Operations that wait for an operation: lists in one array.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Dependents {
    /// Where the list of operation `i` begins; one more at the end.
    begins: Vec<u32>,
    numbers: Vec<u32>,
}

impl Dependents {
    /// Lists from pairs (operation, operation that it waits for); each list keeps the order of the pairs.
    fn of(count: usize, pairs: &[(u32, u32)]) -> Self {
        let mut begins = vec![0u32; count + 1];
        for &(_, on) in pairs {
            begins[on as usize + 1] += 1;
        }
        for at in 0..count {
            begins[at + 1] += begins[at];
        }
        let mut next = begins.clone();
        let mut numbers = vec![0; pairs.len()];
        for &(operation, on) in pairs {
            numbers[next[on as usize] as usize] = operation;
            next[on as usize] += 1;
        }
        Self { begins, numbers }
    }

    /// Operations that wait for `operation`.
    pub(crate) fn list(&self, operation: u32) -> &[u32] {
        let at = operation as usize;
        &self.numbers[self.begins[at] as usize..self.begins[at + 1] as usize]
    }
}

/// Operations of one rank.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RankSchedule {
    operations: Vec<Operation>,
    on_end: Dependents,
    on_start: Dependents,
    /// Number of operations that each operation waits for.
    missing: Vec<u32>,
}

impl RankSchedule {
    /// Operations in the order of the file.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Operations that wait for the end of `operation` (`requires`).
    pub fn after_end(&self, operation: u32) -> &[u32] {
        self.on_end.list(operation)
    }

    /// Operations that wait for the start of `operation` (`irequires`).
    pub fn after_start(&self, operation: u32) -> &[u32] {
        self.on_start.list(operation)
    }

    /// Number of operations that each operation waits for.
    pub fn missing(&self) -> &[u32] {
        &self.missing
    }

    /// Operations that wait for none.
    pub fn roots(&self) -> impl Iterator<Item = u32> {
        self.missing.iter().enumerate().filter(|(_, count)| **count == 0).map(|(at, _)| at as u32)
    }
}

/// A schedule of one rank that is being written.
#[derive(Debug, Default)]
pub struct RankBuilder {
    operations: Vec<Operation>,
    ends: Vec<(u32, u32)>,
    starts: Vec<(u32, u32)>,
}

impl RankBuilder {
    /// Appends an operation; returns its number, from 0.
    pub fn push(&mut self, operation: Operation) -> u32 {
        self.operations.push(operation);
        self.operations.len() as u32 - 1
    }

    /// Number of operations so far.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// True if it has no operation.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// `operation` waits for the end of `on`. Both are numbers that [`push`](Self::push) has returned.
    pub fn requires(&mut self, operation: u32, on: u32) {
        self.ends.push((operation, on));
    }

    /// `operation` waits for the start of `on`.
    pub fn irequires(&mut self, operation: u32, on: u32) {
        self.starts.push((operation, on));
    }

    /// The schedule.
    pub fn finish(self) -> RankSchedule {
        let count = self.operations.len();
        let mut missing = vec![0; count];
        for &(operation, _) in self.ends.iter().chain(&self.starts) {
            missing[operation as usize] += 1;
        }
        RankSchedule {
            operations: self.operations,
            on_end: Dependents::of(count, &self.ends),
            on_start: Dependents::of(count, &self.starts),
            missing,
        }
    }
}

/// Operations of all ranks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Ranks in order.
    pub ranks: Vec<RankSchedule>,
}

impl Schedule {
    /// Number of operations of all ranks.
    pub fn events(&self) -> u64 {
        self.ranks.iter().map(|rank| rank.operations.len() as u64).sum()
    }

    /// Gives each computation that takes time the duration `ns`, at most [`MOST`]. Those of no time only order others.
    pub fn replace_computation(&mut self, ns: u64) {
        for operation in self.ranks.iter_mut().flat_map(|rank| &mut rank.operations) {
            if operation.kind == Kind::Calc && operation.size > 0 {
                operation.size = ns.min(MOST);
            }
        }
    }

    /// Multiplies the durations of computations by `factor`, which is not negative, rounded to whole ns and at most [`MOST`].
    pub fn scale_computation(&mut self, factor: f64) {
        for operation in self.ranks.iter_mut().flat_map(|rank| &mut rank.operations) {
            if operation.kind == Kind::Calc {
                operation.size = ((operation.size as f64 * factor).round() as u64).min(MOST);
            }
        }
    }
}
