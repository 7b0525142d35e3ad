//! Communicators: each rank numbers its own, and which ranks share one follows from the calls that make them.

use std::collections::BTreeMap;

use crate::events::{Event, Trace};

/// Number of MPI_COMM_NULL.
pub(super) const NULL_COMMUNICATOR: i64 = 1;

/// Number of MPI_COMM_WORLD.
pub(super) const WORLD: u32 = 2;

/// Number of MPI_COMM_SELF.
pub(super) const SELF: u32 = 3;

/// A way to make a communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Maker {
    /// The same ranks.
    Dup,
    /// Ranks of the same color, in order of key.
    Split {
        /// Color; below 0 for none.
        color: i64,
        /// Key.
        key: i64,
    },
}

/// An event with the rank's own numbers of communicators, or a call that makes one.
#[derive(Debug)]
pub(super) enum Item {
    /// An event.
    Event(Event),
    /// A communicator is made.
    Make {
        /// How.
        maker: Maker,
        /// The old one.
        old: u32,
        /// The new one.
        new: u32,
    },
}

/// A rank while its calls are gone through.
struct Rank {
    items: std::iter::Peekable<std::vec::IntoIter<Item>>,
    events: Vec<Event>,
    /// Common number of each communicator by the rank's own.
    known: BTreeMap<u32, u32>,
}

impl Rank {
    fn common(&self, own: u32) -> Result<u32, String> {
        let found = self.known.get(&own).copied();
        found.ok_or_else(|| {
            format!("communicator {own} is not known: MPI_Comm_dup, MPI_Comm_split and MPI_Cart_create are supported")
        })
    }

    /// Takes events until a communicator is made. Returns the old one's common number, or none at the end.
    fn advance(&mut self) -> Result<Option<(Maker, u32, u32)>, String> {
        loop {
            match self.items.peek() {
                None => return Ok(None),
                Some(Item::Make { maker, old, new }) => {
                    let (maker, old, new) = (*maker, *old, *new);
                    return Ok(Some((maker, self.common(old)?, new)));
                }
                Some(Item::Event(_)) => {
                    let Some(Item::Event(mut event)) = self.items.next() else { continue };
                    match &mut event {
                        Event::Send { message, .. } | Event::Recv { message, .. } => {
                            message.communicator = self.common(message.communicator)?;
                        }
                        Event::Collective { call, .. } => {
                            call.communicator = self.common(call.communicator)?;
                        }
                        Event::Compute { .. } | Event::Wait(_) => {}
                    }
                    self.events.push(event);
                }
            }
        }
    }
}

/// A rank that makes a communicator: its number in the world, how, its own number of the new one.
type Request = (u32, Maker, u32);

/// Goes through the calls of all ranks, and gives communicators common numbers.
pub(super) fn resolve(ranks: Vec<Vec<Item>>) -> Result<Trace, String> {
    let count = ranks.len() as u32;
    let known = || BTreeMap::from([(WORLD, 0)]);
    let rank =
        |items: Vec<Item>| Rank { items: items.into_iter().peekable(), events: Vec::new(), known: known() };
    let mut ranks: Vec<Rank> = ranks.into_iter().map(rank).collect();
    let mut groups: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    // By the old communicator: the ranks that have come to the call.
    let mut waiting: BTreeMap<u32, Vec<Request>> = BTreeMap::new();
    let mut active: Vec<u32> = (0..count).collect();
    while let Some(rank) = active.pop() {
        let made = ranks[rank as usize].advance().map_err(|problem| format!("rank {rank}: {problem}"))?;
        let Some((maker, old, new)) = made else { continue };
        let list = waiting.entry(old).or_default();
        list.push((rank, maker, new));
        let size = if old == 0 { count as usize } else { groups.get(&old).map_or(0, Vec::len) };
        if list.len() < size {
            continue;
        }
        let requests = waiting.remove(&old).unwrap_or_default();
        let members =
            if old == 0 { (0..count).collect() } else { groups.get(&old).cloned().unwrap_or_default() };
        for (group, common) in make(&members, &requests).into_iter().zip(groups.len() as u32 + 1..) {
            for (rank, own) in &group {
                ranks[*rank as usize].known.insert(*own, common);
            }
            groups.insert(common, group.into_iter().map(|(rank, _)| rank).collect());
        }
        for (rank, _, _) in requests {
            ranks[rank as usize].items.next();
            active.push(rank);
        }
    }
    if let Some((_, list)) = waiting.first_key_value()
        && let Some((rank, _, new)) = list.first()
    {
        return Err(format!(
            "rank {rank}: communicator {new} is made by {} ranks: the others do not call it",
            list.len()
        ));
    }
    Ok(Trace { ranks: ranks.into_iter().map(|rank| rank.events).collect(), groups })
}

/// Ranks of the new communicators, with their own numbers of them.
fn make(members: &[u32], requests: &[Request]) -> Vec<Vec<(u32, u32)>> {
    let mut colors: BTreeMap<i64, Vec<(i64, usize, u32, u32)>> = BTreeMap::new();
    for (rank, maker, own) in requests {
        let place = members.iter().position(|member| member == rank).unwrap_or(0);
        let (color, key) = match maker {
            Maker::Dup => (0, 0),
            Maker::Split { color, key } => (*color, *key),
        };
        if color >= 0 && i64::from(*own) != NULL_COMMUNICATOR {
            colors.entry(color).or_default().push((key, place, *rank, *own));
        }
    }
    let groups = colors.into_values().map(|mut list| {
        list.sort_unstable();
        list.into_iter().map(|(_, _, rank, own)| (rank, own)).collect()
    });
    groups.collect()
}
