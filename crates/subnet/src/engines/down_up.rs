//! DownUp: no path turns from up to down, seen from the leaves (`osm_ucast_dnup.c`).
//!
//! Ranks are distances to the nearest switch with an adapter. Links between equal ranks have no direction, so the result is not
//! free of deadlock where there are any: on meshes, tori and dragonflies it is MinHop.

use super::balance::{self, Rules};
use super::ranked::{self, Turns};
use super::{Options, Routing};
use crate::RouteError;
use crate::fabric::{Fabric, Peer};

/// "Up" and "down" by rank.
struct DownUp {
    ranks: Vec<u32>,
}

impl Turns for DownUp {
    const START: i8 = -1;

    fn direction(&self, from: usize, to: usize) -> i8 {
        match self.ranks[from].cmp(&self.ranks[to]) {
            std::cmp::Ordering::Less => -1,
            std::cmp::Ordering::Equal => 0,
            std::cmp::Ordering::Greater => 1,
        }
    }

    fn is_allowed(&self, before: i8, next: i8) -> bool {
        !(before > 0 && next < 0)
    }
}

pub(super) fn route(fabric: &Fabric<'_>, options: &Options) -> Result<Routing, RouteError> {
    let is_leaf = |&at: &usize| fabric.peers(at).iter().any(|peer| matches!(peer, Peer::End(_)));
    let leaves: Vec<usize> = (0..fabric.len()).filter(is_leaf).collect();
    if leaves.is_empty() {
        return Err(RouteError::NoLeaves);
    }
    let turns = DownUp { ranks: ranked::ranks(fabric, &leaves) };
    let matrix = ranked::matrix(fabric, &turns);
    Ok(Routing::new(balance::assign(fabric, &matrix, Rules::new(options, false)), matrix))
}
