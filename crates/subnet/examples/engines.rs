//! Times of the engines on large fabrics: `cargo run --release --example engines -- [THREADS]`.
//!
//! Prints, for each fabric and engine, seconds, layers, and a hash of the tables, which does not depend on the number of threads.
//! Seconds are processor time with one thread, else wall time.
#![allow(clippy::disallowed_methods, reason = "the program measures time")]

use std::fmt::Write as _;
use std::time::Instant;

use fabricsim_subnet::{Engine, Format, LidOptions, Options, PortId, Subnet, analyse, assign_lids, read_as};

/// Runs of each engine.
const RUNS: usize = 5;

/// Clock of the processor time of one thread, where the system has it, or of wall time.
struct Clock {
    processor: Option<u64>,
    wall: Instant,
}

impl Clock {
    fn start() -> Self {
        Self { processor: Self::processor(), wall: Instant::now() }
    }

    /// Nanoseconds that this thread ran; none if several threads work.
    fn processor() -> Option<u64> {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split(' ').next()?.parse().ok().filter(|_| rayon::current_num_threads() == 1)
    }

    fn seconds(&self) -> f64 {
        match (self.processor, Self::processor()) {
            (Some(begin), Some(end)) => (end - begin) as f64 / 1e9,
            _ => self.wall.elapsed().as_secs_f64(),
        }
    }
}

/// Switches with their cables and numbers of adapters.
struct Plan {
    cables: Vec<(usize, usize)>,
    adapters: Vec<usize>,
}

/// A dragonfly of `groups` complete groups of `routers`, each with `globals` cables to other groups and `adapters` adapters.
fn dragonfly(routers: usize, globals: usize, adapters: usize) -> Plan {
    let groups = routers * globals + 1;
    let mut cables = Vec::new();
    for group in 0..groups {
        for a in 0..routers {
            cables.extend((a + 1..routers).map(|b| (group * routers + a, group * routers + b)));
        }
        for other in group + 1..groups {
            let (there, back) = (other - group - 1, groups - 1 - (other - group));
            cables.push((group * routers + there / globals, other * routers + back / globals));
        }
    }
    Plan { cables, adapters: vec![adapters; groups * routers] }
}

/// A fat tree of three levels of switches with `radix` ports.
fn tree(radix: usize) -> Plan {
    let half = radix / 2;
    let (leaves, middles) = (radix * half, radix * half);
    let mut cables = Vec::new();
    for pod in 0..radix {
        for a in 0..half {
            for b in 0..half {
                cables.push((pod * half + a, leaves + pod * half + b));
                cables.push((leaves + pod * half + a, leaves + middles + a * half + b));
            }
        }
    }
    let mut adapters = vec![half; leaves];
    adapters.resize(leaves + middles + half * half, 0);
    Plan { cables, adapters }
}

impl Plan {
    fn netlist(&self) -> String {
        let mut ends: Vec<Vec<String>> = vec![Vec::new(); self.adapters.len()];
        let mut hosts = String::new();
        let mut number = 0;
        let key = |at: usize| format!("S-{:016x}", 0x20_0000 + at);
        for (at, &count) in self.adapters.iter().enumerate() {
            for port in 1..=count {
                let guid = 0x100_0000 + number * 4;
                number += 1;
                ends[at].push(format!("\"H-{guid:016x}\"[1]({:x})", guid + 1));
                let _ = write!(
                    hosts,
                    "\ncaguid=0x{guid:x}\nCa\t1 \"H-{guid:016x}\"\t\t# \"node{number} HCA-1\"\n"
                );
                let _ = writeln!(
                    hosts,
                    "[1]({:x}) \t\"{}\"[{port}]\t\t# lid 0 lmc 0 \"sw\" lid 0 4xEDR",
                    guid + 1,
                    key(at)
                );
            }
        }
        for &(a, b) in &self.cables {
            let (port, back) = (ends[a].len() + 1, ends[b].len() + 1);
            ends[a].push(format!("\"{}\"[{back}]", key(b)));
            ends[b].push(format!("\"{}\"[{port}]", key(a)));
        }
        let mut text = String::new();
        for (at, ends) in ends.iter().enumerate() {
            let guid = 0x20_0000 + at;
            let _ =
                write!(text, "\nswitchguid=0x{guid:x}({guid:x})\nSwitch\t{} \"{}\"\t\t", ends.len(), key(at));
            let _ = writeln!(text, "# \"sw{at}\" enhanced port 0 lid 0 lmc 0");
            for (port, end) in ends.iter().enumerate() {
                let _ = writeln!(text, "[{}]\t{end}\t\t# \"x\" lid 0 4xEDR", port + 1);
            }
        }
        text + &hosts
    }
}

