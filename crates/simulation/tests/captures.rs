//! Captures of runs: complete, in order, right to the last bit, and the same in every number of partitions.

mod wireshark;

use std::collections::BTreeMap;

use crate::common::{ALL, everything, prepare, run};
use fabricsim_model::Data;
use fabricsim_simulation::{CapturePlan, CaptureReport, Capturing, Control, Outcome, simulate_captured};
use fabricsim_spec::Capture;
use fabricsim_units::{Time, number_of};
use fabricsim_wire::capture::{self, ErfRecord};
use fabricsim_wire::dissect::dissect;
use serde_json::Value;

/// A small mesh whose messages are of one, two and three packets.
const MESH: &str = r#"
[topology.mesh]
dimensions = [3, 2]
[links.all]
rate = "64 Gb/s"
latency = "5 ns"
buffer = "4 KiB"
[host]
mtu = "512 B"
[switch]
virtual_lanes = 2
service_classes = 2
[[traffic]]
name = "short"
pattern = "uniform"
load = 0.2
message = "100 B"
[[traffic]]
name = "long"
pattern = "uniform"
load = 0.3
message = "1300 B"
service_class = 1
[run]
duration = "4 us"
drain = "none"
"#;

/// The links of `patterns` without other limits.
fn all_of(patterns: &[&str]) -> Capture {
    let links = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
    Capture { links, file: "f.pcapng".to_owned(), from: Time::ZERO, to: None, packets: 1_000_000 }
}

/// Runs an experiment with a capture: the outcome, the report, the file.
fn captured(
    text: &str,
    overrides: &[(&str, &str)],
    capture: &Capture,
    how: Capturing,
) -> (Outcome, CaptureReport, Vec<u8>) {
    let prepared = prepare(text, overrides);
    let plan = CapturePlan::new(capture, &prepared, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    let mut file = Vec::new();
    let (outcome, report) =
        simulate_captured(&prepared, &Control::default(), &plan, &mut file, how).expect("memory is writable");
    (outcome, report, file)
}

fn records(file: &[u8]) -> Vec<Value> {
    let records = dissect(file, "f").unwrap_or_else(|error| panic!("{error}"));
    records.iter().map(|record| serde_json::to_value(record).expect("a record is a value")).collect()
}

/// A value in one form: numbers in decimal.
fn plain(text: &str) -> String {
    let number = text.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16));
    match (number, text) {
        (Some(Ok(number)), _) => number.to_string(),
        (_, "true" | "True") => "1".to_owned(),
        (_, "false" | "False") => "0".to_owned(),
        _ => text.to_owned(),
    }
}

fn text(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => plain(text),
        Some(value) => plain(&value.to_string()),
        None => String::new(),
    }
}

/// Packets and bytes of each direction of a link that the table `links` has.
fn table_of_links(outcome: &Outcome) -> BTreeMap<String, (i64, i64)> {
    let table = outcome.tables.iter().find(|table| table.name == "links").expect("there is one");
    let column = |name: &str| &table.columns.iter().find(|column| column.name == name).expect(name).data;
    let (Data::Text(links), Data::Whole(packets), Data::Whole(bytes)) =
        (column("link"), column("packets"), column("bytes"))
    else {
        panic!("{table:?}")
    };
    let mut all = BTreeMap::new();
    for ((link, packets), bytes) in links.iter().zip(packets).zip(bytes) {
        let of = all.entry(link.clone()).or_insert((0, 0));
        *of = (of.0 + packets, of.1 + bytes);
    }
    all
}

/// An interface's name without physical ports, as the table has it.
fn direction(interface: &str) -> String {
    let name = |end: &str| end.rsplit_once(':').map(|(name, _)| name.to_owned()).expect("a port");
    let (from, to) = interface.split_once(" -> ").expect("two ends");
    format!("{}->{}", name(from), name(to))
}

#[test]
fn a_capture_has_every_packet_of_its_links_and_no_other() {
    for (text, overrides) in [(MESH, &[][..]), (ALL, &[("run.warmup", "0 s"), ("run.drain", "none")])] {
        let (outcome, report, file) = captured(text, overrides, &all_of(&["*"]), Capturing::WholeRun);
        assert_eq!(everything(&outcome), everything(&run(text, overrides)));
        let counted = table_of_links(&outcome);
        let found: BTreeMap<String, (i64, i64)> = report
            .interfaces
            .iter()
            .map(|of| (direction(&of.name), (of.packets as i64, of.bytes as i64)))
            .collect();
        assert_eq!(found, counted);
        let capture = capture::read(&file, "f").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((capture.records.len() as u64, report.missed), (report.packets, 0));
        let bytes: usize = capture.records.iter().map(|record| record.original_len - 16).sum();
        assert_eq!(bytes as u64, report.bytes);
        assert!(capture.records.is_sorted_by_key(|record| record.time_ns));
        assert_eq!(report.last_ns, capture.records.last().map(|record| record.time_ns));
    }
}

