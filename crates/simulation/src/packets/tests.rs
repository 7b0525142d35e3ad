use std::path::Path;

use fabricsim_engine::Prepared;
use fabricsim_model::{Data, Table};

use crate::control::Control;
use crate::outcome::Outcome;
use crate::run::{permit, simulate};

fn prepared(text: &str, overrides: &[(&str, &str)]) -> Prepared {
    let overrides: Vec<_> =
        overrides.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let experiment = fabricsim_spec::read(text, "f.toml", &overrides).unwrap();
    Prepared::new(experiment, Path::new("."), "f.toml").unwrap()
}

fn run(text: &str, overrides: &[(&str, &str)]) -> Outcome {
    simulate(&prepared(text, overrides), &Control::default())
}

fn table(outcome: &Outcome) -> &Table {
    outcome.tables.iter().find(|table| table.name == "packet_hops").unwrap()
}

fn data<'a>(table: &'a Table, name: &str) -> &'a Data {
    &table.columns.iter().find(|column| column.name == name).unwrap().data
}

fn real<'a>(table: &'a Table, name: &str) -> &'a [f64] {
    let Data::Real(values) = data(table, name) else { panic!("{name}") };
    values
}

fn whole<'a>(table: &'a Table, name: &str) -> &'a [i64] {
    let Data::Whole(values) = data(table, name) else { panic!("{name}") };
    values
}

fn text<'a>(table: &'a Table, name: &str) -> &'a [String] {
    let Data::Text(values) = data(table, name) else { panic!("{name}") };
    values
}

/// Two packets for one host at once; links carry a byte a nanosecond.
const TWO: &str = "
[topology]
single-switch = { hosts = 3 }
[links.all]
rate = '8 Gb/s'
latency = '10 ns'
[switch]
router_delay = '100 ns'
[[traffic]]
name = 'one'
sources = ['H0', 'H1']
pattern = { to = 'H2' }
injection = 'constant'
load = 0.001
message = '100 B'
messages = 1
[run]
duration = '2 us'
drain = 'empty'
[measure]
packets = ['* -> H2']
";

/// By hand: both heads are at the switch's output at 110 ns, and the second packet waits for the 100 ns of the first.
#[test]
fn a_packet_waits_for_the_one_before_it() {
    let outcome = run(TWO, &[]);
    let table = table(&outcome);
    assert_eq!(text(table, "link"), ["H0->S0", "H1->S0", "S0->H2", "S0->H2"]);
    assert_eq!(whole(table, "hop"), [0, 0, 1, 1]);
    assert_eq!(real(table, "ready_ns"), [0.0, 0.0, 110.0, 110.0]);
    assert_eq!(real(table, "start_ns"), [0.0, 0.0, 110.0, 210.0]);
    assert_eq!(real(table, "end_ns"), [100.0, 100.0, 210.0, 310.0]);
    assert_eq!(real(table, "waited_ns"), [0.0, 0.0, 0.0, 100.0]);
    assert_eq!(real(table, "busy_ns"), [0.0, 0.0, 0.0, 100.0]);
    let sources = text(table, "source");
    let first = format!("{} -> H2", sources[2]);
    assert_eq!(text(table, "behind"), ["", "", "", first.as_str()]);
    assert_ne!(sources[2], sources[3]);
    assert_eq!(text(table, "entry"), ["one"; 4]);
    assert_eq!(whole(table, "packet")[2], i64::from(sources[2] == "H1"));
    assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
}

/// H0 sends a packet to H1, whose link is taken from 110 to 210 ns, and one to H2, whose link is free. At 210 ns one of them goes; the other waits
/// for their input, for 100 ns.
#[test]
fn a_packet_waits_for_its_input() {
    let entry = |source: &str, to: &str| {
        format!(
            "[[traffic]]\nsources = ['{source}']\npattern = {{ to = '{to}' }}\ninjection = 'constant'\nload = 0.001\n\
             message = '100 B'\nmessages = 1\n"
        )
    };
    let (fabric, rest) = TWO.split_once("[[traffic]]").unwrap();
    let (_, rest) = rest.split_once("[run]").unwrap();
    let entries = [entry("H2", "H1"), entry("H0", "H1"), entry("H0", "H2")].concat();
    let text = format!("{fabric}{entries}[run]{rest}").replace("* -> H2", "H0 -> *");
    let outcome = run(&text, &[]);
    let table = table(&outcome);
    let (waited, busy, input) = (real(table, "waited_ns"), real(table, "busy_ns"), real(table, "input_ns"));
    assert_eq!(input.iter().sum::<f64>(), 100.0, "{input:?}");
    let row = input.iter().position(|&time| time > 0.0).unwrap();
    assert_eq!(waited[row], busy[row] + input[row]);
    assert_eq!(whole(table, "hop")[row], 1);
    // An input that reads any number of packets at a time makes none wait.
    let outcome = run(&text, &[("links.all.reads", "0")]);
    assert_eq!(real(self::table(&outcome), "input_ns").iter().sum::<f64>(), 0.0);
}

/// With store-and-forward the packets leave the switch 100 ns later.
#[test]
fn a_switch_that_stores_packets_sends_them_later() {
    let outcome = run(TWO, &[("switch.switching", "store-and-forward")]);
    let table = table(&outcome);
    assert_eq!(real(table, "ready_ns"), [0.0, 0.0, 210.0, 210.0]);
    assert_eq!(real(table, "waited_ns"), [0.0, 0.0, 0.0, 100.0]);
}

