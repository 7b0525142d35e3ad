//! Hop counts where some turns are forbidden: the searches of UpDown and DownUp.

use std::collections::VecDeque;

use super::hops::{HopMatrix, NO_PATH, TargetRows};
use crate::fabric::Fabric;

/// Directions of links, and turns that paths may take.
pub(super) trait Turns: Sync {
    /// Direction in which the search leaves its target.
    const START: i8;

    /// Direction of a link: 1 up, -1 down, 0 neither.
    fn direction(&self, from: usize, to: usize) -> i8;

    /// True if a search may go on in `next` after `before`.
    fn is_allowed(&self, before: i8, next: i8) -> bool;
}

/// Distances of all switches to the nearest of `starts`; `u32::MAX` for unreachable ones.
pub(super) fn ranks(fabric: &Fabric<'_>, starts: &[usize]) -> Vec<u32> {
    let mut ranks = vec![u32::MAX; fabric.len()];
    let mut queue: VecDeque<usize> = starts.iter().copied().collect();
    for &start in starts {
        ranks[start] = 0;
    }
    while let Some(at) = queue.pop_front() {
        for (_, next, _) in fabric.switch_links(at) {
            if ranks[next] == u32::MAX {
                ranks[next] = ranks[at] + 1;
                queue.push_back(next);
            }
        }
    }
    ranks
}

/// A link between switches.
struct Link {
    next: u32,
    /// The peer's port.
    back: u8,
    direction: i8,
}

/// Hop counts of paths with allowed turns.
///
/// The search from a target is OpenSM's (`updn_bfs_by_node`), which is not exact: a switch takes the direction of the link that
/// queued it last, and is queued once more when a further port improves.
pub(super) fn matrix<T: Turns>(fabric: &Fabric<'_>, turns: &T) -> HopMatrix {
    let mut first = vec![0];
    let mut links = Vec::new();
    for at in 0..fabric.len() {
        links.extend(fabric.switch_links(at).map(|(_, next, back)| Link {
            next: next as u32,
            back: back as u8,
            direction: turns.direction(at, next),
        }));
        first.push(links.len());
    }
    HopMatrix::by_target(fabric, |target, rows| {
        Search { turns, first: &first, links: &links, fabric, rows }.run(target);
    })
}

struct Search<'a, T> {
    turns: &'a T,
    first: &'a [usize],
    links: &'a [Link],
    fabric: &'a Fabric<'a>,
    rows: TargetRows<'a>,
}

impl<T: Turns> Search<'_, T> {
    fn run(mut self, target: usize) {
        let switches = self.first.len() - 1;
        let mut direction = vec![0i8; switches];
        let mut queued = vec![false; switches];
        let mut hops = vec![NO_PATH; self.fabric.num_ports()];
        let mut queue = VecDeque::from([target as u32]);
        self.rows.least[target] = 0;
        direction[target] = T::START;
        while let Some(at) = queue.pop_front() {
            let at = at as usize;
            queued[at] = false;
            for link in &self.links[self.first[at]..self.first[at + 1]] {
                let count = self.rows.least[at].saturating_add(1);
                let next = link.next as usize;
                let port = usize::from(link.back);
                let old = &mut hops[self.fabric.first_port(next) + port];
                if !self.turns.is_allowed(direction[at], link.direction) || count >= *old {
                    continue;
                }
                *old = count;
                self.improve(next, port, count);
                if !std::mem::replace(&mut queued[next], true) {
                    direction[next] = link.direction;
                    queue.push_back(link.next);
                }
            }
        }
        self.rows.clear_ports(target);
    }

    /// Notes the hops of a port.
    fn improve(&mut self, at: usize, port: usize, hops: u8) {
        let least = self.rows.least[at];
        if hops > least {
            return;
        }
        if hops < least {
            self.rows.clear_ports(at);
            self.rows.least[at] = hops;
        }
        self.rows.add_port(at, port);
    }
}
