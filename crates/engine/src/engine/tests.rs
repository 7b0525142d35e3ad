use std::path::Path;

use fabricsim_model::NullObserver;

use super::*;
use crate::Prepared;

/// Two switches in a partition each, hosts that saturate both directions of the link between them, and admission control.
const TWO: &str = r#"
[topology.mesh]
dimensions = [2]
hosts_per_switch = 2
[links.all]
rate = "8 Gb/s"
latency = "50 ns"
buffer = "512 B"
[switch]
virtual_lanes = 2
[host]
mtu = "128 B"
[[traffic]]
pattern = "uniform"
injection = "saturating"
message = "256 B"
[[traffic]]
pattern = "uniform"
injection = "window"
window = 2
message = "128 B"
response = { message = "256 B" }
[run]
duration = "1 s"
partitions = 2
"#;

/// Sources are drained when all messages, and all responses, which take a while here, have been sent.
#[test]
fn sources_are_drained_when_all_is_sent() {
    let text = TWO.replace("pattern = ", "messages = 2\npattern = ");
    let overrides = [("traffic.1.response.delay".to_owned(), "100 us".to_owned())];
    let experiment = fabricsim_spec::read(&text, "two.toml", &overrides).unwrap();
    let prepared = Prepared::new(experiment, Path::new("."), "two.toml").unwrap();
    let mut engine = prepared.engine(|| NullObserver);
    // All requests have arrived after some us; the responses to them are sent 100 us later.
    for (us, drained) in [(1, false), (50, false), (150, true)] {
        engine.advance(Time::us(us), &mut |_, _| true);
        assert_eq!(engine.sources_drained(), drained, "at {us} us: {:?}", engine.totals());
    }
    let totals = engine.totals();
    assert_eq!((totals.in_flight, totals.injected), (0, totals.delivered));
}

/// A block that is lost, or is there twice, is found at every sending port and lane, with the port's number.
#[test]
fn credits_that_do_not_add_up_are_found() {
    let experiment = fabricsim_spec::read(TWO, "two.toml", &[]).unwrap();
    let prepared = Prepared::new(experiment, Path::new("."), "two.toml").unwrap();
    let mut engine = prepared.engine(|| NullObserver);
    engine.advance(Time::us(20), &mut |_, _| true);
    assert!(engine.totals().in_flight > 10);
    assert_eq!(engine.check_credits(), Ok(()));
    let (mut lost, mut twice) = (0, 0);
    for number in 0..engine.partitions.len() {
        for place in 0..engine.partitions[number].context.ports.lanes.len() {
            let ports = &mut engine.partitions[number].context.ports;
            let (port, lane) = (place / ports.lane_count, place % ports.lane_count);
            let (channel, free) = (ports.senders[port].channel, ports.lanes[place].free);
            for wrong in [free.checked_sub(1), Some(free + 1)].into_iter().flatten() {
                engine.partitions[number].context.ports.lanes[place].free = wrong;
                let error = engine.check_credits().expect_err("a credit is missing or there twice");
                assert_eq!((error.channel, error.lane), (channel, lane));
                assert_eq!(error.accounted + error.occupied + free, error.capacity + wrong, "{error}");
                *(if wrong < free { &mut lost } else { &mut twice }) += 1;
            }
            engine.partitions[number].context.ports.lanes[place].free = free;
        }
    }
    assert_eq!(engine.check_credits(), Ok(()));
    // Both directions of the four links of hosts and of the one between the switches, two lanes each.
    assert_eq!(twice, 20);
    assert!(lost > 5, "{lost}");
}
