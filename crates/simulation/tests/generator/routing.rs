//! Routes and lanes of packets.

use std::path::Path;

use fabricsim_routing::ForwardingTables;
use fabricsim_routing::fdbs::{RowKeys, write as fdbs};

use super::engines::{levels_fit, path_sls, sl2vl, write_engine};
use super::space::Then::{self, Idle, Refused};
use super::space::When::{Is, IsNot};
use super::space::{Dimension, Part, Rule};
use super::topology::{GRIDS, TREES, written};
use super::{Build, Draft, Draw, links};

/// Algorithms that go over another group or switch.
const INDIRECT: &[&str] = &["valiant", "ugal-l", "ugal-g", "piggyback", "par", "par-6/2"];
/// Topologies on which routes are found by search.
const SEARCHED: &[&str] = &["slim-fly", "jellyfish", "xpander", "file"];
const DRAGONFLIES: &[&str] = &["ugal-g", "piggyback", "par", "par-6/2"];
/// The lane policy does not fit the algorithm.
const UNFIT: Then = Refused("on this topology: use \"");

pub const PART: Part = Part {
    dimensions: &[
        Dimension { name: "engine", choices: &["any", "torus-2QoS", "ftree"] },
        Dimension { name: "paths", choices: &["first", "in-turn", "hashed", "least-loaded", "addressed"] },
        Dimension {
            name: "routing",
            choices: &[
                "auto",
                "dimension-order",
                "look-up-tables",
                "up-down",
                "up-down-adaptive",
                "up-down-random",
                "shortest-path",
                "table",
                "opensm",
                "minimal",
                "valiant",
                "ugal-l",
                "ugal-g",
                "piggyback",
                "par",
                "par-6/2",
                "dal",
            ],
        },
        Dimension { name: "selection", choices: &["round-robin", "most-credits", "lowest", "by-flow"] },
        Dimension { name: "lane_policy", choices: &["default", "all", "dateline", "hops", "legs", "slots"] },
        Dimension { name: "failed", choices: &["none", "one"] },
    ],
    rules: &[
        Rule {
            when: &[Is("routing", &["dimension-order", "look-up-tables"]), IsNot("topology", GRIDS)],
            then: Refused("needs a mesh, torus, grid, hypercube, ring or chain"),
        },
        Rule {
            when: &[
                Is("routing", &["up-down", "up-down-adaptive", "up-down-random"]),
                IsNot("topology", TREES),
            ],
            then: Refused("needs a fat tree"),
        },
        Rule {
            when: &[Is("routing", &["minimal", "valiant"]), Is("topology", GRIDS)],
            then: Refused("needs a dragonfly, megafly or HyperX"),
        },
        Rule {
            when: &[Is("routing", &["minimal", "valiant"]), Is("topology", TREES)],
            then: Refused("needs a dragonfly, megafly or HyperX"),
        },
        Rule {
            when: &[Is("routing", &["ugal-l"]), Is("topology", GRIDS)],
            then: Refused("needs a dragonfly"),
        },
        Rule {
            when: &[Is("routing", &["ugal-l"]), Is("topology", TREES)],
            then: Refused("needs a dragonfly"),
        },
        Rule {
            when: &[Is("routing", &["ugal-l"]), Is("topology", &["hyperx"])],
            then: Refused("needs a dragonfly"),
        },
        Rule {
            when: &[Is("routing", DRAGONFLIES), IsNot("topology", &["dragonfly"])],
            then: Refused("needs a dragonfly"),
        },
        Rule {
            when: &[Is("routing", &["dal"]), Is("topology", &["dragonfly", "megafly"])],
            then: Refused("needs a HyperX"),
        },
        Rule { when: &[Is("routing", &["dal"]), Is("topology", SEARCHED)], then: Refused("needs a HyperX") },
        Rule {
            when: &[Is("routing", &["dal"]), Is("topology", &["single-switch"])],
            then: Refused("needs a HyperX"),
        },
        Rule {
            when: &[Is("routing", &["dal"]), Is("topology", GRIDS)],
            then: Refused("needs a dragonfly, megafly or HyperX"),
        },
        Rule {
            when: &[Is("routing", &["dal"]), Is("topology", TREES)],
            then: Refused("needs a dragonfly, megafly or HyperX"),
        },
        // Engines with lanes by service level; where they do not fit the fabric, another one is taken.
        Rule { when: &[Is("engine", &["torus-2QoS"]), IsNot("routing", &["opensm"])], then: Idle },
        Rule { when: &[Is("engine", &["ftree"]), IsNot("routing", &["opensm"])], then: Idle },
        Rule { when: &[Is("engine", &["ftree"]), IsNot("topology", TREES)], then: Idle },
        // It routes one LID of a host.
        Rule { when: &[Is("engine", &["ftree"]), IsNot("paths", &["first"])], then: Idle },
        Rule { when: &[IsNot("paths", &["first"]), IsNot("routing", &["opensm"])], then: Idle },
        Rule {
            when: &[Is("engine", &["torus-2QoS"]), IsNot("topology", &["torus", "mesh", "grid"])],
            then: Idle,
        },
        Rule { when: &[Is("engine", &["torus-2QoS"]), Is("classes", &["two"])], then: Idle },
        Rule { when: &[Is("engine", &["torus-2QoS"]), Is("priority", &["last"])], then: Idle },
        Rule { when: &[Is("engine", &["torus-2QoS"]), Is("arbiter", &["age-based"])], then: Idle },
        Rule { when: &[Is("engine", &["torus-2QoS"]), Is("lanes", &["one"])], then: Idle },
        Rule { when: &[Is("lane_policy", &["hops"]), Is("routing", &["look-up-tables"])], then: UNFIT },
        Rule { when: &[Is("lane_policy", &["hops"]), Is("routing", DRAGONFLIES)], then: UNFIT },
        Rule { when: &[Is("lane_policy", &["hops"]), Is("routing", &["opensm"])], then: UNFIT },
        Rule {
            when: &[
                Is("lane_policy", &["hops"]),
                Is("routing", &["auto", "minimal", "valiant", "ugal-l"]),
                Is("topology", &["dragonfly", "megafly", "hyperx"]),
            ],
            then: UNFIT,
        },
        Rule {
            when: &[
                Is("failed", &["one"]),
                IsNot(
                    "routing",
                    &["look-up-tables", "shortest-path", "opensm", "minimal", "valiant", "ugal-l", "auto"],
                ),
            ],
            then: Refused("does not go around failed links"),
        },
        Rule {
            when: &[
                Is("failed", &["one"]),
                Is("routing", &["minimal", "valiant", "ugal-l"]),
                Is("topology", &["dragonfly", "megafly", "hyperx"]),
            ],
            then: Refused("does not go around failed links"),
        },
        Rule {
            when: &[
                Is("failed", &["one"]),
                Is("routing", &["auto"]),
                IsNot("topology", &["slim-fly", "jellyfish", "xpander", "file", "single-switch"]),
            ],
            then: Refused("does not go around failed links"),
        },
        Rule {
            when: &[Is("failed", &["one"]), Is("routing", &["opensm"]), IsNot("manager", &["none"])],
            then: Refused("a subnet manager discovers all links at the start"),
        },
        // The failed link is the only one to a part of the fabric, or to a host.
        Rule {
            when: &[
                Is("failed", &["one"]),
                Is("routing", &["look-up-tables", "shortest-path", "opensm"]),
                Is("topology", &["parking-lot"]),
            ],
            then: Refused("they cut off"),
        },
        Rule {
            when: &[
                Is("failed", &["one"]),
                Is("routing", &["auto", "shortest-path", "opensm", "minimal", "valiant", "ugal-l"]),
                Is("topology", &["file"]),
            ],
            then: Refused("they cut off"),
        },
        Rule {
            when: &[
                Is("failed", &["one"]),
                Is("routing", &["auto", "shortest-path", "opensm", "minimal", "valiant", "ugal-l"]),
                Is("topology", &["single-switch"]),
            ],
            then: Refused("is the only link of host"),
        },
        Rule {
            when: &[Is("lanes", &["one"]), Is("routing", INDIRECT), IsNot("topology", &["single-switch"])],
            then: Refused("virtual lanes in each service class to be free of deadlock"),
        },
        Rule {
            when: &[Is("lanes", &["one"]), Is("routing", &["dal"])],
            then: Refused("virtual lanes in each service class to be free of deadlock"),
        },
        Rule { when: &[Is("lanes", &["one"]), Is("lane_policy", &["hops"])], then: Idle },
        Rule {
            when: &[Is("lanes", &["one"]), Is("routing", &["minimal"]), Is("topology", &["file"])],
            then: Refused("virtual lanes in each service class to be free of deadlock"),
        },
        Rule {
            when: &[
                Is("lanes", &["one"]),
                Is("routing", &["auto", "minimal"]),
                Is("topology", &["dragonfly", "slim-fly", "jellyfish", "xpander"]),
            ],
            then: Refused("virtual lanes in each service class to be free of deadlock"),
        },
    ],
    write,
};

