//! Subnet managers.

use super::Build;
use super::space::Then::Refused;
use super::space::When::{Is, IsNot};
use super::space::{Dimension, Part, Rule};

pub const PART: Part = Part {
    dimensions: &[Dimension {
        name: "manager",
        choices: &["none", "configured", "unconfigured", "standby", "light-sweeps"],
    }],
    rules: &[
        Rule {
            when: &[IsNot("manager", &["none"]), IsNot("routing", &["opensm"])],
            then: Refused("a subnet manager sets forwarding tables"),
        },
        Rule {
            when: &[IsNot("manager", &["none"]), Is("allocation", &["separable"])],
            then: Refused("not with `switch.allocation = \"separable\"`"),
        },
        Rule {
            when: &[IsNot("manager", &["none"]), Is("queueing", &["cioq"])],
            then: Refused("not with `switch.queueing = \"cioq\"`"),
        },
    ],
    write,
};

fn write(build: &mut Build) {
    if build.is("manager", "none") {
        return;
    }
    let start = if build.is("manager", "unconfigured") { "unconfigured" } else { "configured" };
    let traps = !build.is("manager", "light-sweeps");
    let hosts = build.graph.hosts.iter().map(|host| host.name.clone());
    let hosts: Vec<String> =
        hosts.chain(build.graph.switches.iter().map(|switch| switch.name.clone())).collect();
    let count = if build.is("manager", "standby") { 2.min(hosts.len()) } else { 1 };
    let first = build.draw.below(hosts.len());
    let chosen: Vec<&str> = (0..count).map(|turn| hosts[(first + turn) % hosts.len()].as_str()).collect();
    let Build { draw, draft, lmc, .. } = build;
    draft.section("[subnet_manager]");
    draft.key("nodes", format!("{chosen:?}"));
    draft.text("start", start);
    draft.key("smps_on_wire", draw.range(1, 16));
    draft.key("vl15_buffer", draw.range(2, 8));
    draft.key("lmc", *lmc);
    draft.key("retries", draw.range(0, 6));
    draft.key("traps", traps);
    // Runs take some microseconds: management must be as fast.
    for (key, most) in
        [("manager_time", 20), ("response_time", 30), ("forwarding_time", 10), ("routing_time", 200)]
    {
        draft.text(key, format!("{} ns", draw.range(1, most)));
    }
    // Longer than a round trip on the slowest links.
    draft.text("timeout", format!("{} us", draw.range(20, 60)));
    for key in ["sweep_interval", "poll_interval"] {
        draft.text(key, format!("{} ns", draw.range(1_000, 90_000)));
    }
}
