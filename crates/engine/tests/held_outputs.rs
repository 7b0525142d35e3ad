//! Packets that cut through from a slower link into a faster one: the output begins late, or is held.

use crate::common::{drained, prepare};
use fabricsim_engine::{Prepared, Totals};
use fabricsim_model::{Observer, Packet};
use fabricsim_units::{HostId, Time, Vl};

const HOLD: (&str, &str) = ("switch.rate_mismatch", "hold-output");
const DELAY: (&str, &str) = ("switch.rate_mismatch", "delay-start");

/// Two switches; a link of 32 Gb/s takes 0.25 ns for a byte, the host's of 8 Gb/s 1 ns.
const CHAIN: &str = r#"
[topology.mesh]
dimensions = [2]
hosts_per_switch = 2
[links.all]
rate = "32 Gb/s"
latency = "10 ns"
buffer = "4 KiB"
[links.named."H(0).0-S(0)"]
rate = "8 Gb/s"
[switch]
router_delay = "50 ns"
flow_control_unit = "8 B"
[host]
mtu = "400 B"
[run]
duration = "1 s"
"#;

/// Transmissions by sending port, in nanoseconds, and deliveries by source.
#[derive(Default)]
struct Seen {
    sent: Vec<(u32, u64, u64)>,
    delivered: Vec<(HostId, u64)>,
}

impl Observer for Seen {
    fn transmitted(&mut self, port: u32, _lane: Vl, _bytes: u32, start: Time, end: Time) {
        self.sent.push((port, start.0 / 1000, end.0 / 1000));
    }
    fn delivered(&mut self, now: Time, packet: &Packet) {
        self.delivered.push((packet.source, now.0 / 1000));
    }
}

impl Seen {
    fn by(&self, prepared: &Prepared, name: &str) -> Vec<(u64, u64)> {
        let port = (0..2 * prepared.graph.links.len() as u32).find(|&p| prepared.graph.port_name(p) == name);
        let port = port.unwrap_or_else(|| panic!("no port {name}"));
        self.sent.iter().filter(|sent| sent.0 == port).map(|&(_, start, end)| (start, end)).collect()
    }
}

fn stream(from: &str, to: &str, more: &str) -> String {
    format!(
        "[[traffic]]\nsources = ['{from}']\npattern = {{ to = '{to}' }}\ninjection = 'saturating'\nmessage = '400 B'\n{more}\n"
    )
}

fn seen(traffic: &str, until: Time, overrides: &[(&str, &str)]) -> (Prepared, Seen) {
    let prepared = prepare(&format!("{CHAIN}\n{traffic}"), overrides);
    let mut engine = prepared.engine(Seen::default);
    engine.advance(until, &mut |_, _| true);
    assert_eq!(engine.check_credits(), Ok(()));
    let seen = std::mem::take(engine.observers().next().unwrap());
    (prepared, seen)
}

/// 400 B leave the host in 400 ns from 0 on; the head may go on at 10 + 50 ns, the tail at 460 ns. An output that begins late does at 460 - 100 =
/// 360 ns; one that is held begins at 60 ns and ends with the tail. The same at the second switch, 60 ns later, which leads to a host with a fast
/// link, or a slow one: over that the late packet takes 400 ns from 420 ns on, and the other one, whose head came at 120 ns, ends with its tail.
#[test]
fn a_packet_over_a_slow_link_by_hand() {
    for (last_link, setting, first, second) in [
        ("32 Gb/s", DELAY, (360, 460), (420, 520)),
        ("32 Gb/s", HOLD, (60, 460), (120, 520)),
        ("8 Gb/s", DELAY, (360, 460), (420, 820)),
        ("8 Gb/s", HOLD, (60, 460), (120, 520)),
    ] {
        for more in [("switch.queueing", "voq"), ("switch.queueing", "fifo"), ("run.partitions", "2")] {
            let overrides = [setting, more, ("links.named.\"H(1).0-S(1)\".rate", last_link)];
            let traffic = stream("H(0).0", "H(1).0", "messages = 1");
            let prepared = prepare(&format!("{CHAIN}\n{traffic}"), &overrides);
            let mut engine = prepared.engine(Seen::default);
            engine.advance(Time::us(2), &mut |_, _| true);
            let mut all = Seen::default();
            for seen in engine.observers() {
                all.sent.append(&mut seen.sent);
                all.delivered.append(&mut seen.delivered);
            }
            let case = format!("{last_link} {setting:?} {more:?}");
            assert_eq!(all.by(&prepared, "H(0).0->S(0)"), [(0, 400)], "{case}");
            assert_eq!(all.by(&prepared, "S(0)->S(1)"), [first], "{case}");
            assert_eq!(all.by(&prepared, "S(1)->H(1).0"), [second], "{case}");
            assert_eq!(all.delivered, [(HostId(0), second.1 + 10)], "{case}");
        }
    }
}

