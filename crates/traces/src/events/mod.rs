//! Calls of each rank in order, as traces of MPI programs have them, and their expansion to a schedule.

mod collectives;
mod player;

pub(crate) use collectives::expand;

use std::collections::BTreeMap;

pub(crate) use player::Player;

use crate::{ANY, Schedule, TraceError};

/// A collective operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collective {
    /// MPI_Barrier.
    Barrier,
    /// MPI_Bcast.
    Bcast,
    /// MPI_Reduce.
    Reduce,
    /// MPI_Allreduce.
    Allreduce,
    /// MPI_Gather and MPI_Gatherv.
    Gather,
    /// MPI_Scatter and MPI_Scatterv.
    Scatter,
    /// MPI_Allgather and MPI_Allgatherv.
    Allgather,
    /// MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw.
    Alltoall,
    /// MPI_Reduce_scatter and MPI_Reduce_scatter_block.
    ReduceScatter,
    /// MPI_Scan and MPI_Exscan.
    Scan,
}

/// Bytes for each rank of a communicator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocks {
    /// The same for all.
    Same(u64),
    /// One for each rank.
    Each(Vec<u64>),
}

impl Blocks {
    /// Bytes of a rank; 0 if there are none for it.
    pub(crate) fn of(&self, rank: u32) -> u64 {
        match self {
            Self::Same(bytes) => *bytes,
            Self::Each(all) => all.get(rank as usize).copied().unwrap_or(0),
        }
    }
}

/// A call of a collective operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectiveCall {
    /// Operation.
    pub kind: Collective,
    /// Number of the communicator.
    pub communicator: u32,
    /// Root, a rank of the communicator; 0 if the operation has none.
    pub root: u32,
    /// Bytes to each rank; the message, for a broadcast, a reduction or a scan.
    pub send: Blocks,
    /// Bytes from each rank.
    pub receive: Blocks,
}

/// A call, or the computation between two calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Computation.
    Compute {
        /// Duration in ns.
        ns: u64,
    },
    /// A send to a rank of a communicator.
    Send {
        /// Receiver, tag, bytes.
        message: Message,
        /// Its request, if it does not block.
        request: Option<u64>,
    },
    /// A receive from a rank of a communicator.
    Recv {
        /// Sender or any, tag or any, bytes.
        message: Message,
        /// Its request, if it does not block.
        request: Option<u64>,
    },
    /// Waits for all of these requests; those that are not known are complete.
    Wait(Vec<u64>),
    /// A collective operation.
    Collective {
        /// Operation, communicator, bytes.
        call: CollectiveCall,
        /// Its request, if it does not block.
        request: Option<u64>,
    },
}

/// Envelope of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// The other rank, in the communicator; [`ANY`] for any.
    pub peer: u32,
    /// Tag; [`ANY`] for any.
    pub tag: u32,
    /// Bytes.
    pub bytes: u64,
    /// Number of the communicator.
    pub communicator: u32,
}

/// Calls of all ranks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trace {
    /// Calls of each rank.
    pub ranks: Vec<Vec<Event>>,
    /// Ranks of each communicator from 1, in order. Number 0 has all ranks.
    pub groups: BTreeMap<u32, Vec<u32>>,
}

impl Trace {
    /// The schedule of sends and receives that the calls amount to; `file` is the trace's name for messages.
    pub fn expand(&self, file: &str) -> Result<Schedule, TraceError> {
        let mut tags = Tags::default();
        let mut calls = Calls::default();
        let mut schedule = Schedule::default();
        for (rank, events) in self.ranks.iter().enumerate() {
            let rank = rank as u32;
            let mut player = Player::default();
            for event in events {
                let played = self.play(rank, event, &mut player, &mut tags, &mut calls);
                played.map_err(|problem| TraceError::whole(file, format!("rank {rank}: {problem}")))?;
            }
            schedule.ranks.push(player.finish());
        }
        calls.check_counts(self).map_err(|problem| TraceError::whole(file, problem))?;
        Ok(schedule)
    }

    fn play(
        &self,
        rank: u32,
        event: &Event,
        player: &mut Player,
        tags: &mut Tags,
        calls: &mut Calls,
    ) -> Result<(), String> {
        match event {
            Event::Compute { ns } => player.compute(*ns),
            Event::Send { message, request } => {
                let to = self.world_rank(message.communicator, message.peer)?;
                player.send(to, tags.of(message.communicator, message.tag), message.bytes, *request);
            }
            Event::Recv { message, request } => {
                let from = match message.peer {
                    ANY => ANY,
                    peer => self.world_rank(message.communicator, peer)?,
                };
                player.receive(from, tags.of(message.communicator, message.tag), message.bytes, *request);
            }
            Event::Wait(requests) => player.wait(requests),
            Event::Collective { call, request } => {
                let group = self.group(call.communicator)?;
                let Some(me) = group.position(rank) else {
                    return Err(format!("it is no member of communicator {}", call.communicator));
                };
                if call.root >= group.len() {
                    let most = group.len() - 1;
                    return Err(format!("root {} of a collective: must be 0 to {most}", call.root));
                }
                let number = calls.note(rank, call)?;
                let tag = collective_tag(call.communicator, number);
                match request {
                    None => collectives::expand(player, call, &group, me, tag),
                    Some(request) => {
                        player.start(*request, |player| collectives::expand(player, call, &group, me, tag));
                    }
                }
            }
        }
        Ok(())
    }

