//! Switches, hosts and cables.

use std::path::{Path, PathBuf};

use super::draft::Draft;
use super::draw::Draw;
use super::space::{Dimension, Part, Point, Space};

pub const PART: Part = Part {
    dimensions: &[Dimension {
        name: "topology",
        choices: &[
            "mesh",
            "single-switch",
            "torus",
            "grid",
            "hypercube",
            "parking-lot",
            "ring",
            "fat-tree",
            "xgft",
            "dragonfly",
            "megafly",
            "hyperx",
            "slim-fly",
            "jellyfish",
            "xpander",
            "file",
        ],
    }],
    rules: &[],
    // The section is written before all others: they need to know the fabric.
    write: |_| {},
};

/// Topologies with coordinates.
pub const GRIDS: &[&str] = &["mesh", "torus", "grid", "hypercube", "parking-lot", "ring"];
pub const TREES: &[&str] = &["fat-tree", "xgft"];

/// Requirements of other dimensions on the fabric.
struct Needs {
    /// 4 or 16 hosts, in a square: for patterns on bits and for transpose.
    square: bool,
    /// Three or more switches in every dimension: for tornado.
    long: bool,
    /// Two dimensions of two or more switches: for ways around a failed link.
    around: bool,
}

/// Writes `[topology]`.
pub fn write(space: &Space, point: &Point, draw: &mut Draw, draft: &mut Draft) {
    let pattern = space.choice(point, "pattern");
    let needs = Needs {
        square: pattern == "transpose" || pattern.starts_with("bit-"),
        long: pattern == "tornado",
        around: !space.is(point, "failed", "none"),
    };
    let kind = space.choice(point, "topology");
    if kind == "file" {
        let hosts = if needs.square { draw.pick(&[4, 16]) } else { draw.range(3, 9) };
        let by_hops = space.is(point, "lane_policy", "hops")
            || needs.around
            || ["minimal", "valiant", "ugal-l"].contains(&space.choice(point, "routing"));
        let text = if by_hops { chain(draw, hosts as usize) } else { graph(draw, hosts as usize) };
        any_graph(&text, !needs.square && !needs.around, draw, draft);
        return;
    }
    draft.section(&format!("[topology.{kind}]"));
    match kind {
        "mesh" | "torus" | "grid" => grid(kind, &needs, draw, draft),
        "hypercube" | "parking-lot" | "ring" | "single-switch" => line(kind, &needs, draw, draft),
        "fat-tree" | "xgft" => tree(kind, &needs, draw, draft),
        "slim-fly" | "jellyfish" | "xpander" => searched(kind, &needs, draw, draft),
        _ => direct(kind, &needs, draw, draft),
    }
}

fn grid(kind: &str, needs: &Needs, draw: &mut Draw, draft: &mut Draft) {
    let choices: &[(&[u32], u32)] = match needs {
        Needs { square: true, .. } => &[(&[2, 2], 1), (&[4, 4], 1), (&[2, 2], 4)],
        Needs { long: true, .. } => &[(&[3, 3], 1), (&[4, 3], 2), (&[3, 3], 2)],
        Needs { around: true, .. } => &[(&[3, 3], 1), (&[4, 4], 1), (&[2, 3], 2)],
        _ => &[
            (&[3, 3], 1),
            (&[2, 3], 2),
            (&[4, 2], 1),
            (&[5], 2),
            (&[2, 2, 3], 1),
            (&[4, 3], 1),
            (&[2, 1, 3], 2),
            (&[1, 4], 2),
        ],
    };
    let (dimensions, hosts) = draw.pick(choices);
    draft.key("dimensions", format!("{dimensions:?}"));
    draft.key("hosts_per_switch", hosts);
    if kind == "grid" {
        let wrap: Vec<bool> = dimensions.iter().map(|_| draw.chance(1, 2)).collect();
        draft.key("wrap", format!("{wrap:?}"));
    } else if dimensions.len() == 2 && dimensions[0] > 1 && hosts < 10 && draw.chance(1, 3) {
        draft.text("naming", "thesis");
    } else {
        draft.text("naming", "coordinates");
    }
}

fn line(kind: &str, needs: &Needs, draw: &mut Draw, draft: &mut Draft) {
    let (key, length, hosts): (&str, u32, u32) = match (kind, needs.square) {
        ("hypercube", true) => draw.pick(&[("dimensions", 2, 1), ("dimensions", 4, 1), ("dimensions", 2, 4)]),
        ("hypercube", false) => {
            draw.pick(&[("dimensions", 3, 1), ("dimensions", 2, 2), ("dimensions", 3, 2)])
        }
        ("parking-lot", true) => draw.pick(&[("switches", 3, 1), ("switches", 5, 3)]),
        ("ring", true) => draw.pick(&[("switches", 4, 1), ("switches", 4, 4), ("switches", 8, 2)]),
        ("single-switch", square) => {
            let hosts = if square { draw.pick(&[4, 16]) } else { draw.range(3, 8) };
            return draft.key("hosts", hosts);
        }
        _ => ("switches", draw.range(3, 7), draw.range(1, 2)),
    };
    draft.key(key, length);
    draft.key("hosts_per_switch", hosts);
}

