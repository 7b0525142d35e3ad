//! Headers of captured packets that say what a subnet's management gave them: LID, service level, P_Key.

use std::collections::BTreeSet;

use crate::common::prepare;
use fabricsim_simulation::{CapturePlan, Capturing, Control, simulate_captured};
use fabricsim_spec::Capture;
use fabricsim_units::Time;
use fabricsim_wire::dissect::dissect;
use serde_json::Value;

/// H0 sends to H5 in a partition, H1 in the default one; four LIDs each, by dfsssp.
const TREE: &str = r#"
topology.fat-tree = { arity = 2, levels = 3 }
[links.all]
rate = "64 Gb/s"
latency = "5 ns"
buffer = "4 KiB"
[switch]
virtual_lanes = 4
[host]
mtu = "512 B"
[routing]
algorithm = "opensm"
engine = "dfsssp"
lmc = 2
paths = "in-turn"
[[partitions]]
name = "storage"
key = 5
members = ["H0"]
limited = ["H4", "H5"]
[[traffic]]
sources = ["H0", "H4"]
pattern = { to = "H5" }
load = 0.1
message = "500 B"
partition = "storage"
[[traffic]]
sources = ["H1"]
pattern = { to = "H5" }
load = 0.1
message = "500 B"
[run]
duration = "20 us"
"#;

/// Values of a field of the packets that the links of `pattern` carry.
fn values(pattern: &str, set: &[(&str, &str)], field: &str) -> BTreeSet<u64> {
    let prepared = prepare(TREE, set);
    let links = vec![pattern.to_owned()];
    let capture =
        Capture { links, file: "f.pcapng".to_owned(), from: Time::ZERO, to: None, packets: 100_000 };
    let plan = CapturePlan::new(&capture, &prepared, "test.toml").unwrap();
    let mut file = Vec::new();
    simulate_captured(&prepared, &Control::default(), &plan, &mut file, Capturing::WholeRun).unwrap();
    let records = dissect(&file, "f").unwrap();
    assert!(records.len() > 10, "{pattern}");
    let of = |record| serde_json::to_value(record).unwrap().pointer(field).and_then(Value::as_u64).unwrap();
    records.iter().map(of).collect()
}

#[test]
fn packets_carry_the_lid_that_was_chosen() {
    let lids = values("H0->*", &[], "/lrh/dlid");
    let first = *lids.first().unwrap();
    assert_eq!(lids, (first..first + 4).collect());
    assert_eq!(first % 4, 0);
    let one = values("H0->*", &[("routing.paths", "\"first\"")], "/lrh/dlid");
    assert_eq!(one, BTreeSet::from([first]));
}

#[test]
fn packets_carry_the_key_of_their_partition() {
    for (link, key) in [("H0->*", 0x8005), ("H4->*", 5), ("H1->*", 0xffff)] {
        assert_eq!(values(link, &[], "/bth/p_key"), BTreeSet::from([key]), "{link}");
    }
}

/// A packet for a multicast group is a datagram to the group's LID and GID, and to all queue pairs of its receivers.
#[test]
fn packets_for_a_group_are_datagrams() {
    let group = (
        "multicast_groups",
        r#"[{ name = "one", members = ["H2"] }, { name = "two", members = ["H6", "H7"] }]"#,
    );
    let traffic = (
        "traffic",
        r#"[{ sources = ["H0"], pattern = { multicast = "two" }, load = 0.1, message = "900 B" }]"#,
    );
    let field = |link: &str, field: &str| values(link, &[group, traffic], field);
    for link in ["H0->*", "*->H6", "*->H7"] {
        assert_eq!(field(link, "/lrh/dlid"), BTreeSet::from([0xc001]), "{link}");
        assert_eq!(field(link, "/bth/opcode"), BTreeSet::from([0x64]), "{link}");
        assert_eq!(field(link, "/bth/dest_qp"), BTreeSet::from([0xff_ffff]), "{link}");
        assert_eq!(field(link, "/grh/hop_limit"), BTreeSet::from([1]), "{link}");
        assert_eq!(field(link, "/lrh/slid").len(), 1, "{link}");
    }
}