/// The link's overhead of 8 B, 2 ns, follows the packet.
#[test]
fn a_held_link_is_busy_until_the_overhead_has_followed_the_tail() {
    let overrides = [HOLD, ("links.named.\"S(0)-S(1)\".packet_overhead", "8 B")];
    let (prepared, seen) = seen(&stream("H(0).0", "H(1).0", "messages = 1"), Time::us(2), &overrides);
    assert_eq!(seen.by(&prepared, "S(0)->S(1)"), [(60, 462)]);
    assert_eq!(seen.by(&prepared, "S(1)->H(1).0"), [(120, 520)]);
}

/// A slow and a fast host share a link. A packet of the slow one arrives every 400 ns. An output that begins late gives it 100 ns of these, and the
/// fast host the rest: three packets. A held one serves it until its tail is there, as the next one arrives; then it is the turn of a packet of the
/// fast host, for 100 ns, and of the slow one, which is held until 400 ns after the last one.
#[test]
fn a_slow_host_takes_the_time_of_its_own_link() {
    for (setting, of_fast) in [(DELAY, 3.0), (HOLD, 1.0)] {
        for (lanes, queueing) in [("1", "voq"), ("1", "fifo"), ("2", "voq")] {
            let traffic = stream("H(0).0", "H(1).0", "") + &stream("H(0).1", "H(1).1", "");
            let overrides = [setting, ("switch.virtual_lanes", lanes), ("switch.queueing", queueing)];
            let (_, seen) = seen(&traffic, Time::us(100), &overrides);
            let count = |host| {
                let times =
                    seen.delivered.iter().filter(|&&(source, at)| source == HostId(host) && at > 20_000);
                times.count() as f64 * 400.0 / 80_000.0
            };
            let (slow, fast) = (count(0), count(1));
            let case = format!("{setting:?} {lanes} {queueing}: {slow} {fast}");
            assert!((slow - 1.0).abs() < 0.02 && (fast - of_fast).abs() < 0.02, "{case}");
        }
    }
}

/// The buffer at the end of the slow link has 400 B and 8 * `more`: the second packet begins when all of the first but `more` blocks have left. Held,
/// blocks leave as they arrive, the last at 460 ns; begun late, at four times that rate until then. A credit takes 10 ns.
#[test]
fn blocks_leave_as_they_arrive() {
    for more in [0, 1, 10, 40] {
        let buffer = format!("{} B", 400 + 8 * more);
        let left = 8 * (50 - more);
        for (setting, at) in [(HOLD, 60 + left), (DELAY, 360 + left / 4)] {
            for by_packet in [false, true] {
                let credits = if by_packet { "packet" } else { "block" };
                let overrides = [
                    setting,
                    ("links.named.\"H(0).0-S(0)\".buffer", buffer.as_str()),
                    ("switch.credit_return", credits),
                ];
                let (prepared, seen) =
                    seen(&stream("H(0).0", "H(1).0", "messages = 2"), Time::us(5), &overrides);
                let starts = seen.by(&prepared, "H(0).0->S(0)");
                let expected = if by_packet { 470 } else { (at + 10).max(400) };
                assert_eq!(starts[1].0, expected, "{setting:?} {more} {credits}");
            }
        }
    }
}