fn tree(kind: &str, needs: &Needs, draw: &mut Draw, draft: &mut Draft) {
    if kind == "fat-tree" {
        let square: &[(u32, u32)] = &[(2, 2), (4, 2), (2, 4), (4, 1)];
        let any: &[(u32, u32)] = &[(3, 2), (2, 3), (4, 2), (4, 1)];
        let all = if needs.square { square } else { any };
        // A tree of one level has no link to go around.
        let (arity, levels) = draw.pick(&all[..all.len() - usize::from(needs.around)]);
        draft.key("arity", arity);
        draft.key("levels", levels);
        return;
    }
    let square: &[(&[u32], &[u32])] = &[(&[2, 2], &[1, 2]), (&[4, 4], &[1, 3]), (&[2, 2, 4], &[1, 1, 2])];
    let any: &[(&[u32], &[u32])] =
        &[(&[3, 2], &[1, 2]), (&[4, 2], &[1, 3]), (&[2, 3, 2], &[1, 2, 1]), (&[3, 3], &[1, 1])];
    let all = if needs.square { square } else { any };
    // In the first two every switch but the roots has several parents.
    let (children, parents) = draw.pick(if needs.around { &all[..2] } else { all });
    draft.key("children", format!("{children:?}"));
    draft.key("parents", format!("{parents:?}"));
}

fn direct(kind: &str, needs: &Needs, draw: &mut Draw, draft: &mut Draft) {
    if kind == "hyperx" {
        let square: &[(&[u32], u32)] = &[(&[4], 1), (&[4, 4], 1), (&[4, 2], 2)];
        let any: &[(&[u32], u32)] = &[(&[3, 3], 1), (&[3, 2], 2), (&[5], 1), (&[3, 2, 2], 1), (&[4, 1], 2)];
        let (dimensions, hosts) = draw.pick(if needs.square { square } else { any });
        draft.key("dimensions", format!("{dimensions:?}"));
        return draft.key("hosts_per_switch", hosts);
    }
    let keys: &[&str] =
        if kind == "dragonfly" { &["p", "a", "h", "g"] } else { &["p", "leaves", "spines", "h", "g"] };
    let square: &[&[u32]] = match kind {
        "dragonfly" => &[&[1, 4, 1, 4], &[2, 2, 2, 4], &[1, 1, 3, 4]],
        _ => &[&[2, 2, 2, 2, 4], &[1, 4, 2, 2, 4], &[1, 1, 3, 1, 4]],
    };
    let any: &[&[u32]] = match kind {
        "dragonfly" => {
            &[&[1, 2, 1, 3], &[2, 2, 1, 3], &[1, 3, 1, 4], &[2, 2, 2, 5], &[1, 4, 1, 5], &[1, 2, 2, 3]]
        }
        // With one spine a leaf has one link to the rest.
        _ if needs.around => &[&[1, 2, 2, 1, 3], &[1, 2, 2, 2, 5], &[2, 1, 2, 1, 3], &[1, 3, 2, 2, 3]],
        _ => &[&[1, 2, 2, 1, 3], &[2, 2, 1, 2, 3], &[1, 2, 2, 2, 5], &[2, 1, 2, 1, 3], &[1, 3, 2, 2, 3]],
    };
    for (key, value) in keys.iter().zip(draw.pick(if needs.square { square } else { any })) {
        draft.key(key, value);
    }
    draft.text("arrangement", draw.pick(&["absolute", "palmtree", "circulant"]));
}

/// Direct networks whose routes are found by search, of two or three links between the farthest switches.
fn searched(kind: &str, needs: &Needs, draw: &mut Draw, draft: &mut Draft) {
    let (first, second): (&str, &str) = match kind {
        "slim-fly" => ("q", "hosts_per_switch"),
        "jellyfish" => ("switches", "degree"),
        _ => ("degree", "lift"),
    };
    let choices: &[(u32, u32, u32)] = match (kind, needs.square) {
        ("slim-fly", true) => &[(4, 2, 0)],
        ("slim-fly", false) => &[(3, 1, 0), (3, 2, 0), (4, 1, 0)],
        ("jellyfish", true) => &[(4, 2, 1), (4, 2, 4), (8, 3, 2)],
        ("jellyfish", false) => &[(5, 2, 1), (6, 3, 2), (8, 3, 1), (7, 4, 1)],
        (_, true) => &[(3, 2, 2)],
        (_, false) => &[(3, 2, 1), (4, 2, 1), (3, 2, 2)],
    };
    let (a, b, hosts) = draw.pick(choices);
    draft.key(first, a);
    draft.key(second, b);
    if kind != "slim-fly" {
        draft.key("hosts_per_switch", hosts);
        // Around a failed link of the others, lanes by hops in two classes are more than a link has.
        let least = if kind == "xpander" && needs.around { 3 } else { 1 };
        draft.key("seed", draw.range(least, 3));
    }
}

