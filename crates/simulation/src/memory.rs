//! Estimate of the memory of a run, made before its fabric is built, and the memory that is available.

use fabricsim_engine::{Prepared, Snapshot, transport_bytes};
use fabricsim_routing::RoutingFunction;
use fabricsim_spec::{Experiment, PathChoice, Queueing};

use crate::RunError;

// Measured: largest resident size of runs of meshes, fat trees and single switches, tables of results included.

/// Bytes of a run of the smallest network, with its tables.
const BASE: u64 = 48 << 20;
/// Bytes of a port: its sending and its receiving side, its counters, and its share of names and tables.
const PORT: u64 = 320;
/// Bytes of a lane of a port: its credits, its counters, and its row of a table.
const LANE: u64 = 168;
/// Bytes of a queue.
const QUEUE: u64 = 8;
/// Bytes of a host: its source, its protocol, and its rows of tables.
const HOST: u64 = 384;
/// Memory of a host's transport as a multiple of that of a reorder buffer: its connections grow to that in a run.
const TRANSPORT: u64 = 3;
/// Bytes of a row of the table of recorded packets, with its names.
const PACKET_HOP: u64 = 1000;

/// Bytes that a run allocates beyond its prepared experiment: ports, switches and hosts with empty buffers, counters,
/// tables of results, and the snapshots in which it searches for deadlocks. Packets in buffers and in source queues come on top. All outputs count with
/// their queues: at light load those of large switches have fewer.
pub fn needed(prepared: &Prepared) -> u64 {
    let switch = &prepared.experiment.switch;
    let lanes = u64::from(switch.virtual_lanes);
    let of_switch = |ports: u64| {
        let queues = match switch.queueing {
            Queueing::Fifo => ports * lanes,
            Queueing::Voq => ports * ports * lanes,
            Queueing::Cioq => ports * ports * lanes + ports * lanes,
        };
        queues * QUEUE + ports * (PORT + lanes * LANE)
    };
    let switches: u64 = prepared.graph.switches.iter().map(|s| of_switch(s.ports.len() as u64)).sum();
    let host = HOST + PORT + lanes * LANE + TRANSPORT * transport_bytes(&prepared.experiment);
    let hosts = prepared.graph.hosts.len() as u64;
    let measure = &prepared.experiment.measure;
    let hops = if measure.packets.is_empty() { 0 } else { u64::from(measure.packet_hops) * PACKET_HOP };
    BASE + switches + hosts * (host + hosts * path_bytes(prepared)) + snapshot_bytes(prepared) + hops
}

/// Bytes of a snapshot, of which a run has one at a time. A network that is offered less than its links carry holds few packets, and
/// its snapshots are small. Otherwise all input buffers may be full.
fn snapshot_bytes(prepared: &Prepared) -> u64 {
    let switch = &prepared.experiment.switch;
    let workload = &prepared.workload;
    if workload.sources.iter().all(|source| source.nominal_load() < 1.0) {
        return 0;
    }
    let mtu = prepared.experiment.host.mtu.get() as f64;
    let smallest = workload.streams.iter().map(|stream| stream.mean_bytes).fold(mtu, f64::min).max(1.0);
    let lanes = u64::from(switch.virtual_lanes);
    let (mut queues, mut packets) = (0, 0);
    for node in &prepared.graph.switches {
        let of_lane = if switch.queueing == Queueing::Fifo { 1 } else { node.ports.len() as u64 };
        for link in &node.ports {
            let buffer = prepared.graph.links[link.index()].parameters.buffer.get() as f64;
            let waiting = ((buffer / smallest) as u64).max(1);
            packets += lanes * waiting;
            queues += lanes * waiting.min(of_lane);
        }
    }
    Snapshot::bytes_of(queues, packets, lanes)
}

/// Bytes that a host keeps for the choice among the LIDs of another.
fn path_bytes(prepared: &Prepared) -> u64 {
    match prepared.experiment.routing.paths {
        PathChoice::First | PathChoice::Addressed | PathChoice::Hashed => 0,
        PathChoice::InTurn => 1,
        PathChoice::LeastLoaded => 8 * u64::from(prepared.router.paths()),
    }
}

