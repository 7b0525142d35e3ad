//! Fuzz targets: functions of arbitrary bytes that must not panic, one for each reader of what users write.
//!
//! Every one returns true if the reader accepts the bytes. The tests of this crate call them with the files in `seeds/`
//! and with random changes of these; the programs in `fuzz_targets/` hand them to libFuzzer.

mod size;

use std::path::Path;
use std::sync::LazyLock;

use fabricsim_routing::fdbs;
use fabricsim_spec::{Experiment, Links};
use fabricsim_topology::{Defaults, Format, Graph, parse};
use fabricsim_units::{Bytes, Rate, Time};
use fabricsim_wire::capture::{self, ErfRecord};
use fabricsim_wire::dissect::dissect;
use fabricsim_wire::mad::{MAD_LEN, Mad};
use fabricsim_wire::packet::PacketView;

/// A fuzz target.
pub type Target = fn(&[u8]) -> bool;

/// All targets, by name.
pub const TARGETS: [(&str, Target); 8] = [
    ("experiment", experiment),
    ("overrides", overrides),
    ("graph_toml", graph_toml),
    ("graph_ned", graph_ned),
    ("graph_anynet", graph_anynet),
    ("fdbs", fdbs),
    ("quantities", quantities),
    ("wire", wire),
];

/// A small experiment that is right.
const EXPERIMENT: &str = include_str!("../seeds/experiment/small.toml");

/// A mesh with the names of the thesis, for forwarding tables.
static MESH: LazyLock<Graph> = LazyLock::new(|| {
    let text = "run = { duration = '1 us' }\n[topology.mesh]\ndimensions = [2, 2]\nnaming = 'thesis'";
    let experiment = fabricsim_spec::read(text, "e.toml", &[]).expect("it is right");
    fabricsim_topology::build(&experiment, Path::new("."), "e.toml").expect("it is right")
});

/// The text of an experiment file. A small network is built.
pub fn experiment(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    match fabricsim_spec::read(text, "e.toml", &[]) {
        Ok(experiment) => build(&experiment),
        Err(error) => {
            drop(error.to_string());
            false
        }
    }
}

/// Values set on top of a file: a key and a value in turn, one to a line.
pub fn overrides(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let lines: Vec<&str> = text.lines().collect();
    let overrides: Vec<(String, String)> =
        lines.chunks_exact(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect();
    match fabricsim_spec::read(EXPERIMENT, "e.toml", &overrides) {
        Ok(experiment) => build(&experiment),
        Err(error) => {
            drop(error.located(EXPERIMENT, &overrides).to_string());
            false
        }
    }
}

/// A graph file, `.toml`.
pub fn graph_toml(bytes: &[u8]) -> bool {
    graph(bytes, Format::Toml)
}

/// A graph file, `.ned`.
pub fn graph_ned(bytes: &[u8]) -> bool {
    graph(bytes, Format::Ned)
}

/// A graph file, `.anynet`.
pub fn graph_anynet(bytes: &[u8]) -> bool {
    graph(bytes, Format::Anynet)
}

/// Forwarding tables, `.fdbs`: those that are accepted are written and read again.
pub fn fdbs(bytes: &[u8]) -> bool {
    let Ok(tables) = fdbs::read(bytes, "t.fdbs", &MESH) else { return false };
    let text = fdbs::write(&tables, &MESH, fdbs::RowKeys::Names, "t.fdbs").expect("ports below 255");
    assert_eq!(fdbs::read(text.as_bytes(), "t.fdbs", &MESH).expect("it was written"), tables);
    true
}

/// Numbers with units: what is read is printed and read again.
pub fn quantities(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let (time, size, rate) = (text.parse::<Time>(), text.parse::<Bytes>(), text.parse::<Rate>());
    if let Ok(time) = time {
        assert_eq!(time.to_string().parse(), Ok(time));
    }
    if let Ok(size) = size {
        assert_eq!(size.to_string().parse(), Ok(size));
    }
    if let Ok(rate) = rate {
        assert_eq!(rate.to_string().parse(), Ok(rate));
    }
    time.is_ok() || size.is_ok() || rate.is_ok()
}

/// A capture file, `.pcap`, `.pcapng` or ERF: it is dissected; every whole packet is written and read again.
pub fn wire(bytes: &[u8]) -> bool {
    packet(bytes);
    let Ok(records) = dissect(bytes, "f") else { return false };
    drop(format!("{records:?}"));
    for record in capture::read(bytes, "f").expect("it was dissected").records {
        if let Ok((record, _)) = ErfRecord::parse(record.data) {
            packet(record.content);
        }
    }
    true
}

/// Bytes as a packet: nothing of a whole one is lost, and if its checksums are right it has the length that it states.
fn packet(bytes: &[u8]) {
    let Ok(view) = PacketView::new(bytes) else { return };
    let (_, _) = (view.icrc(), view.vcrc());
    let Ok(packet) = view.packet() else { return };
    let mut buffer = vec![0; packet.wire_len()];
    packet.emit(&mut buffer).expect("it was read");
    let again = PacketView::new(&buffer).and_then(|view| view.packet()).expect("it was written");
    assert_eq!((again.transport, again.payload), (packet.transport, packet.payload));
    if let Ok(mad) = Mad::parse(packet.payload) {
        let mut buffer = [0; MAD_LEN];
        mad.emit(&mut buffer).expect("it has the length");
        assert_eq!(Mad::parse(&buffer), Ok(mad));
        drop(format!("{:?}", mad.attribute()));
    }
}

/// Reads a graph with default parameters of links. A graph that is right can be written in every format, or there is an
/// error that says why not.
fn graph(bytes: &[u8], format: Format) -> bool {
    let links = Links::default();
    let defaults = Defaults { links: &links, flow_control_unit: Bytes(64), file: "e.toml" };
    let Ok(graph) = parse(bytes, format, "g", &defaults) else { return false };
    for format in [Format::Toml, Format::Ned, Format::Anynet, Format::Dot] {
        let _ = fabricsim_topology::export(&graph, format);
    }
    true
}

/// Checks an experiment and builds its network, unless that is large. True if nothing is wrong.
fn build(experiment: &Experiment) -> bool {
    if fabricsim_spec::check(experiment, "e.toml").is_err() {
        return false;
    }
    if size::nodes(&experiment.topology).is_none_or(|nodes| nodes > size::LARGE) {
        return true;
    }
    let Ok(graph) = fabricsim_topology::build(experiment, Path::new("/nonexistent"), "e.toml") else {
        return false;
    };
    fabricsim_routing::build(experiment, &graph, Path::new("/nonexistent"), "e.toml").is_ok()
}
