//! Switches: queues, lanes, arbitration, delays.

use super::Build;
use super::routing;
use super::space::Then::{Idle, Refused};
use super::space::When::{Is, IsNot};
use super::space::{Dimension, Part, Rule};

/// Virtual lanes of a link at most.
const MOST_LANES: u8 = 16;

/// Priorities of Ethernet.
const PRIORITIES: u8 = 8;

/// Algorithms that need more than four lanes in some fabrics.
const MANY_LANES: &[&str] = &["par", "par-6/2", "dal", "valiant", "ugal-l"];

pub const PART: Part = Part {
    dimensions: &[
        Dimension { name: "queueing", choices: &["voq", "fifo", "cioq"] },
        Dimension { name: "switching", choices: &["cut-through", "store-and-forward"] },
        Dimension { name: "rate_mismatch", choices: &["delay-start", "hold-output"] },
        Dimension {
            name: "arbiter",
            choices: &[
                "round-robin",
                "oldest-first",
                "random",
                "fixed-priority",
                "age-based",
                "strict-round-robin",
            ],
        },
        Dimension { name: "allocation", choices: &["maximal", "separable"] },
        Dimension { name: "send_when", choices: &["packet-fits", "largest-packet-fits"] },
        Dimension { name: "credit_return", choices: &["block", "packet"] },
        // Of each service class: the number that the routing needs, more, or one.
        Dimension { name: "lanes", choices: &["needed", "spare", "one"] },
        Dimension { name: "classes", choices: &["one", "two"] },
        Dimension { name: "service_levels", choices: &["none", "of-traffic"] },
        Dimension { name: "priority", choices: &["none", "last"] },
        Dimension { name: "vl_arbitration", choices: &["none", "tables"] },
        Dimension { name: "delays", choices: &["some", "none"] },
        // Of packets in switches: longer than the run, or short enough to be over.
        Dimension { name: "lifetime", choices: &["none", "long", "short"] },
        Dimension { name: "switch-errors", choices: &["none", "some"] },
        Dimension { name: "flow_control", choices: &["ideal", "packets", "pause"] },
        Dimension { name: "enforcement", choices: &["off", "in", "out", "both"] },
    ],
    rules: &[
        // Two levels take the place of two classes.
        Rule { when: &[Is("service_levels", &["of-traffic"]), IsNot("classes", &["two"])], then: Idle },
        Rule {
            when: &[Is("service_levels", &["of-traffic"]), IsNot("routing", &["shortest-path"])],
            then: Idle,
        },
        Rule { when: &[Is("service_levels", &["of-traffic"]), Is("lane_policy", &["hops"])], then: Idle },
        Rule { when: &[Is("service_levels", &["of-traffic"]), Is("priority", &["last"])], then: Idle },
        Rule { when: &[Is("service_levels", &["of-traffic"]), Is("arbiter", &["age-based"])], then: Idle },
        Rule {
            when: &[Is("rate_mismatch", &["hold-output"]), Is("switching", &["store-and-forward"])],
            then: Refused("no packet leaves before its tail has arrived"),
        },
        Rule {
            when: &[Is("rate_mismatch", &["hold-output"]), Is("queueing", &["cioq"])],
            then: Refused("\"hold-output\" is not for `queueing = \"cioq\"`"),
        },
        Rule {
            when: &[Is("allocation", &["separable"]), IsNot("queueing", &["fifo"])],
            then: Refused("`separable` is for `queueing = \"fifo\"` only"),
        },
        Rule {
            when: &[Is("allocation", &["separable"]), IsNot("arbiter", &["round-robin", "oldest-first"])],
            then: Refused("`separable` is for the arbiters `round-robin` and `oldest-first` only"),
        },
        Rule {
            when: &[Is("allocation", &["separable"]), Is("send_when", &["largest-packet-fits"])],
            then: Refused("sends when the packet fits"),
        },
        Rule {
            when: &[Is("allocation", &["separable"]), Is("priority", &["last"])],
            then: Refused("has no priorities"),
        },
        Rule {
            when: &[Is("vl_arbitration", &["tables"]), Is("allocation", &["separable"])],
            then: Refused("only for `queueing = \"fifo\"`"),
        },
        Rule {
            when: &[Is("vl_arbitration", &["tables"]), Is("queueing", &["cioq"])],
            then: Refused("only for `queueing = \"fifo\"`"),
        },
        Rule {
            when: &[Is("vl_arbitration", &["tables"]), IsNot("arbiter", &["round-robin"])],
            then: Refused("the tables decide between lanes"),
        },
        Rule {
            when: &[IsNot("lifetime", &["none"]), Is("allocation", &["separable"])],
            then: Refused("not with `allocation = \"separable\"`"),
        },
        Rule {
            when: &[Is("flow_control", &["packets"]), Is("allocation", &["separable"])],
            then: Refused("\"packets\" is not for `allocation = \"separable\"`"),
        },
        Rule {
            when: &[Is("flow_control", &["packets"]), IsNot("manager", &["none"])],
            then: Refused("not with `switch.flow_control = \"packets\"`"),
        },
        Rule {
            when: &[Is("flow_control", &["pause"]), Is("allocation", &["separable"])],
            then: Refused("\"pause\" is not for `allocation = \"separable\"`"),
        },
        Rule {
            when: &[Is("flow_control", &["pause"]), IsNot("manager", &["none"])],
            then: Refused("not with `switch.flow_control = \"pause\"`"),
        },
        Rule {
            when: &[Is("flow_control", &["pause"]), Is("response_queue", &["short"])],
            then: Refused("not with `switch.flow_control = \"pause\"`"),
        },
        Rule {
            when: &[Is("flow_control", &["pause"]), Is("rate_mismatch", &["hold-output"])],
            then: Refused("\"pause\" is not for `rate_mismatch = \"hold-output\"`"),
        },
        // Ethernet has eight priorities.
        Rule { when: &[Is("flow_control", &["pause"]), Is("lane_policy", &["hops"])], then: Idle },
        Rule {
            when: &[Is("flow_control", &["pause"]), Is("classes", &["two"]), Is("routing", MANY_LANES)],
            then: Idle,
        },
        Rule {
            when: &[IsNot("enforcement", &["off"]), Is("partition", &["default"])],
            then: Refused("only for experiments with `partitions`"),
        },
        // A ladder of hops may get more lanes later, which the tables lack.
        Rule { when: &[Is("vl_arbitration", &["tables"]), Is("lane_policy", &["hops"])], then: Idle },
        Rule {
            when: &[Is("vl_arbitration", &["tables"]), Is("priority", &["last"])],
            then: Refused("the tables decide between lanes"),
        },
        Rule {
            when: &[Is("arbiter", &["age-based"]), Is("priority", &["last"])],
            then: Refused("`age-based` has no priorities"),
        },
    ],
    write,
};