fn load(name: &str, plan: &Plan) -> Subnet {
    let netlist = plan.netlist();
    let clock = Clock::start();
    let mut subnet = read_as(netlist.as_bytes(), name, Format::Ibsim).expect("the netlist is right").subnet;
    let read = clock.seconds();
    let first = subnet.ids().find(|(_, node)| !node.is_switch()).map(|(id, _)| id);
    subnet.manager = first.map(|node| PortId { node, port: 1 });
    assign_lids(&mut subnet, LidOptions::default()).expect("there are enough LIDs");
    let ports = subnet.counts().ports;
    println!("{name}: {ports} ports, {} bytes read in {:.3} s", netlist.len(), read);
    subnet
}

fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Runs an engine several times: the least time counts, since other programs disturb.
fn measure(name: &str, subnet: &Subnet, engine: Engine) {
    let mut least = f64::INFINITY;
    let mut result = None;
    for _ in 0..RUNS {
        let clock = Clock::start();
        result = Some(engine.route(subnet, &Options::default()));
        least = least.min(clock.seconds());
    }
    match result.expect("it ran") {
        Ok(routing) => {
            let tables = &routing.tables;
            let all: Vec<u8> =
                (0..tables.switches().len()).flat_map(|row| tables.row(row).iter().copied()).collect();
            let layers = routing.layers;
            println!("{name:24} {engine:10} {least:8.3} s, {layers} layers, tables {:016x}", hash(&all));
        }
        Err(error) => println!("{name:24} {engine:10} {error}"),
    }
}

fn main() {
    let threads: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start");
    pool.install(|| {
        use Engine::{Dfsssp, FatTree, Lash, MinHop, Nue, Sssp, UpDown};
        let small = load("1056-host dragonfly", &dragonfly(8, 4, 4));
        for engine in [MinHop, Sssp, Dfsssp, Lash, Nue] {
            measure("1056-host dragonfly", &small, engine);
        }
        let routing = Dfsssp.route(&small, &Options::default()).expect("it routes");
        let clock = Clock::start();
        let found =
            analyse(&small, &routing.tables, routing.sls.as_ref(), &routing.sl2vl).expect("it is connected");
        println!("analysis of its DFSSSP tables: {:.3} s, {:?}", clock.seconds(), found.link_load);
        let small = load("1024-host tree", &tree(16));
        for engine in [MinHop, UpDown, FatTree, Lash] {
            measure("1024-host tree", &small, engine);
        }
        let large = load("11664-host tree", &tree(36));
        for engine in [MinHop, FatTree, UpDown] {
            measure("11664-host tree", &large, engine);
        }
        let routing = FatTree.route(&large, &Options::default()).expect("it routes");
        let clock = Clock::start();
        let found = analyse(&large, &routing.tables, None, &routing.sl2vl).expect("it is connected");
        println!("analysis of its FatTree tables: {:.3} s, {:?}", clock.seconds(), found.link_load);
        let large = load("16512-host dragonfly", &dragonfly(16, 8, 8));
        measure("16512-host dragonfly", &large, MinHop);
    });
}
