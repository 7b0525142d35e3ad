//! Wireshark's view of packets of every kind, compared field by field with ours.
//!
//! Needs tshark 4.0 (`scripts/apt tshark`); without it the tests say so and are skipped.

#[path = "../common/mod.rs"]
mod common;

mod cases;
mod compare;
mod fields;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

use fabricsim_wire::capture::{InterfaceKind, Writer};
use fabricsim_wire::dissect::dissect;
use serde_json::Value;

use compare::{Comparison, Row, texts, with_parts};

/// Start of the captures: the 1st of November 2023, with nanoseconds.
const START: u64 = 1_698_796_800_123_456_789;

/// True if there is a tshark. Says so loudly if there is none.
fn has_tshark() -> bool {
    let found = Command::new("tshark").arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        // not by eprintln!, which the test harness captures
        let _ =
            writeln!(std::io::stderr(), "SKIPPED: there is no tshark: install it with scripts/apt tshark");
    }
    found
}

/// Writes packets to a capture file, a nanosecond apart, each with its number as a comment.
fn write(name: &str, interface: &str, kind: InterfaceKind, packets: &[Vec<u8>]) -> (PathBuf, Vec<u8>) {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let id = writer.add_interface(interface, kind).unwrap();
    for (index, packet) in packets.iter().enumerate() {
        let comment = format!("packet {index}");
        writer.write(id, START + index as u64, packet, false, Some(&comment)).unwrap();
    }
    let bytes = writer.finish().unwrap();
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcapng"));
    std::fs::write(&path, &bytes).unwrap();
    (path, bytes)
}