/// The number of lanes of a class.
fn lanes_of_class(build: &mut Build) -> u8 {
    // The number of lanes by hops is that of the links of the longest route.
    let one = build.is("lanes", "one") && !build.is("lane_policy", "hops");
    let needed = if one { 1 } else { routing::lanes(build) };
    // Lane 15 is for the datagrams of a manager.
    let most = match (build.is("flow_control", "pause"), build.is("manager", "none")) {
        (true, _) => PRIORITIES,
        (false, true) => MOST_LANES,
        (false, false) => MOST_LANES - 1,
    };
    let spare = (most / build.classes() / needed).min(3);
    match build.choice("lanes") {
        "spare" if spare > 1 => needed * build.draw.range(2, spare.into()) as u8,
        "spare" if needed < most / build.classes() => needed + 1,
        _ => needed,
    }
}

/// Thresholds that are exceeded often, or those that the buffers leave.
fn pause(build: &mut Build) {
    let Build { draw, draft, unit, mtu, .. } = build;
    if draw.chance(1, 4) {
        return;
    }
    let xoff = draw.range(1, 3 * mtu.div_ceil(*unit));
    draft.section("[switch.pause]");
    draft.text("xoff", format!("{} B", xoff * *unit));
    if draw.chance(1, 2) {
        draft.text("xon", format!("{} B", draw.range(0, xoff) * *unit));
    }
}

