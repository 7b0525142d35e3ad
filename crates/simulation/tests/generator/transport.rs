//! Ordering protocols, losses, and scarcity at targets.

use super::Build;
use super::space::Then::{Idle, Refused};
use super::space::When::{Is, IsNot};
use super::space::{Dimension, Part, Rule};

/// Modes whose connections keep results.
const EXACT: &[&str] = &["ordered", "source-ordered", "synchronized", "source-synchronized"];

/// Reliable connections of InfiniBand.
pub const QUEUE_PAIRS: &[&str] = &["queue-pairs-write", "queue-pairs-send"];

pub const PART: Part = Part {
    dimensions: &[
        Dimension {
            name: "transport",
            choices: &[
                "none",
                "unordered",
                "source-ordered",
                "ordered",
                "source-synchronized",
                "synchronized",
                "go-back-n",
                "selective",
                "selective-ordered",
                "queue-pairs-write",
                "queue-pairs-send",
            ],
        },
        Dimension { name: "loss", choices: &["none", "some"] },
        // One to four packets outstanding, with few bits of sequence number.
        Dimension { name: "window", choices: &["wide", "narrow"] },
        // Connections, reorder buffer and replay buffers of a target.
        Dimension { name: "target", choices: &["ample", "scarce"] },
        Dimension { name: "exactly_once", choices: &["no", "yes"] },
    ],
    rules: &[
        Rule {
            when: &[Is("transport", &["none"]), Is("loss", &["some"])],
            then: Refused("no host retransmits lost packets"),
        },
        Rule { when: &[Is("transport", &["none"]), Is("window", &["narrow"])], then: Idle },
        Rule { when: &[Is("transport", &["none"]), Is("target", &["scarce"])], then: Idle },
        Rule {
            when: &[Is("exactly_once", &["yes"]), IsNot("transport", EXACT)],
            then: Refused(
                "is for the modes `ordered`, `source-ordered`, `synchronized` and `source-synchronized`",
            ),
        },
        Rule {
            when: &[IsNot("exchanges", &["none"]), Is("transport", QUEUE_PAIRS)],
            then: Refused("no exchanges occur: choose another mode"),
        },
        Rule { when: &[Is("target", &["scarce"]), Is("transport", &["queue-pairs-write"])], then: Idle },
        Rule {
            when: &[Is("draw_per", &["packet"]), IsNot("transport", &["none"])],
            // Of a stream, or with queue pairs of a message.
            then: Refused("go to one host"),
        },
    ],
    write,
};

fn write(build: &mut Build) {
    if QUEUE_PAIRS.contains(&build.choice("transport")) {
        return write_queue_pairs(build);
    }
    let (mode, loss) = (build.choice("transport"), build.is("loss", "some"));
    let (narrow, scarce) = (build.is("window", "narrow"), build.is("target", "scarce"));
    let (exact, last_class, mtu) = (build.is("exactly_once", "yes"), build.classes() - 1, build.mtu);
    let has_priority = build.is("priority", "last");
    let hosts = build.graph.hosts.len();
    let Build { draw, draft, .. } = build;
    draft.section("[transport]");
    draft.text("mode", mode);
    draft.key("exactly_once", exact);
    if loss {
        draft.key("loss", draw.pick(&["0.01", "0.05", "0.2"]));
    }
    if mode == "none" {
        return;
    }
    let (bits, outstanding) = if narrow {
        draw.pick(&[(16, 1), (16, 2), (16, 3), (3, 4), (4, 8), (3, 1)])
    } else {
        (16, draw.range(32, 128))
    };
    draft.key("sequence_bits", bits);
    draft.key("outstanding", outstanding);
    draft.key("fast_from", draw.range(1, outstanding.min(3)));
    draft.text("answer", format!("{} B", draw.range(1, mtu.min(64))));
    // Copies that go before their acknowledgements keep these from arriving, and so go on for ever.
    let class = draw.pick(&[0, last_class]);
    draft.key("service_class", if has_priority { last_class } else { class });
    draft.text("memory_delay", draw.time());
    if scarce {
        draft.key("cid_bits", 4);
        draft.key("streams", draw.range(1, 4));
        draft.key("connections", draw.range(1, 6));
    }
    draft.key("speculative", draw.chance(1, 2));
    draft.text("start_offset", draw.pick(&["never", "until-first-ack", "always"]));
    draft.text("no_connection", draw.pick(&["continue", "halt"]));
    draft.text("recovery", draw.pick(&["one-at-a-time", "burst"]));
    draft.text("resend", draw.pick(&["oldest", "progress"]));
    draft.text("timed_out", draw.pick(&["each", "oldest"]));
    draft.text("close", draw.pick(&["idle", "end"]));
    // Longer than a packet can be in these networks: with less, copies fill the network and every one of them is late.
    draft.text("timeout", format!("{} us", draw.pick(&[40, 50]) * hosts.div_ceil(8)));
    // Many senders wait for few connections of a target, each of which lasts as long as this.
    let lifetimes = if scarce && hosts > 16 { ["50 us", "100 us"] } else { ["1 ms", "2 ms"] };
    draft.text("lifetime", draw.pick(&lifetimes));
    if scarce {
        let packets = draw.range(1, 4);
        draft.section("[transport.target]");
        draft.key("connections", draw.range(1, 3));
        draft.key("reorder_buffer", packets);
        draft.key("reorder_ring", draw.pick(&[4, 8, 16]));
        draft.key("reorder_cache", draw.range(0, packets));
        draft.key("replay_buffers", draw.range(1, 8));
    }
}

fn write_queue_pairs(build: &mut Build) {
    let sends = build.is("transport", "queue-pairs-send");
    let (narrow, scarce) = (build.is("window", "narrow"), build.is("target", "scarce"));
    let (loss, mtu, exact) = (build.is("loss", "some"), build.mtu, build.is("exactly_once", "yes"));
    let hosts = build.graph.hosts.len();
    let Build { draw, draft, .. } = build;
    draft.section("[transport]");
    draft.key("exactly_once", exact);
    draft.section("[queue_pairs]");
    draft.text("verb", if sends { "send" } else { "write" });
    if mtu >= LEAST_MTU + 256 && draw.chance(1, 2) {
        draft.text("path_mtu", "512 B");
    }
    draft.key("per_pair", draw.range(1, 3));
    let modes: &[&str] = if sends { &["drop", "hold"] } else { &["drop", "hold", "place"] };
    draft.text("out_of_order", draw.pick(modes));
    draft.key("reorder_packets", if narrow { draw.range(2, 6) } else { 128 });
    draft.key("ack_every", if narrow { draw.range(1, 3) } else { 0 });
    // Longer than a packet can be in these networks: with less, copies fill the network.
    let timeout = draw.pick(&[4, 5]) + u32::from(hosts > 8) + u32::from(hosts > 16);
    draft.key("timeout", timeout);
    draft.key("retry_count", 7);
    draft.key("rnr_retry", 7);
    if loss {
        draft.key("loss", draw.pick(&["0.01", "0.05"]));
    }
    if scarce && sends {
        draft.key("receives", draw.range(1, 3));
        draft.text("receive_delay", draw.time());
        draft.text("min_rnr_timer", "10 us");
    }
}

/// Least MTU of hosts with queue pairs: 256 bytes and headers.
pub const LEAST_MTU: u32 = 302;
