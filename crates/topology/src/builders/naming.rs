//! Names, order and port numbers of a grid's switches and hosts.

use super::thesis;

/// Names and port numbers of a grid: [`fabricsim_spec::Naming`] with what is needed to apply it.
#[derive(Clone, Debug)]
pub(crate) enum Scheme {
    /// `S(x,y,z)`, `H(x,y,z).i`, from 0; x runs fastest; hosts first, then - and + port per dimension.
    Coordinates,
    /// Section 3.3 of the thesis.
    Thesis(thesis::Layout),
}

/// Ports of a switch of a grid towards lower (0) and higher (1) coordinates of each dimension.
pub(crate) type Towards = Vec<[Option<u16>; 2]>;

impl Scheme {
    /// The dimensions from the one that runs slowest in the numbering of switches to the one that runs fastest.
    pub(crate) fn slowest_first(&self, dimensions: usize) -> Vec<usize> {
        match self {
            Self::Coordinates => (0..dimensions).rev().collect(),
            Self::Thesis(_) => thesis::slowest_first(dimensions),
        }
    }

    pub(crate) fn switch(&self, at: &[u32]) -> String {
        match self {
            Self::Coordinates => format!("S({})", join(at)),
            Self::Thesis(layout) => layout.switch(at),
        }
    }

    pub(crate) fn host(&self, at: &[u32], slot: u32) -> String {
        match self {
            Self::Coordinates => format!("H({}).{slot}", join(at)),
            Self::Thesis(layout) => layout.host(at, slot),
        }
    }

    /// Port numbers, from `first` up, at a switch that has the neighbours `present`.
    pub(crate) fn ports(&self, at: &[u32], present: &[[bool; 2]], first: u16) -> Towards {
        match self {
            Self::Coordinates => in_order(present, first),
            Self::Thesis(layout) => layout.ports(at, present, first),
        }
    }
}

fn in_order(present: &[[bool; 2]], first: u16) -> Towards {
    let mut next = first;
    let mut take = |present: bool| {
        present.then(|| {
            next += 1;
            next - 1
        })
    };
    present.iter().map(|&[lower, higher]| [take(lower), take(higher)]).collect()
}

fn join(at: &[u32]) -> String {
    at.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}
