//! Congestion control, with thresholds and timers at which something happens in a short run.

use super::Build;
use super::space::Then::{Idle, Refused};
use super::space::When::{Is, IsNot};
use super::space::{Dimension, Part, Rule};

pub const PART: Part = Part {
    dimensions: &[
        Dimension {
            name: "congestion-control",
            choices: &["none", "infiniband", "dcqcn", "swift", "hpcc", "nscc"],
        },
        Dimension { name: "notification", choices: &["cnp", "acknowledgement"] },
        // Credits that are returned late by starving switches.
        Dimension { name: "late-credits", choices: &["none", "some"] },
    ],
    rules: &[
        Rule {
            when: &[
                Is("notification", &["acknowledgement"]),
                Is("congestion-control", &["none", "swift", "hpcc", "nscc"]),
            ],
            then: Idle,
        },
        Rule {
            when: &[Is("late-credits", &["some"]), IsNot("congestion-control", &["infiniband"])],
            then: Idle,
        },
        Rule {
            when: &[Is("late-credits", &["some"]), Is("queueing", &["cioq"])],
            then: Refused("late credits are not for `queueing = \"cioq\"`"),
        },
    ],
    write,
};

fn write(build: &mut Build) {
    let (algorithm, by) = (build.choice("congestion-control"), build.choice("notification"));
    let (last_class, mtu) = (build.classes() - 1, build.mtu);
    let ports = build.switch_links().first().map_or("*".to_owned(), |link| link.replacen('-', "->", 1));
    let Build { draw, draft, .. } = build;
    draft.section("[congestion_control]");
    draft.text("algorithm", algorithm);
    if algorithm == "none" {
        return;
    }
    if ["swift", "hpcc", "nscc"].contains(&algorithm) && draw.chance(1, 2) {
        draft.text("base_rtt", format!("{} ns", draw.range(100, 5000)));
    }
    draft.section("[congestion_control.notification]");
    draft.text("by", by);
    draft.key("first", draw.chance(1, 2));
    draft.text("size", format!("{} B", draw.range(1, mtu.min(64))));
    draft.key("service_class", draw.pick(&[0, last_class]));
    draft.text("delay", draw.time());
    let every = draw.range(1, 4);
    draft.key("every", every);
    draft.text("timeout", format!("{} ns", 300 * every));
    match algorithm {
        "dcqcn" => return dcqcn(build),
        "swift" => return swift(build),
        "hpcc" => return hpcc(build),
        "nscc" => return nscc(build),
        _ => {}
    }
    infiniband(build, &ports);
}

fn infiniband(build: &mut Build, ports: &str) {
    let late = build.is("late-credits", "some");
    let Build { draw, draft, .. } = build;
    draft.section("[congestion_control.infiniband]");
    let threshold = draw.range(1, 15);
    draft.key("threshold", threshold);
    draft.key("reset_threshold", draw.range(threshold, 16));
    draft.text("threshold_on", draw.pick(&["output", "buffer"]));
    draft.key("marking_rate", draw.range(0, 3));
    draft.text("marking_rate_counts", draw.pick(&["between", "from-mark-to-mark"]));
    draft.key("packet_size", draw.range(0, 2));
    draft.text("victim_mask", draw.pick(&["hosts", "none", "all"]));
    if draw.chance(1, 3) {
        // Names of parallel links, and of ends with a hyphen, are not unique: `*` finds all.
        let ports = if ports.matches("->").count() == 1 && !ports.contains('(') { ports } else { "*" };
        draft.key(
            "ports",
            format!(
                "[{{ ports = [\"{ports}\"], lanes = [0], threshold = 15, reset_threshold = 16, marking_rate = 0, \
                 packet_size = 0, victim_mask = true }}]"
            ),
        );
    }
    if late {
        draft.key("credit_starvation_threshold", draw.range(1, 15));
        draft.text("credit_starvation_return_delay", draw.pick(&["0:1", "1:3", "3:1"]));
    }
    let tables = [
        "{ linear = { step = 0.5, entries = 32 } }",
        "{ quadratic = { nodes = 4, divisor = 8, entries = 20 } }",
        "{ exponential = { first = 0.25, growth = 1.5, entries = 16 } }",
        "{ entries = [\"0:0\", \"3:1\", \"1:3\", \"0:9\"] }",
        "\"psm2\"",
    ];
    draft.key("cct", draw.pick(&tables));
    draft.text("control", draw.pick(&["queue-pair", "service-level"]));
    draft.key("ccti_increase", draw.range(1, 3));
    draft.key("ccti_limit", draw.range(2, 3));
    draft.key("ccti_min", draw.range(0, 2));
    let timer = draw.range(100, 2000);
    draft.key("ccti_timer", if draw.chance(1, 4) { "1".to_owned() } else { format!("\"{timer} ns\"") });
    draft.text("timer_starts", draw.pick(&["always", "notification", "each-notification"]));
    draft.key("trigger_threshold", draw.range(1, 3));
    draft.text("delay_relative_to", draw.pick(&["packet", "mtu"]));
}

