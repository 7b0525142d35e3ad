//! Fuzz targets: functions of arbitrary bytes that must not panic, one for each reader of what users write.
//!
//! Every one returns true if the reader accepts the bytes. The tests of this crate call them with the files in `seeds/`
//! and with random changes of these; the programs in `fuzz_targets/` hand them to libFuzzer.

mod size;

use std::io::{BufReader, Cursor};
use std::path::Path;
use std::sync::LazyLock;

use fabricsim_mpi::header;
use fabricsim_routing::fdbs;
use fabricsim_spec::{Experiment, Links};
use fabricsim_subnet::{Engine, LidOptions, Options, PathSls, Sl2Vl, Subnet, TableFile, TorusConfig};
use fabricsim_topology::{Defaults, Format, Graph, parse};
use fabricsim_traces::loggp::{self, Parameters};
use fabricsim_traces::{Schedule, chakra, dumpi, goal, ti};
use fabricsim_units::{Bytes, Rate, Time};
use fabricsim_wire::capture::{self, ErfRecord};
use fabricsim_wire::dissect::dissect;
use fabricsim_wire::mad::{MAD_LEN, Mad};
use fabricsim_wire::packet::PacketView;

/// A fuzz target.
pub type Target = fn(&[u8]) -> bool;

/// All targets, by name.
pub const TARGETS: [(&str, Target); 20] = [
    ("experiment", experiment),
    ("overrides", overrides),
    ("graph_toml", graph_toml),
    ("graph_ned", graph_ned),
    ("graph_anynet", graph_anynet),
    ("graph_csv", graph_csv),
    ("graph_graphml", graph_graphml),
    ("fdbs", fdbs),
    ("quantities", quantities),
    ("wire", wire),
    ("mpi_header", mpi_header),
    ("subnet", subnet),
    ("subnet_tables", subnet_tables),
    ("subnet_sl2vl", subnet_sl2vl),
    ("subnet_path_sls", subnet_path_sls),
    ("subnet_torus", subnet_torus),
    ("trace_goal", trace_goal),
    ("trace_ti", trace_ti),
    ("trace_chakra", trace_chakra),
    ("trace_dumpi", trace_dumpi),
];

/// A small experiment that is right.
const EXPERIMENT: &str = include_str!("../seeds/experiment/small.toml");

/// A mesh with the names of the thesis, for forwarding tables.
static MESH: LazyLock<Graph> = LazyLock::new(|| {
    let text = "run = { duration = '1 us' }\n[topology.mesh]\ndimensions = [2, 2]\nnaming = 'thesis'";
    let experiment = fabricsim_spec::read(text, "e.toml", &[]).expect("it is right");
    fabricsim_topology::build(&experiment, Path::new("."), "e.toml").expect("it is right")
});

/// Two switches and two adapters with LIDs, for tables.
static SUBNET: LazyLock<Subnet> = LazyLock::new(|| {
    let text = include_bytes!("../seeds/subnet/small.ibnet");
    let mut subnet = fabricsim_subnet::read(text, "small.ibnet").expect("it is right").subnet;
    fabricsim_subnet::assign_lids(&mut subnet, LidOptions::default()).expect("there are enough LIDs");
    subnet
});

/// Largest subnet that the target routes, in ports: larger ones are only read.
const MOST_PORTS: usize = 400;

/// A subnet in any format. Small ones get LIDs and are routed by all engines, analysed, written, and read again.
pub fn subnet(bytes: &[u8]) -> bool {
    let Ok(mut import) = fabricsim_subnet::read(bytes, "subnet").map_err(|error| drop(error.to_string()))
    else {
        return false;
    };
    for format in [
        fabricsim_subnet::Format::Ibnetdiscover,
        fabricsim_subnet::Format::IbnetdiscoverPorts,
        fabricsim_subnet::Format::OpensmSubnet,
    ] {
        drop(fabricsim_subnet::read_as(import.subnet.to_text(format).as_bytes(), "again", format));
    }
    let is_small = import.subnet.counts().ports <= MOST_PORTS;
    if is_small && fabricsim_subnet::assign_lids(&mut import.subnet, LidOptions::default()).is_ok() {
        for engine in Engine::all() {
            match engine.route(&import.subnet, &Options::default()) {
                Ok(routing) => {
                    let (tables, sls) = (&routing.tables, routing.sls.as_ref());
                    drop(fabricsim_subnet::analyse(&import.subnet, tables, sls, &routing.sl2vl));
                    drop(fabricsim_subnet::check_tables(&import.subnet, tables, "tables"));
                }
                Err(error) => drop(error.to_string()),
            }
        }
    }
    true
}

