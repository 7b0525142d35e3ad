//! A switch that is input- and output-queued: content of its buffers, and blocking.

use crate::common::prepare;
use fabricsim_engine::Engine;
use fabricsim_model::{Grant, Observer};
use fabricsim_units::{Time, Vl};

/// A byte takes 1 ns, a flit 8, a packet 72. 96 flits hold 10 packets, 16 flits one.
const SWITCH: &str = r#"
[topology.single-switch]
hosts = 3
[links.all]
rate = "8 Gb/s"
latency = "10 ns"
buffer = "768 B"
[switch]
queueing = "cioq"
staging = { buffer = "128 B" }
router_delay = "20 ns"
flow_control_unit = "8 B"
[host]
mtu = "72 B"
[run]
duration = "1 s"
[measure]
router_counters = true
"#;

/// Sources `H0` to `H1`, and what else.
fn engine<B: Observer>(traffic: &str, overrides: &[(&str, &str)], observer: impl FnMut() -> B) -> Engine<B> {
    let text = format!("{SWITCH}{traffic}");
    let prepared = prepare(&text, overrides);
    let mut engine = prepared.engine(observer);
    engine.advance(Time::us(100), &mut |_, _| true);
    assert_eq!(engine.check_credits(), Ok(()));
    engine
}

const NEVER_TAKEN: (&str, &str) = ("host.sink", "{ pause_every = '1 ps', pause_for = '1 s' }");

#[test]
fn a_blocked_switch_holds_what_its_buffers_hold() {
    let traffic =
        "[[traffic]]\nsources = ['H0']\npattern = { to = 'H1' }\ninjection = 'saturating'\nmessage = '72 B'";
    // At the sink, in the staging buffer, in the input buffer.
    for (staging, buffer, packets) in
        [("128 B", "768 B", 10 + 1 + 10), ("72 B", "768 B", 10 + 1 + 10), ("216 B", "144 B", 2 + 3 + 2)]
    {
        let sizes = [NEVER_TAKEN, ("switch.staging.buffer", staging), ("links.all.buffer", buffer)];
        let totals = engine(traffic, &sizes, || fabricsim_model::NullObserver).totals();
        assert_eq!((totals.injected, totals.in_flight), (packets, packets), "{staging} {buffer}");
    }
}

/// Packets that leave the switch after 10 us.
#[derive(Default)]
struct Late(u32);
impl Observer for Late {
    fn forwarded(&mut self, now: Time, _: &Grant) {
        self.0 += u32::from(now > Time::us(10));
    }
}
/// True if a packet to another host passes after `packets` packets to a host that takes none.
fn passes(packets: u32, overrides: &[(&str, &str)]) -> bool {
    let traffic = format!(
        "[[traffic]]\nsources = ['H0']\npattern = {{ to = 'H1' }}\ninjection = 'constant'\nload = 0.5\nmessages = {packets}\n\
         message = '72 B'\n[[traffic]]\nsources = ['H0']\npattern = {{ to = 'H2' }}\ninjection = 'constant'\nload = 0.5\n\
         messages = 1\nstart = '10 us'\nmessage = '72 B'"
    );
    let mut engine = engine(&traffic, &[&[NEVER_TAKEN], overrides].concat(), Late::default);
    engine.observers().next().is_some_and(|late| late.0 == 1)
}

#[test]
fn staging_buffers_take_the_first_from_the_head_of_the_line() {
    assert!(passes(11, &[]), "ten at the sink, one in the staging buffer");
    assert!(!passes(12, &[]), "the twelfth is at the head of the input buffer");
    assert!(passes(13, &[("switch.staging.buffer", "216 B")]));
    assert!(!passes(14, &[("switch.staging.buffer", "216 B")]));
    assert!(passes(15, &[("switch.queueing", "voq")]) && !passes(11, &[("switch.queueing", "fifo")]));
}

/// Time at which each packet leaves the switch, and time for which heads of input buffers were blocked.
#[derive(Default)]
struct Times {
    sent: Vec<Time>,
    blocked: Vec<Time>,
}

impl Observer for Times {
    fn forwarded(&mut self, now: Time, _: &Grant) {
        self.sent.push(now);
    }
    fn blocked(&mut self, _: u32, lane: Vl, start: Time, end: Time) {
        assert_eq!(lane, Vl(0));
        self.blocked.push(end - start);
    }
}

#[test]
fn a_staging_buffer_is_filled_while_it_empties() {
    let traffic =
        "[[traffic]]\nsources = ['H0']\npattern = { to = 'H1' }\ninjection = 'saturating'\nmessage = '72 B'";
    // A packet leaves in 144 ns. The next one moves when 2 of its 9 flits have left, after 32 ns, and is read for 72 ns;
    // from then on, at 104 ns, the one behind it is blocked until 32 ns of the next 144.
    let slow = ("links.named.\"H1-S0\".rate", "4 Gb/s");
    for delay in ["0 ns", "112 ns"] {
        let mut engine = engine(traffic, &[slow, ("switch.staging.delay", delay)], Times::default);
        let Times { sent, blocked } = engine.observers().next().unwrap();
        assert!(
            sent.len() > 600 && sent.windows(2).all(|pair| pair[1] - pair[0] == Time::ns(144)),
            "{delay}"
        );
        let steady = &blocked[10..];
        assert!(steady.len() > 600 && steady.iter().all(|&time| time == Time::ns(72)), "{delay}: {steady:?}");
    }
    // One more nanosecond on the way to the output, and the output waits for it.
    let mut late = engine(traffic, &[slow, ("switch.staging.delay", "113 ns")], Times::default);
    let sent = &late.observers().next().unwrap().sent;
    assert!(sent[10..].windows(2).all(|pair| pair[1] - pair[0] == Time::ns(145)), "{sent:?}");
}

#[test]
fn a_slow_crossbar_limits_an_input() {
    let traffic =
        "[[traffic]]\nsources = ['H0']\npattern = { to = 'H1' }\ninjection = 'saturating'\nmessage = '72 B'";
    let mut engine = engine(traffic, &[("switch.staging.rate", "6 Gb/s")], Times::default);
    let sent = &engine.observers().next().unwrap().sent;
    assert!(
        sent.len() > 1000 && sent[10..].windows(2).all(|pair| pair[1] - pair[0] == Time::ns(96)),
        "{sent:?}"
    );
}
