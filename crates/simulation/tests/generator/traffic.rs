//! Streams of messages.

use super::Build;
use super::space::Then::{Idle, Refused};
use super::space::When::{Is, IsNot};
use super::space::{Dimension, Part, Rule};

pub const PART: Part = Part {
    dimensions: &[
        // Entries of the list; of three, the first has the choices below.
        Dimension { name: "entries", choices: &["one", "none", "three"] },
        Dimension {
            name: "pattern",
            choices: &[
                "uniform",
                "uniform-with-self",
                "transpose",
                "bit-complement",
                "bit-reverse",
                "bit-shuffle",
                "tornado",
                "neighbour",
                "random-permutation",
                "permutation",
                "to",
                "hot-spot",
                "group-offset",
                "multicast",
            ],
        },
        Dimension {
            name: "injection",
            choices: &["bernoulli", "poisson", "constant", "saturating", "on-off", "window"],
        },
        Dimension { name: "size", choices: &["packet", "packets", "uniform", "choice", "exponential"] },
        Dimension { name: "draw_per", choices: &["message", "packet"] },
        Dimension { name: "response", choices: &["none", "same-class", "other-class"] },
        Dimension { name: "span", choices: &["whole", "part", "messages"] },
        // Of the first entry: all hosts accept its packets, or some do not.
        Dimension { name: "partition", choices: &["default", "all", "limited"] },
    ],
    rules: &[
        Rule { when: &[IsNot("partition", &["default"]), Is("entries", &["none"])], then: Idle },
        // Who waits for an answer to what is lost waits for ever.
        Rule { when: &[Is("partition", &["limited"]), IsNot("transport", &["none"])], then: Idle },
        Rule { when: &[Is("partition", &["limited"]), IsNot("response", &["none"])], then: Idle },
        Rule {
            when: &[
                Is("injection", &["window"]),
                Is("response", &["none"]),
                IsNot("pattern", &["multicast"]),
            ],
            then: Refused("the next message is created when a response arrives"),
        },
        Rule {
            when: &[Is("injection", &["window"]), Is("pattern", &["multicast"])],
            then: Refused("not with a multicast pattern"),
        },
        Rule {
            when: &[Is("draw_per", &["packet"]), IsNot("response", &["none"])],
            then: Refused("a message whose packets go to several hosts has no receiver"),
        },
        Rule {
            when: &[Is("response", &["other-class"]), Is("classes", &["one"])],
            // Service classes, or levels with `engine = "torus-2QoS"`.
            then: Refused("are 0 to 0"),
        },
        Rule {
            when: &[Is("pattern", &["group-offset"]), IsNot("topology", &["dragonfly", "megafly"])],
            then: Refused("the topology has no groups"),
        },
        Rule {
            when: &[Is("pattern", &["multicast"]), IsNot("transport", &["none"])],
            then: Refused("multicast is for datagrams"),
        },
        Rule {
            when: &[Is("pattern", &["multicast"]), Is("congestion-control", &["swift", "hpcc", "nscc"])],
            then: Refused("multicast is for datagrams"),
        },
        Rule {
            when: &[Is("pattern", &["multicast"]), IsNot("response", &["none"])],
            then: Refused("not with a multicast pattern"),
        },
        // A group is one destination.
        Rule { when: &[Is("pattern", &["multicast"]), Is("draw_per", &["packet"])], then: Idle },
        Rule {
            when: &[Is("pattern", &["tornado"]), Is("topology", &["hypercube"])],
            then: Refused("destination other than itself: the entry would send nothing"),
        },
        Rule {
            when: &[Is("pattern", &["tornado", "neighbour"]), Is("topology", &["parking-lot"])],
            then: Refused("no such host exists; choose other `sources`"),
        },
        Rule { when: &[Is("entries", &["none"]), IsNot("pattern", &["uniform"])], then: Idle },
        Rule { when: &[Is("entries", &["none"]), IsNot("injection", &["bernoulli"])], then: Idle },
        Rule { when: &[Is("entries", &["none"]), IsNot("size", &["packet"])], then: Idle },
        Rule { when: &[Is("entries", &["none"]), IsNot("draw_per", &["message"])], then: Idle },
        Rule { when: &[Is("entries", &["none"]), IsNot("response", &["none"])], then: Idle },
        Rule { when: &[Is("entries", &["none"]), IsNot("span", &["whole"])], then: Idle },
    ],
    write,
};

fn write(build: &mut Build) {
    let entries = match build.choice("entries") {
        "none" => 0,
        "one" => 1,
        _ => 3,
    };
    if entries > 0 {
        build.draft.section("[groups]");
        let hosts = &build.graph.hosts;
        let first = build.draw.below(hosts.len());
        let (a, b) = (&hosts[first].name, &hosts[(first + 1) % hosts.len()].name);
        build.draft.key("some", format!("[\"{a}\", \"{b}\"]"));
    }
    let partition = build.choice("partition");
    if entries > 0 && partition != "default" {
        build.draft.section("[[partitions]]");
        build.draft.text("name", "first");
        let key = build.draw.range(1, 32_766);
        build.draft.key("key", key);
        build.draft.key(if partition == "all" { "members" } else { "limited" }, "[\"*\"]");
        if partition == "limited" && build.draw.chance(1, 2) {
            build.draft.key("members", "[\"some\"]");
        }
    }
    if entries > 0 && build.is("pattern", "multicast") {
        build.draft.section("[[multicast_groups]]");
        build.draft.text("name", "group");
        let members = build.draw.pick(&["*", "some"]);
        build.draft.key("members", format!("[\"{members}\"]"));
    }
    for entry in 0..entries {
        let other = entry > 0;
        build.draft.section("[[traffic]]");
        if !other && partition != "default" {
            build.draft.text("partition", "first");
        }
        build.draft.text("name", format!("entry {entry}"));
        pattern(build, other);
        injection(build, other);
        let size = if other { build.draw.pick(&["packet", "packets"]) } else { build.choice("size") };
        let size = message(build, size);
        build.draft.key("message", size);
        rest(build, other);
    }
}

