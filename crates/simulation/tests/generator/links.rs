//! Rates, buffers and errors of links.

use super::Build;
use super::space::Then::Idle;
use super::space::When::{Is, IsNot};
use super::space::{Dimension, Part, Rule};
use super::transport::{LEAST_MTU, QUEUE_PAIRS};

pub const PART: Part = Part {
    dimensions: &[
        // The same for all links, others for hosts, others for classes of links and single ones.
        Dimension { name: "links", choices: &["alike", "hosts", "classes"] },
        Dimension { name: "buffer", choices: &["one-packet", "several"] },
        Dimension { name: "reads", choices: &["one", "two", "all"] },
        Dimension { name: "overhead", choices: &["none", "some"] },
        Dimension { name: "bit-errors", choices: &["none", "some", "many"] },
        Dimension { name: "errors", choices: &["retry", "lose"] },
        // Of all links: that of hosts, or less.
        Dimension { name: "link-mtu", choices: &["none", "less"] },
    ],
    rules: &[
        Rule { when: &[Is("bit-errors", &["none"]), Is("errors", &["lose"])], then: Idle },
        // Packets that allocation in rounds does not discard, and such that are lost with new routes as often as they are sent.
        Rule { when: &[Is("link-mtu", &["less"]), Is("allocation", &["separable"])], then: Idle },
        Rule { when: &[Is("link-mtu", &["less"]), IsNot("faults", &["none"])], then: Idle },
    ],
    write,
};

fn write(build: &mut Build) {
    let mut sections = vec!["all".to_owned()];
    let names = build.switch_links();
    match build.choice("links") {
        "hosts" => sections.push("hosts".to_owned()),
        "classes" => {
            sections.push("hosts".to_owned());
            let classes = build.classes_of_links();
            if !classes.is_empty() {
                sections.push(build.draw.pick(&classes.iter().collect::<Vec<_>>()).clone());
            }
            if !names.is_empty() {
                sections.push(format!("named.\"{}\"", build.draw.pick(&names.iter().collect::<Vec<_>>())));
            }
        }
        _ => {}
    }
    for section in sections {
        link(build, &section);
    }
    if !build.is("bit-errors", "none") && build.draw.chance(1, 2) {
        let Build { draw, draft, .. } = build;
        draft.section("[links.retry]");
        let (data, bits) = draw.pick(&[("16 B", 168), ("64 B", 600)]);
        draft.text("data", data);
        draft.key("bits", bits);
        draft.key("window", 65535);
        draft.text("delay", draw.time());
    }
    if build.is("errors", "lose") {
        build.draft.set("[links]", "errors", "\"lose\"");
    }
    if build.is("failed", "one") {
        let name = first(build);
        build.draft.set("[links]", "failed", &format!("[\"{name}\"]"));
    }
}

fn link(build: &mut Build, section: &str) {
    let (unit, mtu) = (build.unit, build.mtu);
    let blocks = mtu.div_ceil(unit);
    let buffer = match build.choice("buffer") {
        "several" => (blocks + build.draw.range(1, 4 * blocks)) * unit + unit / 2,
        _ => blocks * unit,
    };
    let buffer = if build.is("flow_control", "pause") { buffer + headroom(unit, mtu) } else { buffer };
    let reads = match build.choice("reads") {
        "one" => 1,
        "two" => 2,
        _ => 0,
    };
    let overhead = if build.is("overhead", "some") { build.draw.range(1, 40) } else { 0 };
    // Errors that lose a packet are repaired by its transport, over all its links: they are fewer.
    let (some, many) = if build.is("errors", "lose") { ("1e-6", "1e-5") } else { ("1e-5", "2e-4") };
    let errors = match build.choice("bit-errors") {
        "some" => build.draw.pick(&["0", some]),
        "many" => many,
        _ => "0",
    };
    // Answers and notifications, of at most 64 bytes, are not cut.
    let has_queue_pairs = QUEUE_PAIRS.contains(&build.choice("transport"));
    let least = if has_queue_pairs { LEAST_MTU } else { 64 };
    let less = build.is("link-mtu", "less") && mtu > least;
    let Build { draw, draft, .. } = build;
    draft.section(&format!("[links.{section}]"));
    if less {
        draft.text("mtu", format!("{} B", draw.range(least, mtu)));
    }
    draft.text("rate", draw.rate());
    draft.text("latency", draw.time());
    draft.text("buffer", format!("{buffer} B"));
    draft.text("packet_overhead", format!("{overhead} B"));
    draft.key("reads", reads);
    draft.key("bit_error_rate", errors);
}

/// What pause frames need on any link, with packets of a byte in blocks of `unit`: 800 ns at 100 Gb/s for latencies and delays, and four packets.
fn headroom(unit: u32, mtu: u32) -> u32 {
    (10_000 + 4 * (mtu + 124)) * (1 + unit)
}

/// The first link between switches; of a fabric without any, that of the first host.
pub fn first(build: &Build) -> String {
    let of_host = || build.graph.link_name(build.graph.hosts[0].link);
    build.switch_links().into_iter().next().unwrap_or_else(of_host)
}
