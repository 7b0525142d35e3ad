//! Xpander (Valadarsky, Shahaf, Dinitz, Schapira: Xpander: Towards Optimal-Performance Datacenters, CoNEXT 2016): a random lift of
//! the complete graph. Each of its `degree + 1` nodes becomes a group of `lift` switches; between every two groups each switch of one
//! is joined to one of the other, at random.

use std::collections::BTreeSet;

use fabricsim_model::Random;
use fabricsim_spec::{SpecError, Xpander};

use super::plug::{Direct, is_connected, per_switch};
use crate::builder_input::BuilderInput;
use crate::limits::{links, nodes, ports};
use crate::links::Classes;
use crate::{Graph, LinkClass};

const KEY: &str = "topology.xpander.degree";

/// Maximum number of graphs drawn to find a connected one.
const ATTEMPTS: u64 = 100;

pub(crate) fn build(context: &BuilderInput<'_>, spec: &Xpander) -> Result<Graph, SpecError> {
    let Xpander { degree, lift, hosts_per_switch, seed } = *spec;
    ports(context, KEY, u64::from(hosts_per_switch) + u64::from(degree))?;
    let switches = nodes(context, KEY, [degree + 1, lift].into_iter(), hosts_per_switch, 0)?;
    let total = u64::from(switches) * (2 * u64::from(hosts_per_switch) + u64::from(degree)) / 2;
    links(context, KEY, total)?;
    let drawn = (0..ATTEMPTS).map(|attempt| lifted(degree, lift, &mut Random::new(seed, 2, attempt)));
    let pairs = drawn.into_iter().find(|pairs| is_connected(switches, pairs)).ok_or_else(|| {
        let message =
            format!("{ATTEMPTS} random graphs were drawn, and none is connected: give more links, 3 or more");
        context.error(KEY, message)
    })?;
    let direct = Direct {
        title: format!(
            "Xpander of {} groups of {lift}, {degree} links and {}",
            degree + 1,
            per_switch(hosts_per_switch)
        ),
        switches: (0..switches)
            .map(|switch| {
                (format!("({},{})", switch / lift, switch % lift), vec![switch / lift, switch % lift])
            })
            .collect(),
        hosts_per_switch,
        cables: pairs.into_iter().map(|(a, b)| (a, b, LinkClass::Plain)).collect(),
    };
    Ok(direct.plug(&[LinkClass::Plain], &context.parameters(Classes::Plain)?))
}

/// Pairs of a random lift: between every two groups a random matching of all switches.
fn lifted(degree: u32, lift: u32, random: &mut Random) -> BTreeSet<(u32, u32)> {
    let mut pairs = BTreeSet::new();
    let mut partners: Vec<u32> = (0..lift).collect();
    for (a, b) in (0..=degree).flat_map(|a| (a + 1..=degree).map(move |b| (a, b))) {
        for last in (1..partners.len()).rev() {
            partners.swap(last, random.below(last as u64 + 1) as usize);
        }
        pairs.extend((0..lift).zip(&partners).map(|(i, &j)| (a * lift + i, b * lift + j)));
    }
    pairs
}
