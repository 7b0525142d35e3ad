//! The real OpenSM on ibsim, which simulates a fabric without hardware.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fabricsim_subnet::{Format, Subnet};

/// Longest time that OpenSM may take, in steps of [`STEP`].
const STEPS: usize = 1500;
const STEP: Duration = Duration::from_millis(20);

/// Library that replaces the kernel's interface to the adapter.
const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so";

/// Result of OpenSM.
pub(crate) struct Outcome {
    /// Folder with its dumps.
    pub(crate) folder: PathBuf,
    /// Engine that it used in the end.
    pub(crate) engine: String,
    /// Its log.
    pub(crate) log: String,
}

/// True if the programs are there; else says loudly that they are not.
pub(crate) fn is_available() -> bool {
    let there = |program: &str| {
        ["/usr/sbin", "/usr/bin", "/sbin"].iter().any(|folder| Path::new(folder).join(program).exists())
    };
    let missing: Vec<&str> = ["opensm", "ibsim"].into_iter().filter(|program| !there(program)).collect();
    if missing.is_empty() && Path::new(LIBRARY).exists() {
        return true;
    }
    // not by eprintln!, which the test harness captures
    let _ = writeln!(std::io::stderr(), "SKIPPED: {missing:?} missing: run scripts/apt opensm ibsim-utils");
    false
}

/// Ends a program with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Routes a subnet with OpenSM. `config` is added to its options. None if it did not finish.
#[allow(dead_code)]
pub(crate) fn route(subnet: &Subnet, name: &str, config: &str) -> Option<Outcome> {
    route_until(subnet, name, config, |_| true)
}

/// [`route`], which ends when the dumps in the folder are as wanted, or after some seconds without.
pub(crate) fn route_until(
    subnet: &Subnet,
    name: &str,
    config: &str,
    is_complete: impl Fn(&Path) -> bool,
) -> Option<Outcome> {
    const PATIENCE: usize = 100;
    let mut is_up_for = 0;
    let folder = std::env::temp_dir().join(format!("fabricsim-opensm-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("cache")).unwrap();
    fs::write(folder.join("net"), subnet.to_text(Format::Ibsim)).unwrap();
    let mut text = format!("dump_files_dir {}\n", folder.display());
    text.push_str("sweep_interval 0\nforce_log_flush TRUE\nlog_flags 0x43\nqos TRUE\n");
    let _ = writeln!(text, "max_wire_smps 32\nmax_wire_smps2 32\n{config}");
    fs::write(folder.join("osm.conf"), text).unwrap();
    let socket = format!("fabricsim{}{name}", std::process::id());
    let manager = subnet.manager.map(|id| subnet.node(id.node)).unwrap();
    let letter = if manager.is_switch() { 'S' } else { 'H' };
    let host = format!("{letter}-{:016x}", manager.guid.0);
    let log = folder.join("osm.log");
    let sim = Command::new("ibsim")
        .args(["-s", "-n", "-N", "40000", "-S", "8000", "-P", "600000", "-L", "49151"])
        .arg(folder.join("net"))
        .env("IBSIM_SOCKNAME", &socket)
        .current_dir(&folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(folder.join("sim.err")).unwrap())
        .spawn()
        .unwrap();
    let _sim = Running(sim);
    std::thread::sleep(Duration::from_millis(60));
    let manager = Command::new("/usr/sbin/opensm")
        .arg("-F")
        .arg(folder.join("osm.conf"))
        .arg("-f")
        .arg(&log)
        .env("LD_PRELOAD", LIBRARY)
        .env("IBSIM_SOCKNAME", &socket)
        .env("SIM_HOST", host)
        .env("OSM_CACHE_DIR", folder.join("cache"))
        .env("OSM_TMP_DIR", &folder)
        // The library makes folders in the present one.
        .current_dir(&folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let _manager = Running(manager);
    for _ in 0..STEPS {
        std::thread::sleep(STEP);
        let log = fs::read_to_string(&log).unwrap_or_default();
        if log.contains("No routing engine able") {
            return Some(Outcome { folder, engine: String::new(), log });
        }
        if log.contains("SUBNET UP") {
            is_up_for += 1;
            if !is_complete(&folder) && is_up_for < PATIENCE {
                continue;
            }
            let line = log.lines().rev().find(|line| line.contains("tables configured on all switches"));
            let engine = line.and_then(|line| line.split("osm_ucast_mgr_process: ").nth(1));
            let engine = engine.and_then(|rest| rest.split(' ').next()).unwrap_or("").to_owned();
            return Some(Outcome { folder, engine, log });
        }
    }
    None
}
