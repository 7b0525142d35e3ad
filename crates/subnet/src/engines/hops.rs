//! Hop counts between switches and the ports that keep to them: OpenSM's "lid matrices" (`osm_ucast_mgr.c`).

use rayon::prelude::*;

use crate::fabric::Fabric;

/// Hops to an unreachable switch.
pub const NO_PATH: u8 = 255;

/// Number of ports in a word of a port set.
const WORD: usize = 64;

/// For each target switch and each switch: least hops, and the set of ports with as many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HopMatrix {
    switches: usize,
    /// Words of a port set.
    words: usize,
    /// By target, then switch.
    least: Vec<u8>,
    /// By target, then switch, then word.
    ports: Vec<u64>,
}

/// What an engine tells OpenSM of hops, which is what `opensm.fdbs` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hops {
    /// Least hops, and the ports that keep to them.
    Least(HopMatrix),
    /// The same, and to switches the hops of the paths.
    LeastAndPaths(HopMatrix),
    /// Those of the table's ports, by switch and LID: each port is the best.
    Told(Vec<u8>),
    /// None.
    Untold,
}

/// The rows of one target.
pub(crate) struct TargetRows<'a> {
    words: usize,
    /// Least hops by switch.
    pub(crate) least: &'a mut [u8],
    ports: &'a mut [u64],
}

impl TargetRows<'_> {
    /// Forgets the ports of a switch.
    pub(crate) fn clear_ports(&mut self, switch: usize) {
        self.ports[switch * self.words..(switch + 1) * self.words].fill(0);
    }

    /// Adds a port of a switch.
    pub(crate) fn add_port(&mut self, switch: usize, port: usize) {
        self.ports[switch * self.words + port / WORD] |= 1 << (port % WORD);
    }
}

impl HopMatrix {
    /// A matrix that `fill` makes target by target. Rows begin with `NO_PATH` and empty sets.
    pub(crate) fn by_target(fabric: &Fabric<'_>, fill: impl Fn(usize, TargetRows<'_>) + Sync) -> Self {
        let switches = fabric.len();
        let words = fabric.most_ports().div_ceil(WORD);
        let mut least = vec![NO_PATH; switches * switches];
        let mut ports = vec![0; switches * switches * words];
        least
            .par_chunks_mut(switches)
            .zip(ports.par_chunks_mut(switches * words))
            .enumerate()
            .for_each(|(target, (least, ports))| fill(target, TargetRows { words, least, ports }));
        Self { switches, words, least, ports }
    }

    /// Shortest paths (`osm_ucast_mgr_build_lid_matrices`).
    pub(crate) fn shortest(fabric: &Fabric<'_>) -> Self {
        let links = Links::new(fabric);
        Self::by_target(fabric, |target, mut rows| {
            links.distances(target, rows.least);
            for at in 0..links.len() {
                let hops = rows.least[at];
                if hops == NO_PATH || at == target {
                    continue;
                }
                for &(port, next) in links.of(at) {
                    if rows.least[next as usize] == hops - 1 {
                        rows.add_port(at, usize::from(port));
                    }
                }
            }
        })
    }

    /// Least hops from a switch to a target switch.
    pub(crate) fn least(&self, switch: usize, target: usize) -> u8 {
        self.least[target * self.switches + switch]
    }

    /// Ports of a switch with least hops to a target, ascending.
    pub(crate) fn ports(&self, switch: usize, target: usize) -> Ports<'_> {
        let start = (target * self.switches + switch) * self.words;
        Ports { words: &self.ports[start..start + self.words], word: 0, bits: self.ports[start] }
    }
}

/// Ports of a set, ascending.
#[derive(Debug, Clone)]
pub(crate) struct Ports<'a> {
    words: &'a [u64],
    word: usize,
    bits: u64,
}

impl Iterator for Ports<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.bits == 0 {
            self.word += 1;
            self.bits = *self.words.get(self.word)?;
        }
        let port = self.word * WORD + self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        Some(port)
    }
}

/// Links between switches as one array: own port and peer.
pub(crate) struct Links {
    first: Vec<u32>,
    links: Vec<(u8, u32)>,
}

impl Links {
    /// Links of a fabric.
    pub(crate) fn new(fabric: &Fabric<'_>) -> Self {
        let mut first = vec![0];
        let mut links = Vec::new();
        for switch in 0..fabric.len() {
            links.extend(fabric.switch_links(switch).map(|(port, next, _)| (port as u8, next as u32)));
            first.push(links.len() as u32);
        }
        Self { first, links }
    }

    /// Number of switches.
    pub(crate) fn len(&self) -> usize {
        self.first.len() - 1
    }

    /// Links of a switch by ascending port.
    pub(crate) fn of(&self, switch: usize) -> &[(u8, u32)] {
        &self.links[self.first[switch] as usize..self.first[switch + 1] as usize]
    }

    /// Breadth-first distances from a switch. Distances of 254 and more count as unreachable.
    pub(crate) fn distances(&self, from: usize, distances: &mut [u8]) {
        let mut queue = Vec::with_capacity(self.len());
        distances[from] = 0;
        queue.push(from as u32);
        let mut head = 0;
        while let Some(&at) = queue.get(head) {
            head += 1;
            let hops = distances[at as usize] + 1;
            if hops == NO_PATH {
                break;
            }
            for &(_, next) in self.of(at as usize) {
                if distances[next as usize] == NO_PATH {
                    distances[next as usize] = hops;
                    queue.push(next);
                }
            }
        }
    }
}
