//! A rank's calls as operations with dependencies.

use std::collections::BTreeMap;

use crate::{MOST, Operation, RankBuilder, RankSchedule};

/// Writes the schedule of a rank, call by call.
#[derive(Debug, Default)]
pub(crate) struct Player {
    builder: RankBuilder,
    /// Operations that the next one waits for; true if it waits for their start only.
    frontier: Vec<(u32, bool)>,
    /// Operations with which each request ends.
    requests: BTreeMap<u64, Vec<u32>>,
    /// Operations of the first round of a collective that does not block, while its messages are added.
    first_round: Option<Vec<u32>>,
}

impl Player {
    fn add(&mut self, operation: Operation) -> u32 {
        let number = self.builder.push(operation);
        for (on, at_start) in &self.frontier {
            if *at_start {
                self.builder.irequires(number, *on);
            } else {
                self.builder.requires(number, *on);
            }
        }
        number
    }

    /// An operation that the next ones wait for, or, with a request, whose start they wait for.
    fn call(&mut self, operation: Operation, request: Option<u64>) {
        let number = self.add(operation);
        self.frontier.clear();
        self.frontier.push((number, request.is_some()));
        if let Some(request) = request {
            self.requests.insert(request, vec![number]);
        }
    }

    pub(crate) fn compute(&mut self, ns: u64) {
        if ns > 0 {
            self.call(Operation::calc(ns.min(MOST)), None);
        }
    }

    pub(crate) fn send(&mut self, to: u32, tag: u32, bytes: u64, request: Option<u64>) {
        self.call(Operation::send(to, tag, bytes.min(MOST)), request);
    }

    pub(crate) fn receive(&mut self, from: u32, tag: u32, bytes: u64, request: Option<u64>) {
        self.call(Operation::recv(from, tag, bytes.min(MOST)), request);
    }

    /// The next operation waits for the end of these.
    pub(crate) fn wait(&mut self, requests: &[u64]) {
        for request in requests {
            if let Some(numbers) = self.requests.remove(request) {
                self.frontier.extend(numbers.into_iter().map(|number| (number, false)));
            }
        }
    }

    /// Messages at the same time, for whose end the next operation waits: pairs of rank and bytes.
    pub(crate) fn round(&mut self, tag: u32, sends: &[(u32, u64)], receives: &[(u32, u64)]) {
        if sends.is_empty() && receives.is_empty() {
            return;
        }
        let mut next = Vec::with_capacity(sends.len() + receives.len());
        for (from, bytes) in receives {
            next.push((self.add(Operation::recv(*from, tag, (*bytes).min(MOST))), false));
        }
        for (to, bytes) in sends {
            next.push((self.add(Operation::send(*to, tag, (*bytes).min(MOST))), false));
        }
        if let Some(first) = &mut self.first_round
            && first.is_empty()
        {
            first.extend(next.iter().map(|(number, _)| *number));
        }
        self.frontier = next;
    }

    /// Starts a collective that does not block, whose rounds `expand` adds. The next operation waits for the start of its first round.
    pub(crate) fn start(&mut self, request: u64, expand: impl FnOnce(&mut Self)) {
        self.first_round = Some(Vec::new());
        expand(self);
        let first = self.first_round.take().unwrap_or_default();
        if first.is_empty() {
            return;
        }
        let next = first.into_iter().map(|number| (number, true)).collect();
        let ends = std::mem::replace(&mut self.frontier, next);
        self.requests.insert(request, ends.into_iter().map(|(number, _)| number).collect());
    }

    /// Begins a part of the schedule that waits for nothing yet. Returns its first operation, which takes `ns`.
    pub(crate) fn begin(&mut self, ns: u64) -> u32 {
        self.frontier.clear();
        let number = self.builder.push(Operation::calc(ns.min(MOST)));
        self.frontier.push((number, false));
        number
    }

    /// Operations that the next one waits for.
    pub(crate) fn ends(&self) -> impl Iterator<Item = u32> {
        self.frontier.iter().map(|(number, _)| *number)
    }

    /// `operation` waits for the end of `on`.
    pub(crate) fn requires(&mut self, operation: u32, on: u32) {
        self.builder.requires(operation, on);
    }

    pub(crate) fn finish(self) -> RankSchedule {
        self.builder.finish()
    }
}
