//! Jellyfish (Singla, Hong, Popa, Godfrey: Jellyfish: Networking Data Centers Randomly, NSDI 2012): a random graph in which every
//! switch has the same number of links.
//!
//! Ends of links are paired at random; links of a switch to itself, and second ones between two switches, then exchange an end
//! with another link drawn at random, until there are none (the paper joins free ports and, where that ends, takes
//! links apart: both give nearly uniformly random graphs).

use std::collections::BTreeSet;

use fabricsim_model::Random;
use fabricsim_spec::{Jellyfish, SpecError};

use super::plug::{Direct, is_connected, per_switch};
use crate::builder_input::BuilderInput;
use crate::limits::{links, nodes, ports, within};
use crate::links::Classes;
use crate::{Graph, LinkClass};

const KEY: &str = "topology.jellyfish";

/// Maximum number of graphs drawn to find a connected one.
const ATTEMPTS: u64 = 100;

pub(crate) fn build(context: &BuilderInput<'_>, spec: &Jellyfish) -> Result<Graph, SpecError> {
    let Jellyfish { switches, degree, hosts_per_switch, seed } = *spec;
    nodes(context, &format!("{KEY}.switches"), [switches].into_iter(), hosts_per_switch, 0)?;
    let key = format!("{KEY}.degree");
    within(context, &key, degree.into(), 1, u64::from(switches) - 1)?;
    ports(context, &key, u64::from(hosts_per_switch) + u64::from(degree))?;
    let ends = u64::from(switches) * u64::from(degree);
    if !ends.is_multiple_of(2) {
        let message = format!(
            "{switches} switches of {degree} links have an odd number of ends: make one of both even"
        );
        return Err(context.error(&key, message));
    }
    links(context, &key, u64::from(switches) * u64::from(hosts_per_switch) + ends / 2)?;
    let drawn = (0..ATTEMPTS).map(|attempt| regular(switches, degree, &mut Random::new(seed, 1, attempt)));
    let pairs = drawn.into_iter().find(|pairs| is_connected(switches, pairs)).ok_or_else(|| {
        let message =
            format!("{ATTEMPTS} random graphs were drawn, and none is connected: give more links, 3 or more");
        context.error(&key, message)
    })?;
    let direct = Direct {
        title: format!(
            "Jellyfish of {switches} switches, {degree} links and {}",
            per_switch(hosts_per_switch)
        ),
        switches: (0..switches).map(|switch| (switch.to_string(), vec![switch])).collect(),
        hosts_per_switch,
        cables: pairs.into_iter().map(|(a, b)| (a, b, LinkClass::Plain)).collect(),
    };
    Ok(direct.plug(&[LinkClass::Plain], &context.parameters(Classes::Plain)?))
}

/// Pairs of a random graph in which each of `switches` has `degree` neighbours.
fn regular(switches: u32, degree: u32, random: &mut Random) -> BTreeSet<(u32, u32)> {
    let others = switches - 1 - degree;
    if others < degree {
        // In a dense graph hardly any exchange is possible: the complement is drawn.
        let apart = regular(switches, others, random);
        let all = (0..switches).flat_map(|a| (a + 1..switches).map(move |b| (a, b)));
        return all.filter(|pair| !apart.contains(pair)).collect();
    }
    let mut ends: Vec<u32> = (0..switches).flat_map(|switch| (0..degree).map(move |_| switch)).collect();
    for last in (1..ends.len()).rev() {
        ends.swap(last, random.below(last as u64 + 1) as usize);
    }
    let mut links: Vec<(u32, u32)> = ends.chunks_exact(2).map(|pair| ordered(pair[0], pair[1])).collect();
    let mut pairs = BTreeSet::new();
    let (mut placed, mut wrong) = (Vec::new(), Vec::new());
    for link in links.drain(..) {
        if link.0 != link.1 && pairs.insert(link) { placed.push(link) } else { wrong.push(link) }
    }
    while let Some((a, b)) = wrong.pop() {
        let place = random.below(placed.len() as u64) as usize;
        let (c, d) = placed[place];
        let (c, d) = if random.below(2) == 0 { (c, d) } else { (d, c) };
        let (first, second) = (ordered(a, c), ordered(b, d));
        let is_new = |pair: (u32, u32)| pair.0 != pair.1 && !pairs.contains(&pair);
        if first != second && is_new(first) && is_new(second) {
            pairs.remove(&ordered(c, d));
            pairs.extend([first, second]);
            placed[place] = first;
            placed.push(second);
        } else {
            wrong.push((a, b));
        }
    }
    pairs
}

const fn ordered(a: u32, b: u32) -> (u32, u32) {
    if a < b { (a, b) } else { (b, a) }
}
