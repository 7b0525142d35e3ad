//! A second job: a sequence, a training step, or an operation that has no dimension of its own. It is no dimension, and the last
//! part, so that the other sections are the same without it.

use super::space::Part;
use super::{Build, Draw};

pub const PART: Part = Part { dimensions: &[], rules: &[], write };

/// Ranks by dimension, and those of an expert group.
struct Shape {
    tensor: u32,
    pipeline: u32,
    data: u32,
    expert: u32,
}

impl Shape {
    fn ranks(&self) -> u32 {
        self.tensor * self.pipeline * self.data
    }

    fn draw(draw: &mut Draw, hosts: u32) -> Self {
        let (tensor, pipeline, data) = (draw.pick(&[1, 2, 3]), draw.pick(&[1, 2, 3]), draw.pick(&[1, 2, 4]));
        let expert = if data == 1 { 1 } else { draw.pick(&[1, 2]) };
        let shape = Self { tensor, pipeline, data, expert };
        if (2..=hosts).contains(&shape.ranks()) {
            shape
        } else {
            Self { tensor: 1, pipeline: 1, data: 2, expert: 2 }
        }
    }

    /// A group and its size; of one stage if there are several, unless they do the same in order.
    fn group(&self, draw: &mut Draw, in_order: bool) -> (&'static str, u32) {
        let Self { tensor, pipeline, data, expert } = *self;
        let mut groups =
            vec![("tensor", tensor), ("data", data), ("expert", expert), ("expert-data", data / expert)];
        if in_order {
            groups.extend([("all", self.ranks()), ("pipeline", pipeline)]);
        }
        draw.pick(&groups)
    }
}

fn operation(draw: &mut Draw, p: u32, mtu: u32) -> String {
    let message = format!("message = \"{} B\"", draw.range(8, 3 * mtu));
    let kind = draw.pick(&[
        "all-to-all",
        "all-reduce",
        "all-gather",
        "broadcast",
        "barrier",
        "fft",
        "neighbour-exchange",
        "all-to-all-v",
        "shift",
    ]);
    let keys = match kind {
        "fft" => format!("elements = {}", p * p * draw.range(1, 3)),
        "neighbour-exchange" => format!("{message}, grid = [{p}]"),
        "all-to-all-v" => {
            let (hot, back, drawn) = (draw.below(p as usize), draw.chance(1, 2), draw.pick(&["1.0", "1.75"]));
            let imbalance = if p > 1 { drawn } else { "1.0" };
            format!("{message}, imbalance = {imbalance}, hot = {hot}, back = {back}")
        }
        "shift" => format!("{message}, by = {}", draw.range(1, 5)),
        _ => message,
    };
    format!("{{ {kind} = {{ {keys} }} }}")
}

fn phases(draw: &mut Draw, shape: &Shape, in_order: bool, mtu: u32) -> String {
    let one = |draw: &mut Draw| {
        let (group, p) = shape.group(draw, in_order);
        let operation = operation(draw, p, mtu);
        let is_divided = !operation.contains("barrier") && !operation.contains("fft");
        let buckets = if is_divided { draw.range(1, 3) } else { 1 };
        let (compute, repeat, overlap) = (draw.time(), draw.range(1, 2), draw.chance(1, 3));
        let text =
            format!("compute = \"{compute}\", buckets = {buckets}, repeat = {repeat}, overlap = {overlap}");
        format!("{{ {text}, group = \"{group}\", operation = {operation} }}")
    };
    let count = draw.range(1, 2);
    let all: Vec<String> = (0..count).map(|_| one(draw)).collect();
    format!("[{}]", all.join(", "))
}

fn write(build: &mut Build) {
    if !build.draw.chance(1, 4) {
        return;
    }
    let (mtu, is_second) = (build.mtu, !build.is("job", "none"));
    let hosts = build.graph.hosts.len() as u32;
    let Build { draw, draft, .. } = build;
    let shape = Shape::draw(draw, hosts);
    draft.section("[[jobs]]");
    draft.text("name", "step");
    draft.key("ranks", shape.ranks());
    if is_second && draw.chance(1, 2) {
        draft.text("after", "job");
    }
    draft.key("iterations", draw.range(1, 2));
    let Shape { tensor, pipeline, expert, .. } = shape;
    match draw.below(4) {
        0 => {
            let size = draw.range(1, 3 * mtu);
            let plain = draw.pick(&["all-to-all-v", "shift"]);
            draft.section(&format!("[jobs.program.{plain}]"));
            draft.text("message", format!("{size} B"));
        }
        1 => {
            draft.section("[jobs.program.training]");
            draft.key("parameters", draw.range(2000, 20_000));
            draft.key("layers", 2 * pipeline);
            draft.key("hidden", draw.range(1, 16));
            draft.key("tokens", draw.range(1, 16));
            draft.key("flops", "1e12");
            draft.key("micro_batches", draw.range(1, 3));
            for (key, ranks) in [("tensor", tensor), ("pipeline", pipeline)] {
                draft.key(key, ranks);
            }
            draft.key("bytes_per_value", draw.range(1, 4));
            draft.key("buckets", draw.range(1, 2));
            if draw.chance(1, 2) {
                draft.key("expert", expert);
                let imbalance = if expert > 1 { "1.5" } else { "1.0" };
                draft.key(
                    "experts",
                    format!("{{ count = 4, parameters = 1000, per_token = 2, imbalance = {imbalance} }}"),
                );
            }
        }
        _ => {
            draft.section("[jobs.program.sequence]");
            for (key, ranks) in [("tensor", tensor), ("pipeline", pipeline), ("expert", expert)] {
                draft.key(key, ranks);
            }
            // A pair of ranks sends in any case.
            let (batched, barrier) = (draw.chance(2, 3), "{ operation = { barrier = {} } }");
            let last = phases(draw, &shape, true, mtu);
            draft.key("phases", format!("{}, {barrier}]", last.trim_end_matches(']')));
            if batched {
                draft.section("[jobs.program.sequence.micro_batches]");
                draft.key("count", draw.range(1, 4));
                draft.text("message", format!("{} B", draw.range(1, 2 * mtu)));
                for key in ["forward", "backward", "last_backward"] {
                    draft.key(key, phases(draw, &shape, pipeline == 1, mtu));
                }
            }
        }
    }
}