fn write(build: &mut Build) {
    let lanes = lanes_of_class(build);
    let classes = build.classes();
    build.draft.section("[switch]");
    for key in [
        "queueing",
        "switching",
        "rate_mismatch",
        "arbiter",
        "allocation",
        "send_when",
        "credit_return",
        "flow_control",
    ] {
        let choice = build.choice(key);
        build.draft.text(key, choice);
    }
    build.lanes = lanes * classes;
    build.draft.key("virtual_lanes", build.lanes);
    if build.is("service_levels", "of-traffic") {
        // Requests and responses do not share a lane: that is a deadlock.
        let table = [build.draw.below(lanes.into()), usize::from(lanes) + build.draw.below(lanes.into())];
        build.draft.key("sl2vl", format!("{table:?}"));
        build.has_sl2vl = true;
    } else {
        build.draft.key("service_classes", classes);
    }
    if build.is("priority", "last") {
        build.draft.key("priority_classes", format!("[{}]", classes - 1));
    }
    let (delays, staged) = (build.is("delays", "some"), build.is("queueing", "cioq"));
    let maximal = build.is("allocation", "maximal");
    lifetimes(build);
    let enforcement = build.choice("enforcement");
    build.draft.text("partition_enforcement", enforcement);
    if build.is("flow_control", "packets") {
        let period = build.draw.range(20, 1_000);
        build.draft.text("flow_control_period", format!("{period} ns"));
        build.draft.text("retraining_time", "10 us");
    }
    let pauses = build.is("flow_control", "pause");
    if build.is("switch-errors", "some") {
        build.draft.key("bit_error_rate", "2e-6");
    }
    let Build { draw, draft, unit, .. } = build;
    draft.text("flow_control_unit", format!("{unit} B"));
    let router_delay = if delays { draw.time() } else { "0 ns".to_owned() };
    if !staged && draw.chance(1, 3) {
        draft.text("head_delay", &router_delay);
    }
    // Their headroom would be that of the slowest packet.
    if !staged && maximal && !pauses && draw.chance(1, 4) {
        draft.text("unit_interval", draw.time());
    }
    if !maximal {
        draft.key("speculative", draw.chance(1, 2));
    }
    draft.text("router_delay", router_delay);
    draft.text("credit_delay", if delays { draw.time() } else { "0 ns".to_owned() });
    if pauses {
        pause(build);
    }
    if build.is("queueing", "cioq") {
        staging(build);
    }
    if build.is("arbiter", "age-based") {
        age(build);
    }
    if build.is("vl_arbitration", "tables") {
        vl_arbitration(build, "[switch.vl_arbitration]");
    }
}

fn lifetimes(build: &mut Build) {
    let lifetime = build.choice("lifetime");
    let time = match lifetime {
        "long" => (1, 60, "s"),
        // With a transport, packets that never get through would be retransmitted for ever.
        "short" if !build.is("transport", "none") => (20, 60, "us"),
        "short" => (100, 3_000, "ns"),
        _ => return,
    };
    let Build { draw, draft, .. } = build;
    let mut draw_time = || format!("{} {}", draw.range(time.0, time.1), time.2);
    let (head, limit) = (draw_time(), draw_time());
    match draw.range(0, 2) {
        0 => draft.text("head_of_queue_lifetime", head),
        1 => draft.text("lifetime_limit", limit),
        _ => {
            draft.text("head_of_queue_lifetime", head);
            draft.text("lifetime_limit", limit);
            draft.key("vl_stall_count", draw.range(0, 7));
        }
    }
}

/// Tables of weights with every lane.
pub fn vl_arbitration(build: &mut Build, section: &str) {
    let Build { draw, draft, lanes, .. } = build;
    draft.section(section);
    let mut tables = [Vec::new(), Vec::new()];
    for vl in 0..*lanes {
        let table = draw.below(2);
        tables[table].push(format!("{{ vl = {vl}, weight = {} }}", draw.range(1, 255)));
    }
    draft.key("high", format!("[{}]", tables[0].join(", ")));
    draft.key("low", format!("[{}]", tables[1].join(", ")));
    draft.key("high_limit", draw.range(0, 3) * 85);
}

fn staging(build: &mut Build) {
    let blocks = build.mtu.div_ceil(build.unit);
    let blocks = build.draw.range(blocks, 3 * blocks);
    let delay = if build.is("delays", "some") { build.draw.time() } else { "0 ns".to_owned() };
    let Build { draw, draft, unit, .. } = build;
    draft.section("[switch.staging]");
    draft.text("buffer", format!("{} B", blocks * *unit));
    draft.text("delay", delay);
    if draw.chance(1, 2) {
        draft.text("rate", draw.rate());
    }
}

fn age(build: &mut Build) {
    let (classes, links) = (build.classes_of_links(), build.switch_links());
    let Build { draw, draft, .. } = build;
    draft.section("[switch.age]");
    draft.key("period", draw.range(1, 200));
    draft.text("cycle", draw.pick(&["2 ns", "1 ns", "333 ps"]));
    draft.text("phase", draw.pick(&["common", "random"]));
    draft.text("rr_select", draw.pick(&["0xffffffffffffffff", "0x0", "0x5555555555555555"]));
    for table in ["bias", "response_bias"] {
        draft.section(&format!("[switch.age.{table}]"));
        draft.key("all", draw.range(0, 7));
        draft.key("hosts", draw.range(0, 7));
        if let Some(class) = classes.first().filter(|class| !class.starts_with("kind")) {
            draft.key(class, draw.range(0, 7));
        }
        if let Some(link) = links.first() {
            draft.key(&format!("named.\"{link}\""), draw.range(0, 7));
        }
    }
}
