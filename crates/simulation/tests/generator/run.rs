//! Phases of a run.

use super::Build;
use super::space::{Dimension, Part};

pub const PART: Part = Part {
    dimensions: &[
        Dimension { name: "warmup", choices: &["none", "some"] },
        Dimension { name: "drain", choices: &["none", "measured", "empty"] },
        Dimension { name: "steady", choices: &["no", "loose", "tight"] },
    ],
    rules: &[],
    write,
};

fn write(build: &mut Build) {
    let (drain, steady) = (build.choice("drain"), build.choice("steady"));
    let has_manager = !build.is("manager", "none");
    let loses =
        build.is("errors", "lose") || build.is("switch-errors", "some") || build.is("lifetime", "short");
    let is_repaired = loses && !build.is("transport", "none");
    let warmup = build.is("warmup", "some");
    let Build { draw, draft, .. } = build;
    draft.section("[run]");
    let duration = draw.range(4, 8);
    draft.text("duration", format!("{duration} us"));
    if warmup {
        draft.text("warmup", format!("{} ns", draw.range(100, 2000)));
    }
    // Congestion control may be slow for long after losses that a transport repairs: such runs do not empty.
    let drain = if is_repaired && drain == "empty" { "measured" } else { drain };
    draft.text("drain", drain);
    // Without a draw of its own, so that the other keys stay as they were.
    if drain == "none" && !warmup {
        draft.key("threads", 2);
    }
    match drain {
        // A run that does not empty by then is at fault.
        // Its sweeps take long to simulate.
        "empty" if has_manager => draft.text("drain_limit", "50 ms"),
        "empty" => draft.text("drain_limit", "1 s"),
        "measured" => draft.text("drain_limit", "20 us"),
        _ => {}
    }
    match steady {
        "loose" => {
            let of =
                ["latency_ns.mean", "latency_ns.p50", "latency_ns.p99", "latency_ns.p999", "accepted_gbps"];
            let (one, other) = (draw.range(0, 2) as usize, draw.range(3, 4) as usize);
            draft.key(
                "steady_state",
                format!("{{ precision = 0.2, confidence = 0.9, of = [{:?}, {:?}] }}", of[one], of[other]),
            );
        }
        "tight" => {
            draft.key(
                "steady_state",
                format!("{{ precision = 0.001, batch = \"{} ns\" }}", draw.range(100, 400)),
            );
        }
        _ => {}
    }
}
