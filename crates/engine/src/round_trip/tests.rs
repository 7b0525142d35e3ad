use super::*;
use crate::testing::prepare;

/// Four hosts at a switch; a byte takes a nanosecond. There and back a packet of 100 B, and its answer counted as large, take the latencies of
/// both links, the delay of the switch, and 100 ns, twice: the longest are those between the two hosts with the longest links.
#[test]
fn the_round_trip_is_that_of_the_hosts_furthest_apart() {
    let text = r#"
[topology.single-switch]
hosts = 4
[links.all]
rate = "8 Gb/s"
latency = "10 ns"
[switch]
router_delay = "7 ns"
[host]
mtu = "100 B"
[run]
duration = "1 ms"
"#;
    for one in 0..4 {
        for other in 0..one {
            let far = format!(
                "{text}[links.named.\"H{one}-S0\"]\nlatency = \"1000 ns\"\n[links.named.\"H{other}-S0\"]\nlatency = \"300 ns\"\n"
            );
            let prepared = prepare(&far, &[]);
            let found = round_trip(&prepared.experiment, &prepared.graph, &prepared.router);
            assert_eq!(found, Time::ns(2 * (1000 + 300 + 7 + 100)), "H{one} and H{other}");
        }
    }
}
