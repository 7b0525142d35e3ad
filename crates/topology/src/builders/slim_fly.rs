//! The Slim Fly (Besta, Hoefler: Slim Fly: A Cost Effective Low-Diameter Network Topology, SC14): the graphs of McKay, Miller and
//! Širáň, of diameter 2, with close to the largest number of switches that a diameter of 2 allows.
//!
//! Switches are `S(0,x,y)` and `S(1,m,c)`, with x, y, m and c in the field of q elements. Local links join (0,x,y) and (0,x,y') if y - y'
//! is in the set X, and (1,m,c) and (1,m,c') if c - c' is in X'; global links join (0,x,y) and (1,m,c) if y = m x + c (section II-B, with the
//! sets for all three residues of q by Hafner: Geometric realisation of the graphs of McKay-Miller-Širáň, 2004).

use fabricsim_spec::{SlimFly, SpecError};

use super::field::Field;
use super::plug::{Cable, Direct, per_switch};
use crate::builder_input::BuilderInput;
use crate::limits::{links, nodes, ports};
use crate::links::Classes;
use crate::{Graph, LinkClass};

const KEY: &str = "topology.slim-fly.q";

pub(crate) fn build(context: &BuilderInput<'_>, spec: &SlimFly) -> Result<Graph, SpecError> {
    let q = spec.q;
    let field = Field::new(q).ok_or_else(|| {
        let fits = |q: &u32| Field::new(*q).is_some();
        let below = (3..q).rev().find(fits).unwrap_or(3);
        let above = (q..=2 * q).find(fits).unwrap_or(3);
        let message = format!("{q} is not a power of a prime: the nearest are {below} and {above}");
        context.error(KEY, message)
    })?;
    let degree = degree(q);
    let hosts_per_switch = spec.hosts_per_switch.unwrap_or(degree.div_ceil(2));
    ports(context, KEY, u64::from(hosts_per_switch + degree))?;
    let switches = nodes(context, KEY, [2, q, q].into_iter(), hosts_per_switch, 0)?;
    let total = u64::from(switches) * (2 * u64::from(hosts_per_switch) + u64::from(degree)) / 2;
    links(context, KEY, total)?;
    let direct = Direct {
        title: format!("Slim Fly q={q}, {degree} links and {}", per_switch(hosts_per_switch)),
        switches: (0..switches)
            .map(|switch| {
                let at = vec![switch / (q * q), switch / q % q, switch % q];
                (format!("({},{},{})", at[0], at[1], at[2]), at)
            })
            .collect(),
        hosts_per_switch,
        cables: cables(&field, q),
    };
    let parameters = context.parameters(Classes::Groups)?;
    Ok(direct.plug(&[LinkClass::Local, LinkClass::Global], &parameters))
}

/// Links of a switch to others: (3 q - δ) / 2.
const fn degree(q: u32) -> u32 {
    match q % 4 {
        1 => (3 * q - 1) / 2,
        3 => (3 * q).div_ceil(2),
        _ => 3 * q / 2,
    }
}

/// Exponents of the elements of X; those of X' are one more.
fn exponents(q: u32) -> Vec<u32> {
    match q % 4 {
        3 => {
            let half = q.div_ceil(2);
            (0..half).step_by(2).chain((half - 1..q - 1).step_by(2)).collect()
        }
        1 => (0..q - 2).step_by(2).collect(),
        _ => (0..q - 1).step_by(2).collect(),
    }
}

fn cables(field: &Field, q: u32) -> Vec<Cable> {
    let id = |half: u32, group: u32, place: u32| (half * q + group) * q + place;
    let mut cables = Vec::new();
    for half in 0..2 {
        let generators: Vec<u32> = exponents(q).iter().map(|e| field.power(e + half)).collect();
        for group in 0..q {
            for place in 0..q {
                let others = generators.iter().map(|&step| field.sum(place, step));
                let up = others.filter(|&other| other > place);
                cables.extend(
                    up.map(|other| (id(half, group, place), id(half, group, other), LinkClass::Local)),
                );
            }
        }
    }
    for (x, m) in (0..q).flat_map(|x| (0..q).map(move |m| (x, m))) {
        let product = field.product(m, x);
        let pair = |c| (id(0, x, field.sum(product, c)), id(1, m, c), LinkClass::Global);
        cables.extend((0..q).map(pair));
    }
    cables
}
