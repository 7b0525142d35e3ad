//! Parallel programs.

use super::Build;
use super::space::Then::Idle;
use super::space::When::{Is, IsNot};
use super::space::{Dimension, Part, Rule};

pub const PART: Part = Part {
    dimensions: &[
        Dimension {
            name: "job",
            choices: &[
                "none",
                "all-to-all",
                "all-reduce",
                "all-gather",
                "broadcast",
                "barrier",
                "fft",
                "neighbour-exchange",
            ],
        },
        Dimension { name: "placement", choices: &["linear", "random", "strided"] },
        Dimension { name: "iterations", choices: &["one", "several"] },
    ],
    rules: &[
        Rule { when: &[Is("job", &["none"]), IsNot("placement", &["linear"])], then: Idle },
        Rule { when: &[Is("job", &["none"]), IsNot("iterations", &["one"])], then: Idle },
    ],
    write,
};

fn write(build: &mut Build) {
    let (program, placement) = (build.choice("job"), build.choice("placement"));
    let (several, last_class, mtu) = (build.is("iterations", "several"), build.classes() - 1, build.mtu);
    if program == "none" {
        return;
    }
    let hosts = build.graph.hosts.len() as u32;
    let Build { draw, draft, .. } = build;
    let ranks = if draw.chance(1, 2) { hosts } else { draw.range(2, hosts) };
    draft.section("[[jobs]]");
    draft.text("name", "job");
    draft.key("hosts", "[\"*\"]");
    draft.key("ranks", ranks);
    draft.key("ranks_per_host", 1 + ranks % 3);
    match placement {
        "strided" => draft.key("placement", format!("{{ strided = {} }}", draw.range(1, 3))),
        plain => draft.text("placement", plain),
    }
    draft.key("iterations", if several { draw.range(2, 4) } else { 1 });
    draft.text("start", draw.time());
    draft.key("service_class", draw.pick(&[0, last_class]));
    draft.text("step_delay", draw.time());
    let size = draw.range(1, 3 * mtu);
    let exchange = draw.pick(&["pairwise", "ring", "bruck"]);
    if program == "all-to-all" && exchange == "pairwise" {
        draft.key("outstanding", draw.range(1, 3));
    }
    draft.section(&format!("[jobs.program.{program}]"));
    match program {
        "fft" => {
            draft.key("elements", ranks * ranks * draw.range(1, 3));
            draft.text("element_size", "16 B");
            draft.text("algorithm", exchange);
            return draft.text("compute", draw.time());
        }
        "all-to-all" => draft.text("algorithm", exchange),
        "all-reduce" => draft.text("algorithm", draw.pick(&["recursive-doubling", "ring", "rabenseifner"])),
        "all-gather" => draft.text("algorithm", draw.pick(&["ring", "bruck"])),
        "broadcast" => draft.key("root", draw.below(ranks as usize)),
        "neighbour-exchange" => {
            let rows = (1..=ranks).rev().find(|rows| ranks % rows == 0 && rows * rows <= ranks).unwrap_or(1);
            draft.key("grid", format!("[{}, {rows}]", ranks / rows));
            draft.key("periodic", draw.chance(1, 2));
            draft.text("compute", draw.time());
        }
        _ => {}
    }
    draft.text("message", format!("{size} B"));
}
