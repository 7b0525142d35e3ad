//! A property that the model checker does not report: every transfer can end from wherever it may have come to.
//!
//! All states are visited, and the states from which an orderly end can be reached are found backwards from the ends. A
//! state that is not among them is a deadlock, a livelock or a leak.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use stateright::Model;

use super::model::{Configuration, Snapshot, Step};
use super::world::Fault;

/// Result of the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// All is well. Number of states, of transitions.
    Good(usize, usize),
    /// A property does not hold.
    Broken(Fault, Vec<Step>),
    /// There is a way into a state from which no orderly end can be reached.
    Endless(Vec<Step>),
    /// More states than were allowed; nothing was found in those that were visited.
    TooLarge(usize),
}

/// 128 bits of hash stand for a state, so that two states are not taken for one.
fn fingerprint(state: &Snapshot) -> u128 {
    let half = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        state.hash(&mut hasher);
        hasher.finish()
    };
    u128::from(half(1)) << 64 | u128::from(half(2))
}

/// The graph of states, as far as it is needed to go back.
#[derive(Default)]
struct Graph {
    numbers: BTreeMap<u128, u32>,
    /// Step by which each state was reached first.
    origin: Vec<Option<(u32, Step)>>,
    edges: Vec<(u32, u32)>,
    ends: Vec<u32>,
}

impl Graph {
    /// The state's number, and whether it is new.
    fn number(&mut self, state: &Snapshot, origin: Option<(u32, Step)>) -> (u32, bool) {
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(fingerprint(state)).or_insert(next);
        if number == next {
            self.origin.push(origin);
        }
        (number, number == next)
    }

    fn path(&self, mut number: u32) -> Vec<Step> {
        let mut steps = Vec::new();
        while let Some((before, step)) = self.origin[number as usize] {
            steps.push(step);
            number = before;
        }
        steps.reverse();
        steps
    }

    /// The first state from which no end can be reached.
    fn endless(mut self) -> Option<u32> {
        self.edges.sort_unstable_by_key(|edge| edge.1);
        let mut reaches = vec![false; self.origin.len()];
        let mut open = self.ends;
        for &end in &open {
            reaches[end as usize] = true;
        }
        while let Some(state) = open.pop() {
            let first = self.edges.partition_point(|edge| edge.1 < state);
            for &(before, _) in self.edges[first..].iter().take_while(|edge| edge.1 == state) {
                if !std::mem::replace(&mut reaches[before as usize], true) {
                    open.push(before);
                }
            }
        }
        reaches.iter().position(|reaches| !reaches).map(|number| number as u32)
    }
}

/// Visits all states of a configuration, but no more than `limit`.
pub(super) fn explore(configuration: &Configuration, limit: usize) -> Verdict {
    let mut graph = Graph::default();
    let mut front: Vec<(u32, Snapshot)> = Vec::new();
    for state in configuration.init_states() {
        front.push((graph.number(&state, None).0, state));
    }
    let mut steps = Vec::new();
    while !front.is_empty() {
        let mut next_front = Vec::new();
        for (number, state) in front {
            if configuration.is_done(&state) {
                graph.ends.push(number);
            }
            steps.clear();
            configuration.actions(&state, &mut steps);
            for &step in &steps {
                let Some(next) = configuration.next_state(&state, step) else { continue };
                let fault = next.world.fault;
                let (next_number, is_new) = graph.number(&next, Some((number, step)));
                if let Some(fault) = fault {
                    return Verdict::Broken(fault, graph.path(next_number));
                }
                graph.edges.push((number, next_number));
                if is_new {
                    next_front.push((next_number, next));
                }
            }
        }
        front = next_front;
        if graph.origin.len() > limit {
            return Verdict::TooLarge(graph.origin.len());
        }
    }
    let (states, transitions) = (graph.origin.len(), graph.edges.len());
    let origin = graph.origin.clone();
    match graph.endless() {
        None => Verdict::Good(states, transitions),
        Some(number) => {
            let graph = Graph { origin, ..Graph::default() };
            Verdict::Endless(graph.path(number))
        }
    }
}
