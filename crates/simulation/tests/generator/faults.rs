//! Links and switches that fail and come back.

use std::path::Path;

use fabricsim_engine::Prepared;

use super::space::Then::{Idle, Refused};
use super::space::When::{Is, IsNot};
use super::space::{Dimension, Part, Rule};
use super::{Build, Draft};

pub const PART: Part = Part {
    dimensions: &[
        Dimension { name: "faults", choices: &["none", "link", "host-link", "switch", "several"] },
        Dimension { name: "waiting", choices: &["discard", "hold"] },
        Dimension { name: "reroute", choices: &["never", "soon"] },
    ],
    rules: &[
        Rule {
            when: &[IsNot("faults", &["none"]), Is("allocation", &["separable"])],
            then: Refused("links cannot fail with `switch.allocation = \"separable\"`"),
        },
        Rule { when: &[Is("faults", &["none"]), Is("waiting", &["hold"])], then: Idle },
        Rule { when: &[Is("faults", &["none"]), Is("reroute", &["soon"])], then: Idle },
        // Other routes than those of the start may have cycles that were not foretold, but for lanes by hops.
        Rule { when: &[Is("reroute", &["soon"]), IsNot("lane_policy", &["hops"])], then: Idle },
        // Other algorithms refuse to change their routes, or are look-up tables.
        Rule { when: &[Is("reroute", &["soon"]), IsNot("routing", &["shortest-path"])], then: Idle },
    ],
    write,
};

/// Nanoseconds in which everything fails and comes back: less than the shortest run.
const SPAN: u32 = 3_500;

fn write(build: &mut Build) {
    if build.is("faults", "none") {
        return;
    }
    let links = build.switch_links();
    let of_host = build.graph.link_name(build.graph.hosts[0].link);
    let link = |build: &mut Build| match links.len() {
        0 => of_host.clone(),
        count => links[build.draw.below(count)].clone(),
    };
    let switch = |build: &mut Build| {
        let number = build.draw.below(build.graph.switches.len());
        build.graph.switches[number].name.clone()
    };
    let mut entries = Vec::new();
    match build.choice("faults") {
        "link" => entries.push(("link", link(build))),
        "host-link" => entries.push(("link", of_host.clone())),
        "switch" => entries.push(("switch", switch(build))),
        _ => {
            entries.push(("switch", switch(build)));
            entries.push(("link", of_host.clone()));
            let other = link(build);
            if other != of_host {
                entries.push(("link", other));
            }
        }
    }
    let (waiting, reroutes) = (build.choice("waiting"), build.is("reroute", "soon"));
    let by_packets = build.is("flow_control", "packets");
    let Build { draw, draft, .. } = build;
    draft.section("[faults]");
    draft.text("waiting", waiting);
    if reroutes {
        draft.text("reroute_after", format!("{} ns", draw.range(1, 800)));
    }
    for (key, name) in entries {
        let at = draw.range(0, SPAN - 1);
        let until = draw.range(at + 1, SPAN);
        draft.section("[[faults.plan]]");
        draft.text(key, name);
        let loses = if by_packets && key == "link" && draw.chance(1, 4) { "flow-control" } else { "all" };
        draft.text("loses", loses);
        draft.text("at", format!("{at} ns"));
        draft.text("until", format!("{until} ns"));
    }
}

/// The draft with lanes for routes around what fails; without a change of routes if there cannot be enough of them.
pub fn with_routes(draft: Draft) -> Draft {
    const NEEDS: &str = "the links of the longest route with";
    let is_short = |draft: &Draft| prepare(draft).is_some_and(|error| error.contains(NEEDS));
    if !is_short(&draft) {
        return draft;
    }
    let mut more = draft.clone();
    more.set("[switch]", "virtual_lanes", "16");
    if is_short(&more) {
        more.remove("[faults]", "reroute_after");
    }
    more
}

/// The reason why a draft cannot be run.
fn prepare(draft: &Draft) -> Option<String> {
    let text = draft.to_string();
    if !text.contains("reroute_after") {
        return None;
    }
    let experiment = fabricsim_spec::read(&text, "generated.toml", &[]).ok()?;
    Prepared::new(experiment, Path::new("."), "generated.toml").err().map(|error| error.to_string())
}
