//! Captures as Wireshark shows them, compared with the dissection of `fabricsim_wire`.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

use fabricsim_simulation::Capturing;

use super::{MESH, all_of, captured, plain, records, text};
use crate::common::ALL;

/// Fields of a packet in our words and in tshark's.
const FIELDS: [(&str, &str); 14] = [
    ("/interface", "frame.interface_name"),
    ("/comment", "frame.comment"),
    ("/lrh/vl", "infiniband.lrh.vl"),
    ("/lrh/sl", "infiniband.lrh.sl"),
    ("/lrh/dlid", "infiniband.lrh.dlid"),
    ("/lrh/slid", "infiniband.lrh.slid"),
    ("/lrh/packet_length", "infiniband.lrh.pktlen"),
    ("/bth/opcode", "infiniband.bth.opcode"),
    ("/bth/p_key", "infiniband.bth.p_key"),
    ("/bth/dest_qp", "infiniband.bth.destqp"),
    ("/bth/psn", "infiniband.bth.psn"),
    ("/bth/ack_request", "infiniband.bth.a"),
    ("/icrc/value", "infiniband.invariant.crc"),
    ("/vcrc/value", "infiniband.variant.crc"),
];

/// Fields of every packet as tshark prints them; `None`, loudly, without tshark.
fn tshark(name: &str, file: &[u8], fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, file).expect("the folder of tests is writable");
    let mut command = Command::new("tshark");
    command.args(["-n", "-T", "fields", "-E", "separator=/t", "--disable-protocol", "rpcordma"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let Ok(output) = command.arg("-r").arg(&path).output() else {
        // not by eprintln!, which the test harness captures
        let _ =
            writeln!(std::io::stderr(), "SKIPPED: there is no tshark: install it with scripts/apt tshark");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows = String::from_utf8(output.stdout).expect("tshark prints UTF-8");
    Some(rows.lines().map(|row| row.split('\t').map(str::to_owned).collect()).collect())
}

/// A file, overrides, an experiment, and kinds of packets that it must have.
type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str, &'a [&'a str]);

/// Two hosts with reliable connections, and losses.
const QUEUE_PAIRS: &str = r#"
topology.single-switch = { hosts = 2 }
links.all = { rate = "100 Gb/s", latency = "20 ns", buffer = "64 KiB" }
host.mtu = "2094 B"
queue_pairs = { verb = "write", loss = 0.02 }
traffic = [{ sources = ["H0"], destinations = ["H1"], pattern = "uniform", load = 0.5, message = "6 KiB" }]
run.duration = "60 us"
"#;

/// Every kind of packet: data of all positions, notifications, acknowledgements, the packets of ordering protocols and of queue pairs.
#[test]
fn wireshark_shows_the_fields_of_every_kind_of_packet() {
    let large = ("congestion_control.notification.size", "64 B");
    let answer = ("transport.answer", "32 B");
    let writes = ["RC RDMA WRITE First", "RC RDMA WRITE Middle", "RC RDMA WRITE Last", "RC Acknowledge"];
    let cases: [Case; 5] = [
        ("mesh.pcapng", &[], MESH, &["RC SEND First", "RC SEND Middle", "RC SEND Last", "RC SEND Only"]),
        (
            "ordering.pcapng",
            &[large, answer, ("run.drain", "none")],
            ALL,
            &["CNP", "RC Acknowledge", "RC SEND Only"],
        ),
        (
            "windows.pcapng",
            &[large, ("congestion_control.algorithm", "swift")],
            MESH,
            &["RC Acknowledge", "RC SEND First"],
        ),
        ("writes.pcapng", &[], QUEUE_PAIRS, &writes),
        ("sends.pcapng", &[("queue_pairs.verb", "send")], QUEUE_PAIRS, &["RC SEND Middle", "RC Acknowledge"]),
    ];
    let mut fields: Vec<&str> = FIELDS.iter().map(|&(_, field)| field).collect();
    fields.extend([
        "frame.time_epoch",
        "frame.len",
        "_ws.malformed",
        "infiniband.reserved",
        "infiniband.aeth.syndrome",
    ]);
    for (name, overrides, experiment, kinds) in cases {
        let (_, report, file) = captured(experiment, overrides, &all_of(&["*"]), Capturing::WholeRun);
        let Some(rows) = tshark(name, &file, &fields) else { return };
        let records = records(&file);
        assert_eq!((rows.len(), records.len() as u64), (records.len(), report.packets));
        let (mut compared, mut seen) = (0, BTreeMap::new());
        for (record, row) in records.iter().zip(&rows) {
            let summary = record["summary"].as_str().unwrap_or_default().to_owned();
            if record.get("problem").is_some() {
                let shown = FIELDS[..2].iter().map(|(path, _)| text(record.pointer(path)));
                assert!(shown.eq(row[..2].iter().map(|field| plain(field))), "{record}: {row:?}");
                continue;
            }
            // tshark takes all after BTH of a notification for unknown.
            let shown = if summary == "CNP" { FIELDS.len() - 2 } else { FIELDS.len() };
            for ((path, field), theirs) in FIELDS.iter().zip(row).take(shown) {
                assert_eq!(text(record.pointer(path)), plain(theirs), "{name}: {field} of {record}");
                compared += 1;
            }
            let [time, len, malformed, reserved, syndrome] = &row[FIELDS.len()..] else { panic!("{row:?}") };
            let ns = record["time_ns"].as_u64().unwrap_or_default();
            assert_eq!(*time, format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000));
            assert_eq!(len.parse(), Ok(record["lrh"]["packet_length"].as_u64().unwrap_or_default() * 4 + 2));
            assert_eq!(malformed, "", "{record}");
            let marks =
                u8::from(record["bth"]["fecn"] == true) << 7 | u8::from(record["bth"]["becn"] == true) << 6;
            if summary != "CNP" {
                assert_eq!(u8::from_str_radix(&reserved[..2], 16), Ok(marks), "{record}");
            }
            assert_eq!(syndrome.is_empty(), record["aeth"].is_null(), "{record}");
            *seen.entry(summary).or_insert(0) += 1;
        }
        println!("{name}: {compared} values of {} packets compared with tshark: {seen:?}", records.len());
        for kind in kinds {
            assert!(seen.contains_key(*kind), "{name}: no {kind} among {seen:?}");
        }
    }
}