/// Virtual lanes that each service class needs.
pub fn lanes(build: &Build) -> u8 {
    match (build.choice("topology"), build.choice("routing")) {
        (
            _,
            "auto" | "dimension-order" | "up-down" | "up-down-adaptive" | "up-down-random" | "shortest-path"
            | "table",
        ) if build.is("lane_policy", "hops") => {
            let algorithm = build.choice("routing");
            by_hops(build, if algorithm == "table" { "shortest-path" } else { algorithm })
        }
        (_, "shortest-path" | "table") => 1,
        ("slim-fly" | "jellyfish" | "xpander", "auto" | "minimal") | ("file", "minimal") => diameter(build),
        ("slim-fly" | "jellyfish" | "xpander" | "file", "valiant" | "ugal-l") => 2 * diameter(build),
        ("dragonfly", "auto" | "minimal")
        | ("megafly" | "hyperx", "valiant")
        | ("megafly", "ugal-l")
        | ("torus" | "ring" | "grid", _) => 2,
        // Layers of all engines on fabrics of this size; on dragonflies one more with `via = "router"` or `"host"`.
        (_, "opensm") | ("dragonfly", "valiant" | "ugal-l" | "ugal-g" | "piggyback") => 4,
        ("dragonfly", "par") => 5,
        ("dragonfly", "par-6/2") => 6,
        ("hyperx", "dal") => {
            let fabricsim_topology::Shape::HyperX(shape) = &build.graph.shape else { return 1 };
            let lanes = shape.dimensions.iter().map(|&size| if size > 2 { 2 } else { size as u8 - 1 });
            lanes.sum()
        }
        _ => 1,
    }
}

