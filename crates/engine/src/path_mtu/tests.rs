use fabricsim_units::{HostId, Time};

use super::*;
use crate::testing::{Log, prepare};

/// Three hosts at a switch; the link of the last carries packets of up to 302 bytes.
const FABRIC: &str = r#"
[topology.single-switch]
hosts = 3
[links.all]
rate = "8 Gb/s"
latency = "50 ns"
buffer = "8 KiB"
[links.named."H2-S0"]
mtu = "302 B"
[host]
mtu = "1070 B"
[[traffic]]
pattern = "uniform"
injection = "saturating"
message = "5000 B"
messages = 4
[run]
duration = "1 s"
"#;

/// Messages are cut at the smallest MTU of their path; a queue pair takes the largest path MTU that fits, payload without headers: 1024 B, or 256.
#[test]
fn messages_are_cut_at_the_mtu_of_their_path() {
    for (overrides, [large, small]) in [
        (&[][..], [1070, 302]),
        (&[("transport.mode", "ordered")], [1070, 302]),
        (&[("queue_pairs", "{}")], [1024, 256]),
    ] {
        let mut engine = prepare(FABRIC, overrides).engine(Log::default);
        engine.advance(Time::ms(2), &mut |_, _| true);
        let sent: Vec<_> = engine.observers().flat_map(|log| log.sent.clone()).collect();
        let last = HostId(2);
        for is_small in [false, true] {
            let on_path = sent.iter().filter(|of| (of.source == last || of.destination == last) == is_small);
            let most = on_path.map(|packet| packet.bytes).max().unwrap();
            assert_eq!(most, if is_small { small } else { large }, "{overrides:?}");
        }
    }
}

/// Each entry becomes the less of the two directions; the way of a host to itself stays.
#[test]
fn connections_have_the_less_of_both_directions() {
    let mut mtus = vec![vec![1, 20, 300], vec![200, 2, 400], vec![30, 4000, 3]];
    take_less_of_both_directions(&mut mtus);
    assert_eq!(mtus, [[1, 20, 30], [20, 2, 400], [30, 400, 3]]);
}
