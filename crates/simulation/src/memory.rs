//! Whether a fabric can fit into memory at all, told before it is built.

use fabricsim_engine::{Prepared, transport_bytes};
use fabricsim_spec::Queueing;

use crate::RunError;

/// Bytes of a port, at least: its sending and its receiving side.
const PORT: u64 = 128;
/// Bytes of a lane of a port, at least: its credits.
const LANE: u64 = 16;
/// Bytes of a queue.
const QUEUE: u64 = 8;
/// Bytes of a host, at least: its source and its protocol.
const HOST: u64 = 128;

/// Bytes that the fabric takes at the least when nothing is in it: what a run really takes is more.
pub(crate) fn least(prepared: &Prepared) -> u64 {
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
    let host = HOST + PORT + lanes * LANE + transport_bytes(&prepared.experiment);
    switches + prepared.graph.hosts.len() as u64 * host
}

/// Refuses a fabric that needs more bytes than are available.
pub(crate) fn fits(
    prepared: &Prepared,
    needed: u64,
    available: Option<u64>,
    file: &str,
) -> Result<(), RunError> {
    let Some(available) = available.filter(|&available| needed > available) else { return Ok(()) };
    let gibibytes = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    Err(RunError::Memory {
        file: file.to_owned(),
        needed: gibibytes(needed),
        available: gibibytes(available),
        voq: prepared.experiment.switch.queueing == Queueing::Voq,
    })
}

/// Bytes of memory of this machine, or as many as this process may have; `None` where the system does not tell
/// (it does on Linux).
pub(crate) fn available() -> Option<u64> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let group = group.and_then(|text| text.trim().parse::<u64>().ok());
    machine.into_iter().chain(group).min()
}

/// The total of `/proc/meminfo`, in bytes.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
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

    fn least_of(topology: &str, queueing: &str) -> u64 {
        least(&prepared(topology, queueing))
    }

    #[test]
    fn queues_grow_with_the_square_of_the_ports() {
        let (small, large) = ("{ single-switch = { hosts = 100 } }", "{ single-switch = { hosts = 1000 } }");
        assert_eq!(least_of(small, "fifo") * 10, least_of(large, "fifo"));
        assert!(least_of(large, "voq") > 16_000_000);
        assert!(least_of(large, "voq") > 50 * least_of(small, "voq"));
    }

    #[test]
    fn reorder_buffers_count() {
        let bytes = |transport: &str| {
            let text = format!(
                "topology = {{ single-switch = {{ hosts = 10 }} }}\nrun = {{ duration = '1 us' }}\ntransport = {transport}"
            );
            let experiment = fabricsim_spec::read(&text, "e.toml", &[]).unwrap();
            least(&Prepared::new(experiment, Path::new("."), "e.toml").unwrap())
        };
        let with =
            |ring: u32| bytes(&format!("{{ mode = 'ordered', target = {{ reorder_ring = {ring} }} }}"));
        assert!(with(65536) - with(256) >= 10 * (65536 - 256) * 64);
        assert!(with(1) < bytes("{}") + 10 * 9 * 256);
    }

    #[test]
    fn a_fabric_that_does_not_fit_is_refused() {
        let prepared = prepared("{ single-switch = { hosts = 2 } }", "voq");
        let fits = |available| fits(&prepared, 3 << 30, available, "e.toml").map_err(|e| e.to_string());
        assert_eq!(fits(None), Ok(()));
        assert_eq!(fits(Some(3 << 30)), Ok(()));
        let error = fits(Some(2 << 30)).unwrap_err();
        assert!(
            error.contains("e.toml: topology: the fabric takes more than 3.0 GiB, and there are 2.0 GiB")
        );
        assert!(error.ends_with("fewer virtual lanes, or queueing = \"fifo\""), "{error}");
    }

    #[test]
    fn the_total_is_read() {
        assert_eq!(total("MemTotal:       24576 kB\nMemFree: 1 kB\n"), Some(24576 * 1024));
        assert_eq!(total("MemFree: 1 kB\n"), None);
        assert_eq!(total(""), None);
    }
}
