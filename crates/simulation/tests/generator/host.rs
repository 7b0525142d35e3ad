//! Hosts: packets, sinks, responses owed.

use super::draw::Draw;
use super::space::Then::{Idle, Refused};
use super::space::When::{Is, IsNot};
use super::space::{Dimension, Part, Rule};
use super::{Build, switch};

pub const PART: Part = Part {
    dimensions: &[
        Dimension { name: "open_messages", choices: &["one", "several"] },
        Dimension { name: "sink", choices: &["fast", "rate", "pauses", "rate-and-pauses"] },
        Dimension { name: "response_queue", choices: &["unlimited", "short"] },
        Dimension { name: "vl_arbitration_of_hosts", choices: &["none", "tables"] },
        Dimension {
            name: "adapter",
            choices: &["connectx3-fdr", "connectx4-edr", "connectx6-hdr", "connectx7-ndr"],
        },
        Dimension { name: "mpi", choices: &["get", "put", "pipeline", "send"] },
    ],
    rules: &[
        Rule {
            when: &[Is("response_queue", &["short"]), IsNot("sink", &["fast"])],
            then: Refused("with `host.sink` the sink alone decides"),
        },
        Rule { when: &[Is("response_queue", &["short"]), Is("response", &["none"])], then: Idle },
        // A ladder of hops may get more lanes later, which the tables lack.
        Rule {
            when: &[Is("vl_arbitration_of_hosts", &["tables"]), Is("lane_policy", &["hops"])],
            then: Idle,
        },
    ],
    write,
};

/// Flow-control unit and MTU.
pub fn sizes(draw: &mut Draw) -> (u32, u32) {
    (draw.pick(&[1, 8, 16, 64, 100, 512]), draw.pick(&[64, 100, 256, 500, 1024, 2048]))
}

fn write(build: &mut Build) {
    let (sink, several) = (build.choice("sink"), build.is("open_messages", "several"));
    let short = build.is("response_queue", "short");
    let Build { draw, draft, mtu, .. } = build;
    draft.section("[host]");
    draft.text("mtu", format!("{mtu} B"));
    draft.key("open_messages", if several { draw.range(2, 4) } else { 1 });
    if short {
        draft.key("response_queue", draw.range(1, 3));
    }
    if sink != "fast" {
        write_sink(build, sink);
    }
    if !build.is("job", "none") {
        let latency = build.mtu;
        build.draft.section("[host.local]");
        build.draft.text("rate", "100 Gb/s");
        build.draft.text("latency", format!("{latency} ps"));
    }
    write_adapter(build);
    write_mpi(build);
    if build.is("vl_arbitration_of_hosts", "tables") {
        switch::vl_arbitration(build, "[host.vl_arbitration]");
    }
}

/// Nothing uses verbs here: it changes nothing.
fn write_adapter(build: &mut Build) {
    let profile = build.choice("adapter");
    let Build { draw, draft, .. } = build;
    draft.section("[adapter]");
    draft.text("profile", profile);
    let rule = match profile {
        "connectx6-hdr" => Some("hold"),
        "connectx7-ndr" => Some("place"),
        _ => None,
    };
    if let Some(rule) = rule {
        draft.text("out_of_order", rule);
        draft.key("reorder_packets", 16);
    }
    if draw.chance(1, 2) {
        return;
    }
    for key in [
        "post",
        "post_receive",
        "poll",
        "request_fetch",
        "payload_fetch",
        "message_gap",
        "packet_gap",
        "receive",
        "wake_up",
    ] {
        draft.text(key, draw.time());
    }
    for key in ["doorbell", "payload_write", "completion"] {
        draft.text(key, "7 ns");
    }
    draft.key("unaligned_blocks", draw.range(1, 8));
    draft.text("max_inline", "64 B");
    let reads = if draw.chance(1, 2) { ", reads = 8, read_request = \"256 B\"" } else { "" };
    draft.key("pcie", format!("{{ generation = 4, lanes = 8, payload = \"128 B\"{reads} }}"));
    if draw.chance(1, 2) {
        draft.key("translation_cache", "{ entries = 64, page = \"64 KiB\", miss = \"100 ns\" }");
    }
}

/// No rank programs run here: it changes nothing.
fn write_mpi(build: &mut Build) {
    let rendezvous = build.choice("mpi");
    let Build { draw, draft, .. } = build;
    draft.section("[mpi]");
    draft.text("rendezvous", rendezvous);
    if draw.chance(1, 2) {
        return;
    }
    for key in [
        "call",
        "wait",
        "matching",
        "connect",
        "registration",
        "registration_page",
        "registration_lookup",
        "shared_latency",
    ] {
        draft.text(key, draw.time());
    }
    for key in ["eager_limit", "max_send_size", "pipeline_fragment"] {
        draft.text(key, "4 KiB");
    }
    for key in ["min_pipeline_size", "pipeline_send_length", "max_inline", "shared_eager_limit"] {
        draft.text(key, "1 KiB");
    }
    draft.text("copy_rate", draw.rate());
    draft.key("noise.spread", "0.25");
    draft.key("noise.interruption_probability", "0.5");
    for key in ["noise.arrival", "noise.interruption"] {
        draft.text(key, draw.time());
    }
    for (key, time) in
        [("tick_period", "1 ms"), ("tick", "10 us"), ("pause_period", "1 s"), ("pause", "1 ms")]
    {
        draft.text(&format!("noise.{key}"), time);
    }
    draft.text("receive_queues", "P,128,8,4,2,3:S,4096,16,8,4");
    draft.text("min_rnr_timer", "20 us");
    for key in ["eager_rdma", "registration_cache"] {
        draft.key(key, draw.chance(1, 2));
    }
    for key in ["eager_rdma_threshold", "eager_rdma_peers", "eager_rdma_buffers", "reads", "timeout"] {
        draft.key(key, draw.range(1, 16));
    }
}

fn write_sink(build: &mut Build, sink: &str) {
    let Build { draw, draft, .. } = build;
    draft.section("[host.sink]");
    if sink != "pauses" {
        draft.text("rate", draw.rate());
    }
    if sink != "rate" {
        draft.text("pause_every", format!("{} ns", draw.range(100, 400)));
        draft.text("pause_for", draw.time());
    }
}