/// A packet that waits while its bytes arrive, behind a packet of the fast host, leaves at the rate of its output until it has caught up.
#[test]
fn a_packet_that_has_waited_is_held_for_the_rest() {
    // The fast host's packet takes the output from 60 to 160 ns at S(0); the slow one's head may go at 60 ns as well: inputs in turn.
    let traffic = stream("H(0).1", "H(1).1", "messages = 1") + &stream("H(0).0", "H(1).0", "messages = 1");
    let (prepared, seen) = seen(&traffic, Time::us(2), &[HOLD]);
    let (first, second) = match seen.by(&prepared, "S(0)->S(1)").as_slice() {
        &[a, b] => (a, b),
        other => panic!("{other:?}"),
    };
    // Whichever goes first, the slow one ends with its tail.
    assert!(
        (first, second) == ((60, 160), (160, 460)) || (first, second) == ((60, 460), (460, 560)),
        "{first:?} {second:?}"
    );
}

const NETWORK: &str = r#"
[links.all]
rate = "64 Gb/s"
latency = "3 ns"
buffer = "256 B"
[switch]
router_delay = "4 ns"
flow_control_unit = "8 B"
[host]
mtu = "64 B"
[run]
duration = "1 s"
[[traffic]]
pattern = "uniform"
load = 0.9
message = { choice = [{ size = "5 B", weight = 1 }, { size = "20 B", weight = 1 }, { size = "64 B", weight = 1 }] }
"#;

fn totals(topology: &str, overrides: &[(&str, &str)]) -> Totals {
    let prepared = prepare(&format!("topology = {{ {topology} }}\n{NETWORK}"), overrides);
    drained(&prepared, Time::us(6), Time::us(300))
}

const MESH: &str = "mesh = { dimensions = [4, 6] }";

#[test]
fn links_of_one_rate_hold_no_output() {
    for more in [("switch.queueing", "voq"), ("switch.queueing", "fifo"), ("switch.virtual_lanes", "2")] {
        assert_eq!(totals(MESH, &[HOLD, more]), totals(MESH, &[DELAY, more]), "{more:?}");
        let slow = ("links.hosts.rate", "16 Gb/s");
        assert_ne!(totals(MESH, &[HOLD, more, slow]), totals(MESH, &[DELAY, more, slow]), "{more:?}");
    }
}

#[test]
fn partitions_do_not_change_a_bit_and_nothing_is_lost() {
    let switches: [&[(&str, &str)]; 9] = [
        &[("switch.virtual_lanes", "2"), ("links.all.packet_overhead", "8 B")],
        &[("switch.queueing", "fifo"), ("switch.arbiter", "oldest-first"), ("links.all.reads", "1")],
        &[("switch.queueing", "fifo"), ("switch.allocation", "separable"), ("switch.virtual_lanes", "2")],
        &[("switch.arbiter", "strict-round-robin")],
        &[("switch.unit_interval", "3 ns"), ("links.all.packet_overhead", "8 B")],
        &[("switch.arbiter", "age-based"), ("switch.credit_return", "packet")],
        &[("switch.head_delay", "2 ns"), ("links.all.bit_error_rate", "1e-4")],
        &[("host.sink", "{ rate = '20 Gb/s' }"), ("switch.virtual_lanes", "2")],
        &[("switch.flow_control", "packets"), ("switch.flow_control_unit", "64 B")],
    ];
    for topology in [MESH, "fat-tree = { arity = 3, levels = 2 }"] {
        for more in switches {
            let of = |partitions| {
                let links = [HOLD, ("links.hosts.rate", "16 Gb/s"), ("run.partitions", partitions)];
                totals(topology, &[&links, more].concat())
            };
            let one = of("1");
            assert!(one.delivered > 500, "{topology} {more:?}: {one:?}");
            for partitions in ["2", "3", "7"] {
                assert_eq!(of(partitions), one, "{topology} {more:?} in {partitions}");
            }
        }
    }
}
