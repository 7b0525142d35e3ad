//! Links that have failed (`links.failed`), and what they cut off.

use fabricsim_spec::SpecError;
use fabricsim_topology::{Graph, Node};
use fabricsim_units::LinkId;

const KEY: &str = "links.failed";

/// Switches that are named at most.
const NAMED: usize = 5;

/// An error if a host's link has failed, or if the failed links cut the machine.
pub(crate) fn check_whole(graph: &Graph, failed: &[LinkId], file: &str) -> Result<(), SpecError> {
    for &link in failed {
        if let Node::Host(host) = graph.links[link.index()].a.node {
            let message = format!(
                "`{}` is the only link of host {}, which is cut off: leave it out, or give the host no traffic",
                graph.link_name(link),
                graph.name(Node::Host(host))
            );
            return Err(SpecError::at_key(file, KEY, message));
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    let piece = pieces(graph, failed);
    let mut sizes = vec![0; graph.switches.len()];
    for &piece in &piece {
        sizes[piece] += 1;
    }
    let main = (0..sizes.len()).rev().max_by_key(|&piece| sizes[piece]).unwrap_or(0);
    let lost: Vec<&str> =
        (0..piece.len()).filter(|&at| piece[at] != main).map(|at| graph.switches[at].name.as_str()).collect();
    if lost.is_empty() {
        return Ok(());
    }
    let shown = lost[..lost.len().min(NAMED)].join(", ");
    let more = if lost.len() > NAMED { ", ..." } else { "" };
    let message = format!(
        "they cut off {} of the {} switches from the rest: {shown}{more}. Leave out some of these links",
        lost.len(),
        graph.switches.len()
    );
    Err(SpecError::at_key(file, KEY, message))
}

/// For each switch the lowest number of a switch that it is joined to.
fn pieces(graph: &Graph, failed: &[LinkId]) -> Vec<usize> {
    let mut around = vec![Vec::new(); graph.switches.len()];
    for (index, link) in graph.links.iter().enumerate() {
        if let (Node::Switch(a), Node::Switch(b)) = (link.a.node, link.b.node)
            && failed.binary_search(&LinkId(index as u32)).is_err()
        {
            around[a.index()].push(b.index());
            around[b.index()].push(a.index());
        }
    }
    let mut piece = vec![usize::MAX; graph.switches.len()];
    for start in 0..piece.len() {
        let mut stack = vec![start];
        while let Some(at) = stack.pop() {
            if piece[at] == usize::MAX {
                piece[at] = start;
                stack.extend(&around[at]);
            }
        }
    }
    piece
}
