//! Names and port numbers of the thesis of Zeru (2016), section 3.3.
//!
//! 2D: `SW<row y><column x>`, row 1 at the top. 3D: `SW<y><x><z>`. Hosts have the switch's subscripts and a number
//! from 1. Where a subscript can exceed 9 they are separated: `SW3_12`. Nodes are numbered in the order of names.

use super::naming::Towards;
use super::thesis_table::{N, PORTS};

/// A mesh or torus that the thesis' rules cover.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Radices, x first; two, or three for a mesh.
    radix: Vec<u32>,
    torus: bool,
    separate_switches: bool,
    separate_hosts: bool,
}

/// y slowest; then x, and in 3D z fastest ("towards the positive z-direction ... and then to the positive x").
pub(super) fn slowest_first(dimensions: usize) -> Vec<usize> {
    if dimensions == 2 { vec![1, 0] } else { vec![1, 0, 2] }
}

impl Layout {
    /// Returns the layout; the error says which rule of the thesis does not cover it.
    pub(crate) fn new(radix: &[u32], wrap: &[bool], hosts: u32) -> Result<Self, String> {
        let covered = match wrap {
            [a, b] => a == b,
            [false, false, false] => true,
            _ => false,
        };
        if !covered {
            return Err("the thesis' port numbers are for 2D meshes, 2D tori and 3D meshes only: \
                        use `coordinates`"
                .to_owned());
        }
        if radix.contains(&1) {
            return Err("the thesis' port numbers need a radix of 2 or more in each dimension: \
                        use `coordinates`"
                .to_owned());
        }
        let separate_switches = radix.iter().any(|&k| k > 9);
        let separate_hosts = separate_switches || hosts > 9;
        Ok(Self { radix: radix.to_vec(), torus: wrap[0], separate_switches, separate_hosts })
    }

    fn subscripts(&self, at: &[u32]) -> Vec<String> {
        slowest_first(self.radix.len()).iter().map(|&d| (at[d] + 1).to_string()).collect()
    }

    pub(super) fn switch(&self, at: &[u32]) -> String {
        format!("SW{}", self.subscripts(at).join(if self.separate_switches { "_" } else { "" }))
    }

    pub(super) fn host(&self, at: &[u32], slot: u32) -> String {
        let mut subscripts = self.subscripts(at);
        subscripts.push((slot + 1).to_string());
        format!("H{}", subscripts.join(if self.separate_hosts { "_" } else { "" }))
    }

    pub(super) fn ports(&self, at: &[u32], present: &[[bool; 2]], first: u16) -> Towards {
        if self.radix.len() == 3 { self.mesh_3d(at, first) } else { self.flat(at, present, first) }
    }

    /// Sections 3.3.1 and 3.3.2: left, right, up, down without gaps; in a mesh's leftmost column up, right, down,
    /// and at its top-left corner down, right.
    fn flat(&self, at: &[u32], present: &[[bool; 2]], first: u16) -> Towards {
        const LEFT: (usize, usize) = (0, 0);
        const RIGHT: (usize, usize) = (0, 1);
        const UP: (usize, usize) = (1, 0);
        const DOWN: (usize, usize) = (1, 1);
        let order: &[_] = match (self.torus, at) {
            (false, [0, 0]) => &[DOWN, RIGHT],
            (false, [0, _]) => &[UP, RIGHT, DOWN],
            _ => &[LEFT, RIGHT, UP, DOWN],
        };
        let mut ports = vec![[None; 2]; 2];
        let there = order.iter().filter(|&&(dimension, way)| present[dimension][way]);
        for (port, &(dimension, way)) in (first..).zip(there) {
            ports[dimension][way] = Some(port);
        }
        ports
    }

    /// Section 3.3.3, tables 3.1 to 3.3.
    fn mesh_3d(&self, at: &[u32], first: u16) -> Towards {
        let letter = |d: usize| match at[d] {
            0 => '1',
            c if c + 1 == self.radix[d] => 'm',
            _ => '*',
        };
        let position: String = slowest_first(3).into_iter().map(letter).collect();
        let row = PORTS.iter().find(|row| row.0 == position).map_or([N; 6], |row| row.1);
        let [x_up, x_down, y_up, y_down, z_up, z_down] = row.map(|port| (port != N).then(|| port + first));
        // The thesis' +y leads to smaller first subscripts, which is towards lower coordinates here.
        vec![[x_down, x_up], [y_up, y_down], [z_down, z_up]]
    }
}