/// Three switches in a row, with hosts at both ends: two links between the farthest.
fn chain(draw: &mut Draw, hosts: usize) -> String {
    let mut text = String::new();
    text.extend((0..3).map(|i| format!("[[switch]]\nname = \"S{i}\"\n")));
    text.extend((0..hosts).map(|i| format!("[[host]]\nname = \"H{i}\"\n")));
    let link = |a: &str, b: &str| format!("[[link]]\na = \"{a}\"\nb = \"{b}\"\n");
    text += &link("S0", "S1");
    text += &link("S1", "S2");
    text.extend((0..hosts).map(|i| {
        let at = if i < 2 { 2 * i } else { draw.below(3) };
        link(&format!("H{i}"), &format!("S{at}"))
    }));
    text
}

/// A connected graph: a random tree, some links more, hosts anywhere.
fn graph(draw: &mut Draw, hosts: usize) -> String {
    let count = 2 + draw.below(6);
    let mut text = String::new();
    text.extend((0..count).map(|i| format!("[[switch]]\nname = \"S{i}\"\n")));
    text.extend((0..hosts).map(|i| format!("[[host]]\nname = \"H{i}\"\n")));
    let link = |a: &str, b: &str| format!("[[link]]\na = \"{a}\"\nb = \"{b}\"\n");
    text.extend((1..count).map(|i| link(&format!("S{i}"), &format!("S{}", draw.below(i)))));
    for _ in 0..draw.below(5) {
        let (a, b) = (draw.below(count), draw.below(count));
        if a != b {
            text += &link(&format!("S{a}"), &format!("S{b}"));
        }
    }
    text.extend((0..hosts).map(|i| link(&format!("H{i}"), &format!("S{}", draw.below(count)))));
    text
}

/// A graph in one of its formats, in a file or in the experiment itself. `may_change`: its hosts may be others.
fn any_graph(text: &str, may_change: bool, draw: &mut Draw, draft: &mut Draft) {
    let names = |key: &str| -> Vec<&str> {
        text.lines().filter_map(|line| line.strip_prefix(key)?.strip_suffix('"')).collect()
    };
    let links: Vec<(&str, &str)> = names("a = \"").into_iter().zip(names("b = \"")).collect();
    let of_switches = links.iter().filter(|(a, b)| a.starts_with('S') && b.starts_with('S'));
    let of_switches: Vec<(&str, &str)> = of_switches.copied().collect();
    let table = |links: &[(&str, &str)]| {
        links.iter().fold("a,b\n".to_owned(), |table, (a, b)| table + &format!("{a},{b}\n"))
    };
    let has_leaf = names("name = \"").iter().any(|name| {
        name.starts_with('S') && links.iter().filter(|(a, b)| a == name || b == name).count() == 1
    });
    let form = draw.below(6);
    let (format, content) = match form {
        0 => ("toml", text.to_owned()),
        1..=3 if may_change && !of_switches.is_empty() => ("csv", table(&of_switches)),
        4 if !has_leaf => ("csv", table(&links)),
        _ => ("graphml", graphml(&names("name = \""), &links)),
    };
    if matches!(form, 0 | 1 | 3 | 4 | 5) {
        draft.section("[topology.inline]");
        draft.text("format", format);
        draft.key("text", format!("'''{content}'''"));
    } else {
        draft.section("[topology.file]");
        draft.text("path", written("graph", format, &content).display());
    }
    if format == "csv" && form < 4 {
        draft.key("hosts_per_switch", 1 + draw.below(2));
    }
}

fn graphml(nodes: &[&str], links: &[(&str, &str)]) -> String {
    let kind = |name: &str| if name.starts_with('H') { "host" } else { "switch" };
    let mut text = "<graphml>\n<key id=\"k\" for=\"node\" attr.name=\"kind\"/>\n<graph>\n".to_owned();
    text.extend(
        nodes
            .iter()
            .map(|name| format!("<node id=\"{name}\"><data key=\"k\">{}</data></node>\n", kind(name))),
    );
    text.extend(links.iter().map(|(a, b)| format!("<edge source=\"{a}\" target=\"{b}\"/>\n")));
    text + "</graph>\n</graphml>\n"
}

/// A file that is named after its content. Tests that run at the same time may want the same: it appears as a whole.
pub fn written(name: &str, extension: &str, text: &str) -> PathBuf {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{hash:016x}.{extension}"));
    let draft = path.with_extension(format!("{:?}", std::thread::current().id()));
    std::fs::write(&draft, text).unwrap_or_else(|e| panic!("{}: {e}", draft.display()));
    std::fs::rename(&draft, &path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    path
}