/// Fields of every packet as tshark prints them. The dissector of RPC over RDMA guesses at short SENDs and reads too far.
fn tshark(path: &PathBuf, fields: &[&'static str]) -> Vec<Row> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-T", "fields", "-E", "occurrence=a", "-E", "aggregator=;", "-E", "separator=/t"]);
    command.args(["--disable-protocol", "rpcordma"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.arg("-r").arg(path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let row = |line: &str| fields.iter().copied().zip(line.split('\t').map(str::to_owned)).collect();
    text.lines().map(row).collect()
}

/// Dissects packets with both programs.
fn both(name: &str, kind: InterfaceKind, packets: &[Vec<u8>]) -> Vec<(Value, Row)> {
    let (path, bytes) = write(name, "sw0/p1", kind, packets);
    let ours: Vec<Value> =
        dissect(&bytes, name).unwrap().iter().map(|record| serde_json::to_value(record).unwrap()).collect();
    let theirs = tshark(&path, &fields::all());
    assert_eq!((ours.len(), theirs.len()), (packets.len(), packets.len()));
    for (index, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(ours.get("problem"), None, "{ours}");
        if !fields::is_dynamically_connected(ours) {
            assert_eq!(theirs["_ws.malformed"], "", "{name} packet {index}: {ours}");
        }
        assert_eq!(theirs["frame.interface_name"], "sw0/p1");
        assert_eq!(theirs["frame.comment"], format!("packet {index}"));
        assert_eq!(theirs["frame.time_epoch"], format!("1698796800.{:09}", 123_456_789 + index));
    }
    ours.into_iter().map(with_parts).zip(theirs).collect()
}

#[test]
fn packets_of_every_opcode() {
    if !has_tshark() {
        return;
    }
    let mut packets = cases::transport();
    packets.extend(cases::syndromes());
    let mut compared = Comparison::default();
    for (ours, theirs) in both("opcodes", InterfaceKind::Data, &packets) {
        let opcode = ours["bth"]["opcode"].as_u64().unwrap() as u8;
        let mut fields = [fields::LRH, fields::BTH].concat();
        if !ours["grh"].is_null() {
            fields.extend_from_slice(fields::GRH);
        }
        if fields::has_headers(opcode) {
            fields.extend(fields::EXTENSIONS.iter().filter(|(path, _)| !texts(&ours, path).is_empty()));
            fields.extend_from_slice(fields::CHECKSUMS);
            fields.extend_from_slice(fields::syndrome(&ours));
        }
        compared.compare(&ours, &theirs, "", &fields);
    }
    compared.finish("opcodes");
}

#[test]
fn datagrams_of_every_kind() {
    if !has_tshark() {
        return;
    }
    let packets = cases::datagrams();
    let (mut compared, mut headers_only) = (Comparison::default(), Vec::new());
    for (ours, theirs) in both("datagrams", InterfaceKind::Data, &packets) {
        let mad = &ours["mad"];
        let mut fields = [fields::LRH, fields::BTH, fields::DETH, fields::MAD].concat();
        fields.extend_from_slice(fields::class(mad));
        fields.extend_from_slice(fields::checksums(mad));
        compared.compare(&ours, &theirs, "", &fields);
        let name = mad["attribute_name"].as_str().unwrap();
        let class = mad["class_name"].as_str().unwrap();
        let parts = fields::attribute(class, name);
        for (part, fields) in parts {
            compared.compare(&ours, &theirs, &format!("mad.data.{name}.{part}"), fields);
        }
        if parts.is_empty() {
            headers_only.push(format!("{class} {name}"));
        }
    }
    compared.finish("datagrams");
    assert_eq!(headers_only, fields::NOT_DECODED);
}

#[test]
fn traps_of_every_number() {
    if !has_tshark() {
        return;
    }
    let mut compared = Comparison::default();
    for (ours, theirs) in both("traps", InterfaceKind::Data, &cases::traps()) {
        let (name, _) = ours["mad"]["trap"].as_object().unwrap().iter().next().unwrap();
        let fields = fields::trap(name);
        compared.compare(&ours, &theirs, &format!("mad.trap.{name}."), fields);
        compared.compare(&ours, &theirs, "mad.data.Notice.", fields::NOTICE);
    }
    compared.finish("traps");
}

#[test]
fn flow_control_packets() {
    if !has_tshark() {
        return;
    }
    let mut compared = Comparison::default();
    for (ours, theirs) in both("flow-control", InterfaceKind::FlowControl, &cases::flow_control()) {
        compared.compare(&ours, &theirs, "fcp.", fields::FCP);
    }
    compared.finish("flow control");
}

/// Data and flow-control packets of a link in one file, one of them received with an error.
#[test]
fn interfaces_of_both_kinds_in_one_file() {
    if !has_tshark() {
        return;
    }
    let mut writer = Writer::new(Vec::new()).unwrap();
    let data = writer.add_interface("sw0/p1", InterfaceKind::Data).unwrap();
    let credits = writer.add_interface("sw0/p1 flow control", InterfaceKind::FlowControl).unwrap();
    for (index, (packet, fcp)) in cases::transport().iter().zip(cases::flow_control()).enumerate() {
        writer.write(data, START, packet, index == 3, None).unwrap();
        writer.write(credits, START + 1, &fcp, false, None).unwrap();
    }
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("both-kinds.pcapng");
    std::fs::write(&path, writer.finish().unwrap()).unwrap();
    let fields = [
        "frame.interface_name",
        "erf.flags.rxe",
        "infiniband.bth.opcode",
        "infiniband_link.op",
        "_ws.malformed",
    ];
    let rows = tshark(&path, &fields);
    assert_eq!(rows.len(), 32);
    for (index, row) in rows.iter().enumerate() {
        let (number, is_data) = (index / 2, index % 2 == 0);
        assert_eq!(row["frame.interface_name"], if is_data { "sw0/p1" } else { "sw0/p1 flow control" });
        assert_eq!(row["erf.flags.rxe"], if is_data && number == 3 { "1" } else { "0" });
        assert_eq!(row["infiniband.bth.opcode"], if is_data { number.to_string() } else { String::new() });
        assert_eq!(row["infiniband_link.op"].is_empty(), is_data);
        assert!(row["_ws.malformed"].is_empty() || row["erf.flags.rxe"] == "1", "{row:?}");
    }
}
