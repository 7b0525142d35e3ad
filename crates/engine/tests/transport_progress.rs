//! Progress of transports, while responses are due.

use crate::common::prepare;
use fabricsim_engine::Engine;
use fabricsim_model::{Observer, Packet};
use fabricsim_units::Time;

const PAIR: &str = r#"
[topology.single-switch]
hosts = 2
[links.all]
rate = "8 Gb/s"
latency = "100 ns"
buffer = "4 KiB"
[switch]
router_delay = "10 ns"
flow_control_unit = "8 B"
[host]
mtu = "100 B"
[transport]
mode = "ordered"
answer = "10 B"
[run]
duration = "1 s"
[[traffic]]
sources = ["H0"]
pattern = { to = "H1" }
message = "100 B"
messages = 1
injection = "saturating"
"#;

/// Completion of the first message.
#[derive(Default)]
struct First(Option<Time>);

impl Observer for First {
    fn completed(&mut self, now: Time, _: &Packet) {
        self.0.get_or_insert(now);
    }
}

/// The progress is not known while a response is due later; it is from the time at which the response is due. A packet of 100 B takes
/// 100 + 10 + 100 + 100 ns.
#[test]
fn progress_is_known_when_the_response_is_due() {
    let prepared = prepare(PAIR, &[("traffic.0.response", "{ message = '50 B', delay = '700 ns' }")]);
    let mut engine: Engine<First> = prepared.engine(First::default);
    engine.advance(Time::us(1), &mut |_, _| true);
    let completed = engine.observers().find_map(|first| first.0).expect("the request is complete");
    assert_eq!(completed, Time::ns(310));
    engine.advance(Time::ns(1010) - Time(1), &mut |_, _| true);
    assert_eq!(engine.transport_progress(), None);
    engine.advance(Time::ns(1010), &mut |_, _| true);
    assert_eq!(
        engine.transport_progress(),
        Some(2),
        "the request was executed, and its sender has its answer"
    );
    engine.advance(Time::us(2), &mut |_, _| true);
    assert_eq!(engine.transport_progress(), Some(4));
}