#[test]
fn checksums_are_right_and_lengths_those_of_the_simulation() {
    let (_, report, file) = captured(MESH, &[], &all_of(&["*"]), Capturing::WholeRun);
    let records = records(&file);
    assert!(report.cut == 0 && records.len() > 500, "{report:?}");
    let raw = capture::read(&file, "f").unwrap_or_else(|error| panic!("{error}"));
    let mut opcodes = BTreeMap::new();
    for (record, raw) in records.iter().zip(&raw.records) {
        assert!(record["icrc"]["ok"] == true && record["vcrc"]["ok"] == true, "{record}");
        let (packet, _) = ErfRecord::parse(raw.data).unwrap_or_else(|error| panic!("{error}"));
        let simulated = raw.original_len - 16;
        assert_eq!(packet.wire_len, packet.content.len());
        // The longest packet of InfiniBand that is not longer.
        assert!(packet.wire_len % 4 == 2 && simulated - packet.wire_len < 4, "{simulated}");
        assert_eq!(record["lrh"]["packet_length"].as_u64(), Some((packet.wire_len as u64 - 2) / 4));
        assert_eq!(record["lrh"]["vl"], record["lrh"]["sl"]);
        *opcodes.entry((record["summary"].to_string(), simulated)).or_insert(0) += 1;
    }
    let kinds: Vec<(&str, usize)> =
        opcodes.keys().map(|(summary, bytes)| (summary.trim_matches('"'), *bytes)).collect();
    assert_eq!(
        kinds,
        [("RC SEND First", 512), ("RC SEND Last", 276), ("RC SEND Middle", 512), ("RC SEND Only", 100)]
    );
}

/// Destination, queue pair and number of a packet stay as they are from link to link.
#[test]
fn a_packet_is_the_same_on_every_link() {
    let (_, _, file) = captured(MESH, &[], &all_of(&["*"]), Capturing::WholeRun);
    let mut packets: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for record in records(&file) {
        let key = format!("{} {} {}", record["lrh"]["slid"], record["bth"]["psn"], record["bth"]["dest_qp"]);
        packets.entry(key).or_default().push(record);
    }
    assert!(packets.values().any(|hops| hops.len() > 3));
    for hops in packets.values() {
        for (number, hop) in hops.iter().enumerate() {
            assert_eq!((&hop["lrh"]["dlid"], &hop["icrc"]), (&hops[0]["lrh"]["dlid"], &hops[0]["icrc"]));
            let comment = hop["comment"].as_str().unwrap_or_default();
            assert!(
                comment.contains(&format!(", {} passed", number_of(number as u64, "switch"))),
                "{number}: {comment}"
            );
        }
    }
}

#[test]
fn a_capture_is_the_same_in_every_number_of_partitions() {
    for (mode, control) in [("ordered", "infiniband"), ("go-back-n", "dcqcn"), ("selective", "swift")] {
        let of = |partitions| {
            let overrides = [
                ("transport.mode", mode),
                ("congestion_control.algorithm", control),
                ("run.partitions", partitions),
                ("run.drain", "none"),
            ];
            captured(ALL, &overrides, &all_of(&["R(0,*"]), Capturing::WholeRun)
        };
        let (outcome, report, file) = of("1");
        assert!(report.packets > 1000, "{report:?}");
        for partitions in ["2", "3", "7"] {
            let (other_outcome, other_report, other) = of(partitions);
            assert_eq!(report, other_report, "{mode}, {partitions} partitions");
            assert!(file == other, "{mode}, {partitions} partitions");
            assert_eq!(outcome.totals, other_outcome.totals);
        }
    }
}