/// Links between switches of the longest of the shortest paths, around a failed link.
fn diameter(build: &Build) -> u8 {
    by_hops(build, "shortest-path")
}

/// Links between switches of the longest route, around a failed link.
fn by_hops(build: &Build, algorithm: &str) -> u8 {
    let failed = if build.is("failed", "one") { links::first(build) } else { String::new() };
    let failed = if failed.is_empty() { "[]".to_owned() } else { format!("[\"{failed}\"]") };
    let text = format!("{}[run]\nduration = \"1 us\"\n", build.draft);
    let overrides = [
        ("routing.algorithm", algorithm),
        ("routing.lane_policy", "hops"),
        ("switch.virtual_lanes", "16"),
        ("links.failed", failed.as_str()),
    ];
    let overrides = overrides.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let experiment = fabricsim_spec::read(&text, "generated.toml", &overrides)
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    // Where the link cuts the fabric the experiment is refused anyway.
    let router = fabricsim_routing::build(&experiment, &build.graph, Path::new("."), "generated.toml");
    router.ok().and_then(|router| router.lanes_needed()).map_or(1, |(lanes, _)| lanes)
}

fn write(build: &mut Build) {
    let algorithm = build.choice("routing");
    let (selection, topology) = (build.choice("selection"), build.choice("topology"));
    build.draft.section("[routing]");
    build.draft.text("algorithm", algorithm);
    build.draft.text("lane_selection", selection);
    if algorithm == "table" {
        let path = tables(build);
        build.draft.text("tables", path);
    }
    let levels = algorithm == "table" && !build.is("lane_policy", "hops") && build.draw.chance(1, 2);
    let levels = levels.then(|| path_sls(build)).flatten();
    if let Some(path) = &levels {
        build.draft.text("path_sls", path);
    }
    let has_lanes = algorithm == "table" && levels_fit(build) && build.draw.chance(1, 2);
    let lanes = has_lanes.then(|| sl2vl(build)).flatten();
    if let Some(path) = &lanes {
        build.draft.text("sl2vl", path);
    }
    let has_levels = levels.is_some() || lanes.is_some();
    let engine = if algorithm == "opensm" { write_engine(build) } else { "" };
    if build.is("lane_policy", "hops") {
        build.draft.text("lane_policy", "hops");
    } else if !has_levels
        && build.draw.chance(if build.has_sl2vl || engine == "torus-2QoS" { 3 } else { 2 }, 4)
        && let Some(policy) = stated_policy(build, engine)
    {
        build.draft.text("lane_policy", policy);
    }
    let may_look_ahead = build.is("delays", "some")
        && build.is("faults", "none")
        && !build.is("queueing", "cioq")
        && !build.is("rate_mismatch", "hold-output");
    let looks_ahead = build.is("switching", "cut-through");
    let ties = if build.is("open_messages", "several") { "random" } else { "balanced" };
    let Build { draw, draft, graph, .. } = build;
    let grid = match &graph.shape {
        fabricsim_topology::Shape::Grid(shape) => shape.dimensions.len(),
        _ => 0,
    };
    match algorithm {
        "dimension-order" | "look-up-tables" if draw.chance(1, 2) => {
            let mut order: Vec<usize> = (0..grid).collect();
            draw.shuffle(&mut order);
            draft.key("order", format!("{order:?}"));
            if algorithm == "dimension-order" {
                draft.text("ties", ties);
            }
        }
        "look-up-tables" if draw.chance(1, 2) => draft.key("partitions", format!("{:?}", vec![1; grid])),
        _ => {}
    }
    write_choice(draw, draft, algorithm, topology);
    if may_look_ahead
        && matches!(
            algorithm,
            "up-down-adaptive" | "ugal-l" | "ugal-g" | "piggyback" | "par" | "par-6/2" | "dal"
        )
    {
        draft.key("lookahead", looks_ahead);
    }
}

