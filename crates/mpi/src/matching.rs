//! Matching of messages and receives, as MPI requires it: the first receive, in the order in which they were posted, that matches a message; the first
//! message, in the order in which they were sent, that matches a receive.

use std::collections::{BTreeMap, VecDeque};

/// Any source, any tag.
pub const ANY: i32 = -1;

/// Selection of messages by a receive or a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Rank of the sender, or [`ANY`].
    pub source: i32,
    /// Tag, or [`ANY`].
    pub tag: i32,
    /// Context.
    pub context: u16,
}

impl Pattern {
    /// True if a message of a sender with a tag, of its context, matches.
    pub const fn admits(&self, source: u32, tag: i32) -> bool {
        (self.source == ANY || self.source == source as i32) && (self.tag == ANY || self.tag == tag)
    }
}

/// Message that waits for its receive.
pub trait Envelop {
    /// Rank of the sender, and tag.
    fn source_and_tag(&self) -> (u32, i32);
}

/// Receives and messages of a context that have not met.
#[derive(Clone, Debug)]
struct Context<M> {
    posted: VecDeque<(u32, Pattern)>,
    unexpected: VecDeque<M>,
}

/// Posted receives, which have a number, and unexpected messages of a rank.
#[derive(Clone, Debug)]
pub struct Matching<M> {
    contexts: BTreeMap<u16, Context<M>>,
}

impl<M> Default for Matching<M> {
    fn default() -> Self {
        Self { contexts: BTreeMap::new() }
    }
}

impl<M: Envelop> Matching<M> {
    fn context(&mut self, context: u16) -> &mut Context<M> {
        let new = || Context { posted: VecDeque::new(), unexpected: VecDeque::new() };
        self.contexts.entry(context).or_insert_with(new)
    }

    /// A message has arrived, in its sender's order. Returns it with its receive; without one it is kept.
    pub fn arrive(&mut self, context: u16, message: M) -> Option<(u32, M)> {
        let of = self.context(context);
        let (source, tag) = message.source_and_tag();
        let place = of.posted.iter().position(|(_, pattern)| pattern.admits(source, tag));
        let found = place.and_then(|place| of.posted.remove(place));
        if let Some((receive, _)) = found {
            return Some((receive, message));
        }
        of.unexpected.push_back(message);
        None
    }

    /// A receive is posted. Returns its message if that is there; else the receive is kept.
    pub fn post(&mut self, receive: u32, pattern: Pattern) -> Option<M> {
        let found = self.take(pattern);
        if found.is_none() {
            self.context(pattern.context).posted.push_back((receive, pattern));
        }
        found
    }

    /// The message that a receive would get now.
    pub fn find(&self, pattern: Pattern) -> Option<&M> {
        let mut unexpected = self.contexts.get(&pattern.context)?.unexpected.iter();
        unexpected.find(|message| admits(pattern, *message))
    }

    /// Takes the message that a receive would get now.
    pub fn take(&mut self, pattern: Pattern) -> Option<M> {
        let of = self.contexts.get_mut(&pattern.context)?;
        let place = of.unexpected.iter().position(|message| admits(pattern, message))?;
        of.unexpected.remove(place)
    }

    /// Removes a posted receive; false if it has got its message.
    pub fn cancel(&mut self, receive: u32) -> bool {
        self.contexts.values_mut().any(|of| {
            let place = of.posted.iter().position(|&(number, _)| number == receive);
            place.and_then(|place| of.posted.remove(place)).is_some()
        })
    }

    /// Unexpected messages.
    pub fn unexpected(&self) -> usize {
        self.contexts.values().map(|of| of.unexpected.len()).sum()
    }
}

fn admits<M: Envelop>(pattern: Pattern, message: &M) -> bool {
    let (source, tag) = message.source_and_tag();
    pattern.admits(source, tag)
}