/// A subnet that comes up: datagrams on virtual lane 15 with right checksums, an answer for each request, and the LIDs that data packets
/// have later.
#[test]
fn datagrams_of_a_subnet_manager_are_captured() {
    let managed = [
        ("routing", r#"{ algorithm = "opensm", engine = "dor" }"#),
        ("subnet_manager", r#"{ nodes = ["H(2,1).0"], sweep_interval = "0 s", smps_on_wire = 1 }"#),
        ("run.duration", "\"30 ms\""),
        ("traffic", r#"[{ pattern = "uniform", load = 0.001, message = "100 B" }]"#),
    ];
    let (outcome, _, file) = captured(MESH, &managed, &all_of(&["H(2,1).0-S(2,1)"]), Capturing::WholeRun);
    let (data, management): (Vec<_>, Vec<_>) =
        records(&file).into_iter().partition(|record| record["lrh"]["vl"] != 15);
    let subnet = outcome.subnet.expect("there is a manager");
    assert!(subnet.up_ns.is_some());
    assert!(management.iter().all(|record| record["icrc"]["ok"] == true && record["vcrc"]["ok"] == true));
    // Those to the manager's own node cross no link.
    let own = 6;
    assert_eq!(management.len() as u64, 2 * (subnet.requests - own), "{}", management[0]);
    assert_eq!(
        management.iter().filter(|record| text(record.get("mad")).contains("GetResp")).count() * 2,
        management.len()
    );
    let methods: Vec<String> = management.iter().map(|record| text(record.get("mad"))).collect();
    assert!(methods.iter().any(|mad| mad.contains("LinearForwardingTable")), "{}", methods[0]);
    // The manager's port has the first LID.
    assert!(data.iter().any(|record| record["lrh"]["slid"] == 1), "{}", data[0]);
    assert!(data.iter().all(|record| record["lrh"]["slid"] == 1 || record["lrh"]["dlid"] == 1));
}

#[test]
fn times_and_the_number_of_packets_are_limited() {
    let whole = records(&captured(MESH, &[], &all_of(&["*"]), Capturing::WholeRun).2);
    let strip = |mut record: Value| {
        record["number"] = Value::Null;
        record
    };
    let (from, to) = (Time::ns(1000), Time::ns(2000));
    let part = Capture { from, to: Some(to), ..all_of(&["*"]) };
    let within =
        whole.iter().filter(|record| (1000..2000).contains(&record["time_ns"].as_u64().unwrap_or(0)));
    let within: Vec<Value> = within.cloned().map(strip).collect();
    for how in [Capturing::WholeRun, Capturing::Only] {
        let (outcome, report, file) = captured(MESH, &[], &part, how);
        assert_eq!(records(&file).into_iter().map(strip).collect::<Vec<_>>(), within);
        assert!(!report.limit_reached && (outcome.end < Time::us(4)) == (how == Capturing::Only));
    }
    for partitions in ["1", "3"] {
        let few = Capture { packets: 100, ..all_of(&["*"]) };
        let (_, report, file) = captured(MESH, &[("run.partitions", partitions)], &few, Capturing::WholeRun);
        assert_eq!(records(&file), whole[..100]);
        assert_eq!((report.limit_reached, report.missed), (true, whole.len() as u64 - 100));
    }
}

#[test]
fn packets_smaller_than_their_headers_are_cut() {
    let overrides = [("host.mtu", "20 B"), ("switch.flow_control_unit", "4 B")];
    let (_, report, file) = captured(MESH, &overrides, &all_of(&["*"]), Capturing::WholeRun);
    assert!(report.packets > 100 && report.cut == report.packets, "{report:?}");
    let capture = capture::read(&file, "f").unwrap_or_else(|error| panic!("{error}"));
    for captured in &capture.records {
        let (record, _) = ErfRecord::parse(captured.data).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((record.content.len(), record.wire_len), (captured.original_len - 16, 26));
        let comment = captured.comment.as_deref().unwrap_or_default();
        assert!(comment.ends_with("B simulated, 26 B with all headers"), "{comment}");
    }
}

#[test]
fn patterns_choose_directions_links_and_ports() {
    let names = |pattern: &str| {
        let prepared = prepare(MESH, &[]);
        match CapturePlan::new(&all_of(&[pattern]), &prepared, "test.toml") {
            Ok(plan) => plan.interfaces().to_vec(),
            Err(error) => vec![error.to_string()],
        }
    };
    let [there, back] = [names("S(0,0)->S(1,0)"), names("S(1,0)->S(0,0)")];
    assert_eq!((there.len(), back.len()), (1, 1));
    assert!(there[0].starts_with("S(0,0):") && there[0].contains(" -> S(1,0):"), "{there:?}");
    for both in ["S(0,0)-S(1,0)", "S(1,0)-S(0,0)"] {
        let mut expected = [there.clone(), back.clone()].concat();
        let mut found = names(both);
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{both}");
    }
    assert_eq!(names(&there[0]), there);
    assert_eq!(names("*").len(), 2 * (7 + 6));
    assert_eq!(names("* -> H*").len(), 6);
    let error = names("S(0,0)->S(1,1)");
    assert!(error[0].starts_with("test.toml: capture.links.0: no link matches"), "{error:?}");
}

#[test]
fn packets_that_infiniband_cannot_have_are_refused() {
    let prepared = prepare(MESH, &[("host.mtu", "8192 B"), ("links.all.buffer", "64 KiB")]);
    let error =
        CapturePlan::new(&all_of(&["*"]), &prepared, "test.toml").map(|_| ()).unwrap_err().to_string();
    assert_eq!(
        error,
        "test.toml: host.mtu: 8192 B is not allowed with a capture: InfiniBand's packets have at most 8190 bytes"
    );
}
