//! A property that the model checker does not report: every transfer can end from wherever it may have come to.
//!
//! All states are visited, and the states from which an orderly end can be reached are found backwards from the ends. A
//! state that is not among them is a deadlock, a livelock or a leak.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use stateright::Model;

/// A model whose states name the property that does not hold, and which can end.
pub(crate) trait Ending: Model<State: Hash, Action: Copy> {
    /// Kind of fault.
    type Fault: Copy;

    /// The property that does not hold in this state.
    fn fault(&self, state: &Self::State) -> Option<Self::Fault>;

    /// True if everything has come to an orderly end.
    fn is_done(&self, state: &Self::State) -> bool;
}

/// Result of the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict<F, S> {
    /// All is well. Number of states, of transitions.
    Good(usize, usize),
    /// A property does not hold.
    Broken(F, Vec<S>),
    /// There is a way into a state from which no orderly end can be reached.
    Endless(Vec<S>),
    /// More states than were allowed; nothing was found in those that were visited.
    TooLarge(usize),
}

/// 128 bits of hash stand for a state, so that two states are not taken for one.
fn fingerprint(state: &impl Hash) -> u128 {
    let half = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        state.hash(&mut hasher);
        hasher.finish()
    };
    u128::from(half(1)) << 64 | u128::from(half(2))
}

/// The graph of states, as far as it is needed to go back.
struct Graph<S> {
    numbers: BTreeMap<u128, u32>,
    /// Step by which each state was reached first.
    origin: Vec<Option<(u32, S)>>,
    edges: Vec<(u32, u32)>,
    ends: Vec<u32>,
}

impl<S: Copy> Graph<S> {
    fn new() -> Self {
        Self { numbers: BTreeMap::new(), origin: Vec::new(), edges: Vec::new(), ends: Vec::new() }
    }

    /// The state's number, and whether it is new.
    fn number(&mut self, state: &impl Hash, origin: Option<(u32, S)>) -> (u32, bool) {
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(fingerprint(state)).or_insert(next);
        if number == next {
            self.origin.push(origin);
        }
        (number, number == next)
    }

    fn path(&self, mut number: u32) -> Vec<S> {
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
pub(crate) fn explore<M: Ending>(configuration: &M, limit: usize) -> Verdict<M::Fault, M::Action> {
    let mut graph = Graph::new();
    let mut front: Vec<(u32, M::State)> = Vec::new();
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
                let fault = configuration.fault(&next);
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
            let graph = Graph { origin, ..Graph::new() };
            Verdict::Endless(graph.path(number))
        }
    }
}