/// What other packets do is seen whether or not these are chosen themselves.
#[test]
fn one_packet_of_one_source() {
    let all = run(TWO, &[]);
    let last = text(table(&all), "source")[3].clone();
    let choice = format!("[\"{last} -> H2 #0\"]");
    let outcome = run(TWO, &[("measure.packets", &choice)]);
    let found = table(&outcome);
    assert_eq!(real(found, "waited_ns"), [0.0, 100.0]);
    assert_eq!(text(found, "source"), [last.as_str(), last.as_str()]);
    let none = run(TWO, &[("measure.packets", "[\"H0 -> H2 #1\"]")]);
    assert_eq!(table(&none).rows(), 0);
}

#[test]
fn the_table_has_a_largest_size() {
    let outcome = run(TWO, &[("measure.packet_hops", "3")]);
    assert_eq!(table(&outcome).rows(), 3);
    let expected =
        "the table packet_hops has the first 3 links that chosen packets crossed; 1 more were not recorded";
    assert!(outcome.warnings.iter().any(|warning| warning.starts_with(expected)), "{:?}", outcome.warnings);
}

#[test]
fn wrong_choices_are_refused_before_the_run() {
    let wrong = prepared(TWO, &[("measure.packets", "[\"H0 -> H9\"]")]);
    let error = permit(&wrong, None, "f.toml").unwrap_err().to_string();
    assert!(error.starts_with("f.toml: measure.packets.0: no host is named `H9`"), "{error}");
}

const TORUS: &str = "
[topology]
torus = { dimensions = [4, 4] }
[links.all]
rate = '8 Gb/s'
latency = '10 ns'
buffer = '512 B'
[switch]
virtual_lanes = 4
[host]
mtu = '128 B'
[[traffic]]
pattern = 'uniform'
load = 0.6
message = '300 B'
[run]
duration = '20 us'
drain = 'measured'
[measure]
packets = ['* -> *']
packet_hops = 1000000
";

/// The last bytes of packets arrive when the run's other observers say so, whatever the queues.
#[test]
fn times_of_packets_are_those_of_the_run() {
    for extra in [
        &[][..],
        &[("switch.queueing", "fifo")],
        &[("switch.switching", "store-and-forward")],
        &[("transport.mode", "ordered")],
        &[("queue_pairs", "{}"), ("host.mtu", "302 B"), ("links.all.buffer", "1 KiB")],
    ] {
        let outcome = run(TORUS, extra);
        let found = table(&outcome);
        let packets = whole(found, "packet");
        let count = packets.iter().max().map_or(0, |&last| last as usize + 1);
        assert!(count > 1000, "{count}");
        let (mut waited, mut last) = (vec![0.0; count], vec![0.0_f64; count]);
        for (row, &packet) in packets.iter().enumerate() {
            let packet = packet as usize;
            waited[packet] += real(found, "waited_ns")[row];
            last[packet] = last[packet].max(real(found, "end_ns")[row] + 10.0);
            let known = real(found, "busy_ns")[row] + real(found, "input_ns")[row];
            assert!(known <= real(found, "waited_ns")[row] + 1e-6);
            assert!(real(found, "start_ns")[row] >= real(found, "ready_ns")[row], "{row} of {extra:?}");
        }
        assert!(waited.iter().sum::<f64>() > 1000.0, "{extra:?}");
        if extra.is_empty() {
            // Packets created in the measurement and delivered: all that were recorded, but for those of the drain.
            let created: Vec<f64> = {
                let mut first = vec![f64::MAX; count];
                for (row, &packet) in packets.iter().enumerate() {
                    let packet = packet as usize;
                    first[packet] = first[packet].min(real(found, "ready_ns")[row]);
                }
                first
            };
            let inside = (0..count).filter(|&packet| created[packet] < 20_000.0);
            let latencies: Vec<f64> = inside.map(|packet| last[packet] - created[packet]).collect();
            let mean = latencies.iter().sum::<f64>() / latencies.len() as f64;
            let expected = outcome.summary.latency.latency_ns.mean;
            assert!((mean - expected).abs() < 1e-6 * expected, "{mean} {expected}");
        }
    }
}

#[test]
fn partitions_and_records_change_nothing() {
    let one = run(TORUS, &[("transport.mode", "ordered")]);
    for partitions in ["2", "3", "7"] {
        let several = run(TORUS, &[("transport.mode", "ordered"), ("run.partitions", partitions)]);
        assert_eq!(table(&one), table(&several), "{partitions}");
    }
    let without = run(TORUS, &[("transport.mode", "ordered"), ("measure.packets", "[]")]);
    assert_eq!(without.totals, one.totals);
    assert!(without.tables.iter().all(|table| table.name != "packet_hops"));
    // As text, in which missing numbers are equal.
    let others = one.tables.iter().filter(|table| table.name != "packet_hops");
    for (one, other) in others.zip(&without.tables) {
        assert_eq!(format!("{one:?}"), format!("{other:?}"));
    }
    assert_eq!(one.tables.len(), without.tables.len() + 1);
}