/// Keys of algorithms that choose among routes.
fn write_choice(draw: &mut Draw, draft: &mut Draft, algorithm: &str, topology: &str) {
    if matches!(algorithm, "valiant" | "ugal-l" | "ugal-g" | "piggyback" | "par") && topology == "dragonfly" {
        let by_host = matches!(algorithm, "ugal-l" | "ugal-g" | "piggyback");
        draft.text(
            "via",
            draw.pick(if by_host { &["group", "router", "host"] } else { &["group", "router"][..] }),
        );
    }
    if matches!(algorithm, "ugal-l" | "ugal-g" | "piggyback" | "par" | "par-6/2" | "dal") {
        draft.key("threshold", draw.pick(&["0", "0.5", "3"]));
    }
    if matches!(algorithm, "ugal-l" | "ugal-g" | "piggyback") && draw.chance(1, 3) {
        draft.key("weights", draw.pick(&["[1, 2]", "[3, 5]"]));
    }
    match algorithm {
        "ugal-g" | "piggyback" | "up-down-adaptive" => {
            draft.text("load", draw.pick(&["waiting-and-credits", "credits"]));
        }
        "ugal-l" | "par" | "par-6/2" | "dal" => {
            draft.text("load", draw.pick(&["waiting-and-credits", "credits", "credits-of-lane"]));
        }
        _ => {}
    }
    if algorithm == "up-down-adaptive" && draw.chance(1, 2) {
        draft.key("choices", draw.range(1, 4));
    }
    match algorithm {
        "piggyback" => {
            draft.key("congested", draw.pick(&["0.5", "2"]));
            draft.text("state_delay", draw.pick(&["200 ns", "1 us"]));
        }
        "ugal-g" => draft.text("state_delay", draw.pick(&["200 ns", "777 ns"])),
        "par-6/2" => {
            draft.key("trigger", draw.pick(&["0.1", "0.5"]));
            draft.key("ratio", draw.pick(&["0.45", "0.9"]));
        }
        _ => {}
    }
}

/// A lane policy other than `hops` that fits the algorithm, where there is one.
fn stated_policy(build: &mut Build, engine: &str) -> Option<&'static str> {
    match (build.choice("routing"), build.choice("topology")) {
        ("dimension-order" | "look-up-tables", _) => Some(build.draw.pick(&["all", "dateline"])),
        ("shortest-path", _) if build.has_sl2vl => Some("service-levels"),
        ("up-down" | "up-down-adaptive" | "up-down-random" | "shortest-path" | "table", _) => Some("all"),
        ("opensm", _) if engine == "torus-2QoS" => Some("service-levels"),
        ("opensm", _) => Some("layers"),
        (_, "dragonfly") => Some("slots"),
        ("minimal" | "valiant" | "ugal-l", "megafly" | "hyperx") => Some("legs"),
        _ => None,
    }
}

/// A file with the forwarding tables of shortest paths.
fn tables(build: &Build) -> String {
    let text = format!("{}[run]\nduration = \"1 us\"\n", build.draft);
    let overrides = [("routing.algorithm", "shortest-path"), ("links.failed", "[]")];
    let overrides = overrides.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let experiment = fabricsim_spec::read(&text, "generated.toml", &overrides)
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let router = fabricsim_routing::build(&experiment, &build.graph, Path::new("."), "generated.toml")
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let tables =
        ForwardingTables::of(&router, &build.graph, "generated.toml").unwrap_or_else(|e| panic!("{e}"));
    let text =
        fdbs(&tables, &build.graph, RowKeys::Numbers, "generated.fdbs").unwrap_or_else(|e| panic!("{e}"));
    written("tables", "fdbs", &text).display().to_string()
}