fn pattern(build: &mut Build, other: bool) {
    let pattern = if other { build.draw.pick(&["to", "uniform"]) } else { build.choice("pattern") };
    let host = build.host();
    let hosts: Vec<String> = build.graph.hosts.iter().map(|host| host.name.clone()).collect();
    let Build { draw, draft, .. } = build;
    let value = match pattern {
        "permutation" => {
            let by = 1 + draw.below(hosts.len() - 1);
            let list: Vec<&String> = hosts.iter().cycle().skip(by).take(hosts.len()).collect();
            format!("{{ permutation = {list:?} }}")
        }
        "to" => format!("{{ to = \"{host}\" }}"),
        "hot-spot" => format!("{{ hot-spot = {{ hosts = [\"{host}\"], fraction = 0.3 }} }}"),
        "multicast" => "{ multicast = \"group\" }".to_owned(),
        "group-offset" => format!("{{ group-offset = {} }}", draw.range(1, 2)),
        plain => format!("\"{plain}\""),
    };
    draft.key("pattern", value);
    if pattern == "transpose" {
        draft.text("self_flows", draw.pick(&["skip", "send"]));
    }
    if pattern == "uniform" && draw.chance(1, 4) {
        draft.key("destinations", format!("[\"{}\", \"{}\"]", hosts[0], hosts[hosts.len() - 1]));
    }
    if other && draw.chance(1, 2) {
        draft.key("sources", "[\"some\"]");
    }
}

fn injection(build: &mut Build, other: bool) {
    let injection =
        if other { build.draw.pick(&["poisson", "saturating"]) } else { build.choice("injection") };
    let Build { draw, draft, .. } = build;
    draft.text("injection", injection);
    match injection {
        "saturating" => {}
        "window" => draft.key("window", draw.range(1, 4)),
        "on-off" => {
            draft.text("on", "500 ns");
            if draw.chance(1, 2) {
                draft.text("off", "300 ns");
            } else {
                draft.key("load", "0.4");
            }
        }
        _ if draw.chance(1, 4) => draft.text("rate", draw.pick(&["1 Gb/s", "3 Gb/s"])),
        _ => draft.key("load", draw.pick(&["0.1", "0.3", "0.7"])),
    }
    if injection == "bernoulli" && draw.chance(1, 4) {
        draft.text("slot", "7 ns");
    }
}

fn message(build: &mut Build, size: &str) -> String {
    let Build { draw, mtu, .. } = build;
    let mtu = *mtu;
    match size {
        "packet" => format!("\"{} B\"", draw.range(mtu.min(50), mtu)),
        "packets" => format!("\"{} B\"", draw.range(mtu + 1, 6 * mtu)),
        "uniform" => {
            format!("{{ uniform = {{ min = \"{} B\", max = \"{} B\" }} }}", draw.range(1, mtu), 3 * mtu)
        }
        "choice" => format!(
            "{{ choice = [{{ size = \"{mtu} B\", weight = 1 }}, {{ size = \"{} B\", weight = 0.5 }}] }}",
            draw.range(1, 4 * mtu)
        ),
        _ => format!("{{ exponential = {{ mean = \"{mtu} B\", max = \"{} B\" }} }}", 5 * mtu),
    }
}

/// Responses, classes, and when the entry sends.
fn rest(build: &mut Build, other: bool) {
    let response = if other { "none" } else { build.choice("response") };
    let (span, draw_per) = (build.choice("span"), build.choice("draw_per"));
    let (last_class, mode) = (build.classes() - 1, build.choice("transport"));
    let orders = mode != "none" && !super::transport::QUEUE_PAIRS.contains(&mode);
    let exact = build.is("exactly_once", "yes");
    if !other && span == "part" {
        let start = build.draw.range(0, 2000);
        build.draft.text("start", format!("{start} ns"));
        let stop = start + build.draw.range(1, 3000);
        build.draft.text("stop", format!("{stop} ns"));
    }
    if !other && span == "messages" {
        let messages = build.draw.range(1, 6);
        build.draft.key("messages", messages);
    }
    if other {
        let class = build.draw.pick(&[0, last_class]);
        build.draft.key("service_class", class);
    } else {
        build.draft.text("draw_per", draw_per);
    }
    if other && orders && build.draw.chance(1, 2) {
        let modes: &[&str] = if exact {
            &["ordered", "source-ordered", "synchronized", "source-synchronized"]
        } else {
            &["unordered", "go-back-n", "selective", "selective-ordered", "ordered", "synchronized"]
        };
        let ordering = build.draw.pick(modes);
        build.draft.text("ordering", ordering);
    }
    if other && orders && build.draw.chance(1, 3) {
        build.draft.key("packet_load", "0.5");
    }
    if response != "none" {
        let size = build.draw.pick(&["packet", "packets"]);
        let size = message(build, size);
        let delay = build.draw.time();
        let class = u8::from(response == "other-class");
        build
            .draft
            .key("response", format!("{{ message = {size}, delay = \"{delay}\", service_class = {class} }}"));
    }
}
