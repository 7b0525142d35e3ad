//! The relations of a rank to others.

use std::collections::BTreeMap;

use super::Peer;

/// Relations, by rank of the other one. A rank of thousands has few of them, so they have places of their own; most uses are of the one used last.
#[derive(Debug, Default)]
pub(super) struct Peers {
    places: BTreeMap<u32, usize>,
    all: Vec<Peer>,
    recent: Option<(u32, usize)>,
}

impl Peers {
    pub(super) fn get(&self, peer: u32) -> Option<&Peer> {
        Some(&self.all[*self.places.get(&peer)?])
    }

    /// The relation to a rank; a new one if there is none.
    pub(super) fn of(&mut self, peer: u32) -> &mut Peer {
        let place = match self.recent {
            Some((recent, place)) if recent == peer => place,
            _ => {
                let new = self.all.len();
                let place = *self.places.entry(peer).or_insert(new);
                if place == new {
                    self.all.push(Peer::default());
                }
                self.recent = Some((peer, place));
                place
            }
        };
        &mut self.all[place]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Peer> {
        self.all.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_keeps_its_relation() {
        let mut peers = Peers::default();
        for peer in [7, 3, 7, 9, 3] {
            peers.of(peer).received += peer;
        }
        assert_eq!([7, 3, 9].map(|peer| peers.get(peer).unwrap().received), [14, 6, 9]);
        assert!(peers.get(8).is_none());
        assert_eq!(peers.iter().count(), 3);
    }
}