fn dcqcn(build: &mut Build) {
    let Build { draw, draft, .. } = build;
    let k_min = draw.range(64, 2000);
    let timer = format!("{} ns", draw.range(50, 1000));
    draft.section("[congestion_control.dcqcn]");
    draft.text("k_min", format!("{k_min} B"));
    draft.text("k_max", format!("{} B", k_min + draw.range(0, 2000)));
    draft.key("p_max", draw.pick(&["0.5", "1.0"]));
    draft.key("g", draw.pick(&["0.1", "0.5"]));
    for key in ["cnp_interval", "rate_timer", "alpha_timer"] {
        draft.text(key, &timer);
    }
    draft.text("byte_counter", format!("{} B", draw.range(500, 5000)));
    draft.key("fast_recovery", draw.range(1, 5));
    draft.text("additive_increase", "400 Mb/s");
    draft.text("hyper_increase", "1 Gb/s");
    draft.text("min_rate", "100 Mb/s");
}

/// Short targets, so that windows shrink below a packet; long ones leave them as they are.
fn swift(build: &mut Build) {
    let Build { draw, draft, .. } = build;
    draft.section("[congestion_control.swift]");
    draft.text("base_target", format!("{} ns", draw.range(50, 5000)));
    draft.text("hop_target", format!("{} ns", draw.range(0, 100)));
    draft.text("fs_range", format!("{} ns", draw.range(0, 5000)));
    draft.key("ai", draw.pick(&["0.5", "1.0", "8.0"]));
    draft.key("beta", draw.pick(&["0.2", "0.8"]));
    draft.key("max_mdf", draw.pick(&["0.5", "0.9"]));
    draft.key("min_cwnd", draw.pick(&["0.01", "0.5", "1.0"]));
    draft.key("max_cwnd", draw.pick(&["1.0", "50.0"]));
}

fn hpcc(build: &mut Build) {
    let Build { draw, draft, .. } = build;
    draft.section("[congestion_control.hpcc]");
    draft.key("eta", draw.pick(&["0.5", "0.95"]));
    draft.key("max_stage", draw.range(0, 5));
    draft.text("additive_increase", format!("{} B", draw.range(1, 500)));
}

fn nscc(build: &mut Build) {
    let Build { draw, draft, .. } = build;
    let k_min = draw.range(64, 2000);
    draft.section("[congestion_control.nscc]");
    draft.text("target_delay", format!("{} ns", draw.range(50, 5000)));
    draft.text("k_min", format!("{k_min} B"));
    draft.text("k_max", format!("{} B", k_min + draw.range(0, 2000)));
    draft.key("delay_weight", draw.pick(&["0.0125", "0.5", "1.0"]));
    draft.key("quick_adapt", draw.pick(&["1.0", "4.0"]));
    draft.key("max_window", draw.pick(&["0.5", "1.5"]));
}
