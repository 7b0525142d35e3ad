//! Generated settings of the measurement.

use super::Build;
use super::space::Then::Refused;
use super::space::When::{Is, IsNot};
use super::space::{Dimension, Part, Rule};

pub const PART: Part = Part {
    dimensions: &[
        Dimension { name: "flows", choices: &["auto", "pairs", "sources"] },
        Dimension { name: "link_series", choices: &["no", "yes"] },
        Dimension { name: "router_counters", choices: &["no", "yes"] },
        Dimension { name: "exchanges", choices: &["none", "few", "all"] },
        Dimension { name: "bins", choices: &["usual", "narrow"] },
    ],
    rules: &[Rule {
        when: &[IsNot("exchanges", &["none"]), Is("transport", &["none"])],
        then: Refused("no exchanges occur: choose another mode"),
    }],
    write,
};

fn write(build: &mut Build) {
    let (flows, exchanges) = (build.choice("flows"), build.choice("exchanges"));
    let (series, counters) = (build.is("link_series", "yes"), build.is("router_counters", "yes"));
    let narrow = build.is("bins", "narrow");
    let Build { draw, draft, .. } = build;
    draft.section("[measure]");
    draft.text("flows", flows);
    draft.key("link_series", series);
    draft.key("router_counters", counters);
    draft.key("congestion_fill", draw.pick(&["0.5", "0.1", "1.0"]));
    if draw.chance(1, 2) {
        draft.text("congestion_interval", format!("{} ns", draw.range(300, 9_000)));
    }
    match exchanges {
        "few" => draft.key("exchanges", draw.range(1, 60)),
        "all" => draft.key("exchanges", 1_000_000),
        _ => {}
    }
    // Without a draw of its own, so that the other keys stay as they were.
    if flows == "pairs" {
        draft.key("packets", "[\"* -> *\"]");
        draft.key("packet_hops", 20_000);
    }
    if narrow {
        draft.text("bin", format!("{} ps", draw.range(7_001, 90_000)));
    }
}