/// Refuses a fabric that needs more bytes than the limit: the given one, else the available memory.
pub(crate) fn fits(
    prepared: &Prepared,
    needed: u64,
    given: Option<u64>,
    available: Option<u64>,
    file: &str,
) -> Result<(), RunError> {
    let Some(limit) = given.or(available).filter(|&limit| needed > limit) else { return Ok(()) };
    Err(RunError::Memory {
        file: file.to_owned(),
        needed,
        limit,
        given: given.is_some(),
        voq: prepared.experiment.switch.queueing == Queueing::Voq,
    })
}

/// Memory that links may take, known before a network is built.
#[derive(Clone, Copy, Debug)]
pub struct LinkMemory {
    /// Bytes of both ends of a link.
    bytes: u64,
    /// Allowed bytes; `None`: any number.
    limit: Option<u64>,
    is_given: bool,
}

impl LinkMemory {
    /// Memory of an experiment's links. The limit is `given`, else the `available` memory; `None`: there is no limit.
    pub fn new(experiment: &Experiment, given: Option<u64>, available: Option<u64>) -> Self {
        let lanes = u64::from(experiment.switch.virtual_lanes);
        Self { bytes: 2 * (PORT + lanes * LANE), limit: given.or(available), is_given: given.is_some() }
    }

    /// Says that this number of links alone takes more than the limit.
    pub fn refuses(&self, links: u64) -> Option<String> {
        let needed = BASE + links * self.bytes;
        let limit = self.limit.filter(|&limit| needed > limit)?;
        let allowed = if self.is_given { "allowed" } else { "available" };
        Some(format!(
            "the run takes at least {} of memory for its {links} links, and {} are {allowed}: make the network smaller, or give its \
             switches fewer virtual lanes, or allow more with --memory",
            size(needed),
            size(limit)
        ))
    }
}

/// A size in the largest binary unit of which it has one or more, with one decimal.
pub(crate) fn size(bytes: u64) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units.into_iter().find(|(shift, _)| bytes >> shift > 0);
    unit.map_or_else(
        || format!("{bytes} B"),
        |(shift, name)| format!("{:.1} {name}", bytes as f64 / (1_u64 << shift) as f64),
    )
}

/// Bytes of memory that this process may still allocate: the memory that the machine, the process's control group and its resource
/// limits leave. `None` if the system reports none of them (Linux does).
pub fn available_memory() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let machine = read("/proc/meminfo").and_then(|text| kibibytes(&text, "MemAvailable:"));
    let status = read("/proc/self/status").unwrap_or_default();
    let limits = read("/proc/self/limits").unwrap_or_default();
    let left = |limit: &str, used: &str| {
        let limit = resource_limit(&limits, limit)?;
        Some(limit.saturating_sub(kibibytes(&status, used)?))
    };
    let address_space = left("Max address space", "VmSize:");
    let data = left("Max data size", "VmData:");
    let all = [machine, address_space, data, group("/sys/fs/cgroup")];
    all.into_iter().flatten().min()
}

/// Bytes that the control group of this process leaves, by version 2 or 1 of the interface.
fn group(root: &str) -> Option<u64> {
    let number = |path: String| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = own.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("").trim().to_owned();
    // File caches count as used, but are reclaimed.
    let cached = |path: String, names: [&str; 2]| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let value =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
        names.into_iter().filter_map(value).sum::<u64>()
    };
    let left = |limit: u64, used: Option<u64>, cached: u64| {
        limit.saturating_sub(used.unwrap_or(0).saturating_sub(cached))
    };
    let version_2 = [format!("{root}{own}"), root.to_owned()].into_iter().filter_map(|folder| {
        let limit = number(format!("{folder}/memory.max"))?;
        let cached = cached(format!("{folder}/memory.stat"), ["inactive_file ", "active_file "]);
        Some(left(limit, number(format!("{folder}/memory.current")), cached))
    });
    let version_1 = number(format!("{root}/memory/memory.limit_in_bytes")).map(|limit| {
        let names = ["total_inactive_file ", "total_active_file "];
        let cached = cached(format!("{root}/memory/memory.stat"), names);
        left(limit, number(format!("{root}/memory/memory.usage_in_bytes")), cached)
    });
    version_2.chain(version_1).min()
}