/// Forwarding tables of a small subnet, in any form.
pub fn subnet_tables(bytes: &[u8]) -> bool {
    let tables = TableFile::read(bytes, "tables").and_then(|file| file.bind(&SUBNET));
    match tables {
        Ok((tables, _)) => {
            drop(fabricsim_subnet::check_tables(&SUBNET, &tables, "tables"));
            drop(fabricsim_subnet::analyse(&SUBNET, &tables, None, &Sl2Vl::modulo(1)));
            true
        }
        Err(error) => {
            drop(error.to_string());
            false
        }
    }
}

/// SL2VL tables of a small subnet.
pub fn subnet_sl2vl(bytes: &[u8]) -> bool {
    Sl2Vl::read(bytes, "sl2vl", &SUBNET).map_err(|error| drop(error.to_string())).is_ok()
}

/// Service levels of the paths of a small subnet.
pub fn subnet_path_sls(bytes: &[u8]) -> bool {
    PathSls::read(bytes, "path-sls", &SUBNET).map_err(|error| drop(error.to_string())).is_ok()
}

/// The description of a torus, which a small subnet is not.
pub fn subnet_torus(bytes: &[u8]) -> bool {
    let Ok(torus) = TorusConfig::read(bytes, "torus").map_err(|error| drop(error.to_string())) else {
        return false;
    };
    let options = Options { torus: Some(torus), ..Options::default() };
    drop(Engine::Torus2Qos.route(&SUBNET, &options));
    true
}

/// The text of an experiment file. A small network is built.
pub fn experiment(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    drop(fabricsim_spec::mistakes(text, "e.toml", &[]));
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
    drop(fabricsim_spec::mistakes(EXPERIMENT, "e.toml", &overrides));
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

/// A table of links, `.csv`.
pub fn graph_csv(bytes: &[u8]) -> bool {
    graph(bytes, Format::Csv)
}

/// GraphML.
pub fn graph_graphml(bytes: &[u8]) -> bool {
    graph(bytes, Format::Graphml)
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

/// The beginning of a message of MPI: headers are within the bytes, and are written and read again.
pub fn mpi_header(bytes: &[u8]) -> bool {
    let Ok(decoded) = header::decode(bytes) else { return false };
    assert!(decoded.size <= bytes.len());
    drop(decoded.header.to_string());
    let again = header::decode(&decoded.header.encode(0)).expect("it was written");
    assert_eq!((again.header, again.size), (decoded.header, decoded.size));
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
    for format in [Format::Toml, Format::Csv, Format::Graphml, Format::Ned, Format::Anynet, Format::Dot] {
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

/// A GOAL schedule, text or binary: it is written and read again, and replayed.
pub fn trace_goal(bytes: &[u8]) -> bool {
    let read = |bytes: &[u8]| goal::read_from(&mut BufReader::new(Cursor::new(bytes)), "trace.goal");
    let Ok(schedule) = read(bytes).map_err(|error| drop(error.to_string())) else { return false };
    let (mut text, mut binary) = (Vec::new(), Vec::new());
    goal::write_text(&schedule, &mut text).expect("memory takes all");
    goal::write_binary(&schedule, &mut binary).expect("memory takes all");
    assert_eq!(read(&text).as_ref(), Ok(&schedule));
    assert_eq!(read(&binary).as_ref(), Ok(&schedule));
    replay(&schedule);
    true
}

/// A time-independent trace of all ranks.
pub fn trace_ti(bytes: &[u8]) -> bool {
    let trace =
        ti::read_events(&mut Cursor::new(bytes), "trace.txt", None, &fabricsim_traces::Options::default());
    let schedule = trace.and_then(|trace| trace.expand("trace.txt"));
    schedule.map_err(|error| drop(error.to_string())).is_ok_and(|schedule| replay(&schedule))
}

/// A rank's file of a Chakra execution trace of four ranks.
pub fn trace_chakra(bytes: &[u8]) -> bool {
    let rank = chakra::read_rank(&mut Cursor::new(bytes), "trace.0.et", 0, 4);
    rank.map_err(|error| drop(error.to_string())).is_ok()
}

/// A DUMPI file of a run with one process.
pub fn trace_dumpi(bytes: &[u8]) -> bool {
    let schedule = dumpi::read_single(&mut BufReader::new(Cursor::new(bytes)), "trace-0000.bin");
    schedule.map_err(|error| drop(error.to_string())).is_ok_and(|schedule| replay(&schedule))
}

/// Replays a schedule on a LogGP network.
fn replay(schedule: &Schedule) -> bool {
    drop(loggp::simulate(schedule, &Parameters::default()).map_err(|error| error.to_string()));
    true
}