    fn group(&self, communicator: u32) -> Result<Group<'_>, String> {
        if communicator == 0 {
            return Ok(Group { count: self.ranks.len() as u32, listed: None });
        }
        let ranks = self.groups.get(&communicator);
        let ranks = ranks.ok_or_else(|| format!("communicator {communicator} is not known"))?;
        Ok(Group { count: ranks.len() as u32, listed: Some(ranks) })
    }

    fn world_rank(&self, communicator: u32, rank: u32) -> Result<u32, String> {
        let group = self.group(communicator)?;
        let count = group.len();
        if rank >= count {
            return Err(format!("peer {rank} of a message: must be 0 to {}", count.saturating_sub(1)));
        }
        Ok(group.rank(rank))
    }
}

/// Ranks of a communicator.
pub(crate) struct Group<'a> {
    count: u32,
    listed: Option<&'a [u32]>,
}

impl<'a> Group<'a> {
    /// All of `count` ranks.
    pub(crate) fn world(count: u32) -> Group<'a> {
        Group { count, listed: None }
    }

    /// Number of ranks.
    pub(crate) fn len(&self) -> u32 {
        self.count
    }

    /// Rank in the world of a rank.
    pub(crate) fn rank(&self, rank: u32) -> u32 {
        self.listed.map_or(rank, |ranks| ranks[rank as usize])
    }

    fn position(&self, world: u32) -> Option<u32> {
        match self.listed {
            None => Some(world),
            Some(ranks) => ranks.iter().position(|rank| *rank == world).map(|at| at as u32),
        }
    }
}

/// First tag that no message of the communicator of all ranks has.
const OTHER_TAGS: u32 = 1 << 30;

/// First tag of collective operations.
const COLLECTIVE_TAGS: u32 = 1 << 31;

/// Tag of the messages of a communicator's collective operation with this number.
pub(crate) fn collective_tag(communicator: u32, number: u32) -> u32 {
    COLLECTIVE_TAGS | ((communicator % 0x4000) << 16) | (number % 0x1_0000)
}

/// Tags of a schedule for pairs of communicator and tag.
#[derive(Debug, Default)]
struct Tags(BTreeMap<(u32, u32), u32>);

impl Tags {
    fn of(&mut self, communicator: u32, tag: u32) -> u32 {
        if tag == ANY || (communicator == 0 && tag < OTHER_TAGS) {
            return tag;
        }
        let next = OTHER_TAGS + self.0.len() as u32;
        *self.0.entry((communicator, tag)).or_insert(next)
    }
}

/// Collective calls of each communicator, as the first rank that made them did.
#[derive(Debug, Default)]
struct Calls {
    first: BTreeMap<u32, Vec<(Collective, u32, u32)>>,
    /// Number of calls by communicator and rank.
    counts: BTreeMap<(u32, u32), u32>,
}

impl Calls {
    /// Number of the call in its communicator.
    fn note(&mut self, rank: u32, call: &CollectiveCall) -> Result<u32, String> {
        let count = self.counts.entry((call.communicator, rank)).or_insert(0);
        let number = *count;
        *count += 1;
        let list = self.first.entry(call.communicator).or_default();
        match list.get(number as usize) {
            None => list.push((call.kind, call.root, rank)),
            Some((kind, root, _)) if (*kind, *root) == (call.kind, call.root) => {}
            Some((kind, root, first)) => {
                return Err(format!(
                    "collective {number} of communicator {} is {:?} with root {}, and rank {first} calls {kind:?} with root {root}",
                    call.communicator, call.kind, call.root
                ));
            }
        }
        Ok(number)
    }

    fn check_counts(&self, trace: &Trace) -> Result<(), String> {
        for (communicator, list) in &self.first {
            let group = trace.group(*communicator)?;
            for rank in (0..group.len()).map(|rank| group.rank(rank)) {
                let count = self.counts.get(&(*communicator, rank)).copied().unwrap_or(0);
                if count as usize != list.len() {
                    return Err(format!(
                        "rank {rank} ends after {count} collectives of communicator {communicator}, other ranks have {}",
                        list.len()
                    ));
                }
            }
        }
        Ok(())
    }
}