/// The value of a line of `/proc/meminfo` or `/proc/self/status`, in bytes.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The soft limit of a line of `/proc/self/limits`; `None` if it is unlimited.
fn resource_limit(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn prepared(topology: &str, queueing: &str) -> Prepared {
        let text = format!(
            "switch = {{ queueing = '{queueing}', virtual_lanes = 2 }}\ntopology = {topology}\n\
             run = {{ duration = '1 us' }}"
        );
        let experiment = fabricsim_spec::read(&text, "e.toml", &[]).unwrap();
        Prepared::new(experiment, Path::new("."), "e.toml").unwrap()
    }

    fn needed_of(topology: &str, queueing: &str) -> u64 {
        needed(&prepared(topology, queueing)) - BASE
    }

    #[test]
    fn queues_grow_with_the_square_of_the_ports() {
        let (small, large) = ("{ single-switch = { hosts = 100 } }", "{ single-switch = { hosts = 1000 } }");
        assert_eq!(needed_of(small, "fifo") * 10, needed_of(large, "fifo"));
        assert!(needed_of(large, "voq") > 16_000_000);
        assert!(needed_of(large, "voq") > 50 * needed_of(small, "voq"));
    }

    #[test]
    fn choices_among_lids_count() {
        let bytes = |paths: &str| {
            let text = format!(
                "topology = {{ single-switch = {{ hosts = 200 }} }}\nrun = {{ duration = '1 us' }}\n\
                 routing = {{ algorithm = 'opensm', engine = 'minhop', lmc = 2, paths = '{paths}' }}"
            );
            let experiment = fabricsim_spec::read(&text, "e.toml", &[]).unwrap();
            needed(&Prepared::new(experiment, Path::new("."), "e.toml").unwrap())
        };
        assert_eq!(bytes("least-loaded") - bytes("first"), 200 * 200 * 4 * 8);
        assert_eq!(bytes("in-turn") - bytes("hashed"), 200 * 200);
    }

    #[test]
    fn reorder_buffers_count() {
        let bytes = |transport: &str| {
            let text = format!(
                "topology = {{ single-switch = {{ hosts = 10 }} }}\nrun = {{ duration = '1 us' }}\ntransport = {transport}"
            );
            let experiment = fabricsim_spec::read(&text, "e.toml", &[]).unwrap();
            needed(&Prepared::new(experiment, Path::new("."), "e.toml").unwrap())
        };
        let with =
            |ring: u32| bytes(&format!("{{ mode = 'ordered', target = {{ reorder_ring = {ring} }} }}"));
        assert!(with(65536) - with(256) >= 10 * (65536 - 256) * 64);
        assert!(with(1) < bytes("{}") + 10 * TRANSPORT * 9 * 256);
    }

    #[test]
    fn recorded_packets_count() {
        let bytes = |measure: &str| {
            let text = format!(
                "topology = {{ single-switch = {{ hosts = 10 }} }}\nrun = {{ duration = '1 us' }}\nmeasure = {measure}"
            );
            let experiment = fabricsim_spec::read(&text, "e.toml", &[]).unwrap();
            needed(&Prepared::new(experiment, Path::new("."), "e.toml").unwrap())
        };
        let with = bytes("{ packets = ['* -> *'], packet_hops = 1000000 }");
        assert_eq!(with - bytes("{ packet_hops = 1000000 }"), 1_000_000 * PACKET_HOP);
    }

    #[test]
    fn a_fabric_that_does_not_fit_is_refused() {
        let prepared = prepared("{ single-switch = { hosts = 2 } }", "voq");
        let fits = |given, available| {
            fits(&prepared, 3 << 30, given, available, "e.toml").map_err(|e| e.to_string())
        };
        assert_eq!(fits(None, None), Ok(()));
        assert_eq!(fits(None, Some(3 << 30)), Ok(()));
        assert_eq!(fits(Some(4 << 30), Some(2 << 30)), Ok(()), "a limit that was given counts");
        let error = fits(None, Some(2 << 30)).unwrap_err();
        assert!(error.contains("e.toml: topology: the run takes about 3.0 GiB of memory"), "{error}");
        assert!(error.contains("2.0 GiB are available"), "{error}");
        assert!(error.ends_with("or allow more with --memory"), "{error}");
        assert!(error.contains("queueing = \"fifo\""), "{error}");
        let error = fits(Some(1 << 30), None).unwrap_err();
        assert!(error.contains("1.0 GiB are allowed"), "{error}");
        let error = fits(Some(1 << 10), None).unwrap_err();
        assert!(error.contains("1.0 KiB are allowed"), "{error}");
    }

    /// A torus whose links alone are too many is refused before it is built; its estimate is larger still.
    #[test]
    fn links_are_counted_before_a_network_is_built() {
        let text = "topology.torus = { dimensions = [20, 20] }\nrun.duration = '1 us'";
        let experiment = fabricsim_spec::read(text, "e.toml", &[]).unwrap();
        let prepare = |given| {
            let links = LinkMemory::new(&experiment, given, Some(1));
            let check = |count| links.refuses(count);
            Prepared::observed((experiment.clone(), Path::new("."), "e.toml"), |_| true, &check)
        };
        let prepared = prepare(Some(1 << 30)).unwrap();
        let bytes = BASE + 1200 * 2 * (PORT + LANE * u64::from(experiment.switch.virtual_lanes));
        assert!(needed(&prepared) > bytes);
        assert!(prepare(Some(bytes)).is_ok());
        let error = prepare(Some(bytes - 1)).unwrap_err().to_string();
        assert!(
            error.contains("e.toml: topology: the run takes at least 4")
                && error.contains("for its 1200 links"),
            "{error}"
        );
        assert!(error.contains("are allowed: make the network smaller"), "{error}");
        let error = prepare(None).unwrap_err().to_string();
        assert!(error.contains("1 B are available"), "{error}");
        assert_eq!(LinkMemory::new(&experiment, None, None).refuses(u64::from(u32::MAX)), None);
    }

    #[test]
    fn sizes_have_a_fitting_unit() {
        let cases = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536 << 10, "1.5 MiB"),
            ((1 << 30) - 1, "1024.0 MiB"),
            (3 << 30, "3.0 GiB"),
            (5 << 50, "5120.0 TiB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn what_the_system_reports_is_read() {
        let text = "MemTotal:  9 kB\nMemAvailable:       24576 kB\nMemFree: 1 kB\n";
        assert_eq!(kibibytes(text, "MemAvailable:"), Some(24576 * 1024));
        assert_eq!(kibibytes("MemFree: 1 kB\n", "MemAvailable:"), None);
        assert_eq!(kibibytes("", "MemAvailable:"), None);
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max data size             unlimited            unlimited            bytes     \n\
                    Max address space         1073741824           unlimited            bytes     \n";
        assert_eq!(resource_limit(text, "Max address space"), Some(1 << 30));
        assert_eq!(resource_limit(text, "Max data size"), None);
        assert_eq!(resource_limit("", "Max data size"), None);
    }

    #[test]
    fn a_control_group_leaves_its_limit_less_what_is_used_but_for_caches() {
        let root = std::env::temp_dir().join(format!("fabricsim-group-{}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        let write = |name: &str, text: &str| std::fs::write(root.join(name), text).unwrap();
        write("memory.max", "max\n");
        assert_eq!(group(root.to_str().unwrap()), None);
        write("memory.max", "1000\n");
        write("memory.current", "700\n");
        write("memory.stat", "anon 300\ninactive_file 150\nactive_file 250\n");
        assert_eq!(group(root.to_str().unwrap()), Some(700));
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn this_machine_has_memory() {
        assert!(available_memory().is_none_or(|bytes| bytes > 1 << 20));
    }
}
