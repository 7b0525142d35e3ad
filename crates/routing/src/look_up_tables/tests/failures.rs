//! Failed links: every single one is avoided, and several are avoided or refused.

use fabricsim_topology::{Graph, Node};
use fabricsim_units::HostId;
use proptest::prelude::*;

use super::{TABLES, any_grid, some_blocks};
use crate::deadlock::{Verdict, check_among};
use crate::samples::{graph, hosts, try_router};
use crate::wiring::beyond;
use crate::{Router, path};

/// Names of links between switches.
pub(super) fn cables(graph: &Graph) -> Vec<String> {
    let between = |link: &&fabricsim_topology::Link| matches!(link.a.node, Node::Switch(_));
    let name =
        |link: &fabricsim_topology::Link| format!("{}-{}", graph.name(link.b.node), graph.name(link.a.node));
    graph.links.iter().filter(between).map(name).collect()
}

pub(super) fn routing(more: &str, failed: &[String]) -> String {
    format!("{TABLES}\n{more}\n[links]\nfailed = {failed:?}")
}

/// Every pair arrives, over no failed link, and nothing can wait in a circle.
fn is_sound(graph: &Graph, router: &Router, lanes: u8, failed: &[String]) {
    for (from, to) in hosts(graph).flat_map(|from| hosts(graph).map(move |to| (from, to))) {
        let route = path(router, graph, from, to);
        for pair in route.windows(2) {
            let link = graph.switches[pair[0].0.index()].ports[pair[0].1.port.index()];
            let (a, b) = (graph.links[link.index()].a.node, graph.links[link.index()].b.node);
            let names = [(a, b), (b, a)].map(|(a, b)| format!("{}-{}", graph.name(a), graph.name(b)));
            assert!(!failed.iter().any(|name| names.contains(name)), "{from} to {to} over {names:?}");
        }
        let (last, hop) = route[route.len() - 1];
        let end = beyond(graph, last, hop.port).map(|end| end.node);
        assert_eq!(end, Some(Node::Host(to)), "{from} to {to} with {failed:?}: {route:?}");
    }
    if lanes > 1 {
        let all: Vec<HostId> = hosts(graph).collect();
        let verdict = check_among(router, lanes, graph, &[all]);
        assert!(matches!(verdict, Verdict::Free { .. }), "{failed:?}: {}", verdict.describe(graph));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn failed_links_are_avoided_or_refused(
        (radices, wrap) in any_grid(),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 1..6),
        lanes in 1_u8..4,
        seed in 0_u32..40,
        divided in any::<bool>(),
    ) {
        let topology = format!("grid = {{ dimensions = {radices:?}, wrap = {wrap:?} }}");
        let graph = graph(&topology);
        let cables = cables(&graph);
        prop_assume!(!cables.is_empty());
        let failed: Vec<String> = picks.iter().map(|pick| pick.get(&cables).clone()).collect();
        let blocks = some_blocks(&radices, seed);
        let more = if divided { format!("partitions = {blocks:?}") } else { String::new() };
        match try_router(&graph, &topology, &routing(&more, &failed), lanes) {
            Ok(router) => is_sound(&graph, &router, lanes, &failed),
            Err(error) => {
                let error = error.to_string();
                prop_assert!(error.starts_with("sample.toml: links.failed: "), "{}", error);
                prop_assert!(
                    error.contains("cut off") || error.contains("the turn rules leave no route"), "{}", error
                );
            }
        }
    }
}

/// Every single link of a mesh of two or three dimensions, and of a torus of any, can fail.
#[test]
fn any_single_link_can_fail() {
    for (topology, more) in [
        ("mesh = { dimensions = [4, 4] }", ""),
        ("mesh = { dimensions = [2, 3] }", ""),
        ("mesh = { dimensions = [3, 3, 3] }", ""),
        ("mesh = { dimensions = [3, 4, 2] }", "order = [1, 2, 0]"),
        ("mesh = { dimensions = [4, 3, 2] }", "partitions = [2, 1, 1]"),
        ("torus = { dimensions = [5] }", ""),
        ("torus = { dimensions = [4, 5] }", ""),
        ("torus = { dimensions = [3, 3, 3] }", ""),
        ("torus = { dimensions = [8, 3] }", "partitions = [4, 1]"),
        ("grid = { dimensions = [4, 3], wrap = [true, false] }", ""),
        ("hypercube = { dimensions = 4 }", ""),
    ] {
        let graph = graph(topology);
        for cable in cables(&graph) {
            let failed = [cable];
            let router = try_router(&graph, topology, &routing(more, &failed), 2)
                .unwrap_or_else(|error| panic!("{topology} {more} {failed:?}: {error}"));
            is_sound(&graph, &router, 2, &failed);
        }
    }
}

/// Pairs of failed links that cut the network, and that cannot be avoided.
#[test]
fn most_pairs_of_links_can_fail() {
    for (topology, cut, refused) in [
        ("mesh = { dimensions = [4, 4] }", 4, 5),
        ("mesh = { dimensions = [3, 3, 3] }", 0, 0),
        ("torus = { dimensions = [4, 4] }", 0, 0),
        ("torus = { dimensions = [5, 5] }", 0, 10),
        ("torus = { dimensions = [3, 3, 3] }", 0, 0),
    ] {
        let graph = graph(topology);
        let cables = cables(&graph);
        let mut found = (0, 0);
        for i in 0..cables.len() {
            for j in i + 1..cables.len() {
                let failed = [cables[i].clone(), cables[j].clone()];
                match try_router(&graph, topology, &routing("", &failed), 2) {
                    Ok(router) => is_sound(&graph, &router, 2, &failed),
                    Err(error) if error.to_string().contains("cut off") => found.0 += 1,
                    Err(_) => found.1 += 1,
                }
            }
        }
        assert_eq!(found, (cut, refused), "{topology}: of {} pairs", cables.len() * (cables.len() - 1) / 2);
    }
}
