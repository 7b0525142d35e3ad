use std::path::Path;

use super::*;
use crate::testing::prepare;

/// Two hosts at a switch; a byte takes a nanosecond.
const FABRIC: &str = r#"
[topology.single-switch]
hosts = 2
[links.all]
rate = "8 Gb/s"
latency = "100 ns"
buffer = "16 KiB"
[switch]
flow_control = "pause"
flow_control_unit = "1 B"
router_delay = "30 ns"
credit_delay = "7 ns"
[host]
mtu = "1000 B"
[run]
duration = "1 us"
"#;

fn headroom(overrides: &[(&str, &str)], receiver: Node) -> u64 {
    let prepared = prepare(FABRIC, overrides);
    let link = &prepared.graph.links[0].parameters;
    Buffer { experiment: &prepared.experiment, link, receiver }.headroom()
}

/// By hand: there and back 200 ns, router 30, a packet before the frame 1000, the frame 84, its processing 7, and the packet that the other end has
/// begun, 1000 B; a byte for the picosecond after which the frame is sent, and a block.
#[test]
fn headroom_is_what_arrives_until_the_other_end_has_stopped() {
    let switch = Node::Switch(fabricsim_units::SwitchId(0));
    assert_eq!(headroom(&[], switch), 200 + 30 + 1000 + 84 + 7 + 1000 + 1 + 1);
    let host = Node::Host(fabricsim_units::HostId(0));
    assert_eq!(headroom(&[], host), headroom(&[], switch) - 30, "no router");
    let stored = [("switch.switching", "'store-and-forward'")];
    assert_eq!(
        headroom(&stored, switch),
        headroom(&[], switch) + 1000,
        "a packet counts as its last byte is here"
    );
    // Packets of 65 bytes take two blocks of 64.
    let blocks = headroom(&[("switch.flow_control_unit", "'64 B'")], switch);
    assert_eq!(blocks, (2322_u64 * 127 / 64).div_ceil(64) + 1);
}

#[test]
fn thresholds_are_what_headroom_leaves_or_those_given() {
    let thresholds = |overrides: &[(&str, &str)]| {
        let prepared = prepare(FABRIC, overrides);
        let link = &prepared.graph.links[0].parameters;
        let found = super::thresholds(&prepared.experiment, link, Node::Switch(fabricsim_units::SwitchId(0)));
        (found.capacity, found.xoff, found.xon, pause_warning(&prepared))
    };
    let xoff = 16384 - 2323;
    assert_eq!(thresholds(&[]), (16384, xoff, xoff - 2000, None));
    let given = [("switch.pause.xoff", "'9000 B'"), ("switch.pause.xon", "'0 B'")];
    assert_eq!(thresholds(&given), (16384, 9000, 0, None));
    let (_, xoff, xon, warning) = thresholds(&[("switch.pause.xoff", "'15 KiB'")]);
    assert_eq!((xoff, xon), (15360, 13360));
    let warning = warning.unwrap();
    for part in ["packets may be lost", "switch.pause.xoff", "1024 B of headroom", "pauses need 2323 B"] {
        assert!(warning.contains(part), "{part}: {warning}");
    }
}

#[test]
fn buffers_that_pauses_cannot_control_are_refused() {
    let refused = |overrides: &[(&str, &str)]| {
        let overrides: Vec<_> =
            overrides.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        let experiment = fabricsim_spec::read(FABRIC, "test.toml", &overrides).unwrap();
        Prepared::new(experiment, Path::new("."), "test.toml").unwrap_err().to_string()
    };
    let small = refused(&[("links.all.buffer", "'3 KiB'")]);
    for part in [
        "switch.flow_control: the buffer of H0-S0 has 3072 B",
        "3072 B of headroom and a packet, 4096 B in all",
    ] {
        assert!(small.contains(part), "{part}: {small}");
    }
    assert!(refused(&[("switch.pause.xoff", "'16 KiB'")]).contains("switch.pause.xoff: leaves no headroom"));
    assert!(refused(&[("switch.pause.xon", "'15 KiB'")]).contains("switch.pause.xon: is more than XOFF"));
    let sink = ("host.sink.rate", "'1 Gb/s'");
    let little = refused(&[("switch.pause.xoff", "'15 KiB'"), sink]);
    assert!(little.contains("leaves 1024 B of headroom") && little.contains("`host.sink`"), "{little}");
    prepare(FABRIC, &[sink]);
}

/// The table of the guide: 100 Gb/s and 100 ns with packets of 1024 B; 500 ns with 4096 B; the same at 400 Gb/s. A router takes 300 ns.
#[test]
fn headroom_of_common_links() {
    let of = |rate: &str, latency: &str, mtu: &str| {
        let overrides = [
            ("links.all.rate", rate),
            ("links.all.latency", latency),
            ("links.all.buffer", "'1 MiB'"),
            ("host.mtu", mtu),
            ("switch.flow_control_unit", "'64 B'"),
            ("switch.router_delay", "'300 ns'"),
            ("switch.credit_delay", "'0 ns'"),
        ];
        let blocks = headroom(&overrides, Node::Switch(fabricsim_units::SwitchId(0)));
        (blocks as f64 / 1.6).round() / 10.0
    };
    assert_eq!(of("'100 Gb/s'", "'100 ns'", "'1024 B'"), 16.3);
    assert_eq!(of("'100 Gb/s'", "'500 ns'", "'4096 B'"), 47.6);
    assert_eq!(of("'400 Gb/s'", "'500 ns'", "'4096 B'"), 142.1);
}
