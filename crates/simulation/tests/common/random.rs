//! Random experiments on small fabrics, as the text of their files: what fails can be read and run.

use std::fmt;
use std::path::Path;

use proptest::prelude::*;
use proptest::sample::select;

/// The text of an experiment.
#[derive(Clone)]
pub struct Case(pub String);

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{}", self.0)
    }
}

/// Kind of case that may be requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Anything.
    Any,
    /// Routes and lanes that keep packets of a source and destination in order.
    Ordered,
    /// Rings and meshes with routes that may deadlock, full of traffic, with hardly any buffers.
    Deadlocks,
}

/// A topology, and which routings fit it.
#[derive(Clone, Debug)]
struct Fabric {
    text: String,
    algorithms: &'static [&'static str],
}

const GRID: &[&str] = &["auto", "dimension-order", "look-up-tables", "shortest-path"];
const TREE: &[&str] = &["auto", "up-down", "up-down-adaptive", "shortest-path"];
const OTHER: &[&str] = &["auto", "shortest-path"];

fn fabric(algorithms: &'static [&'static str]) -> impl Fn(String) -> Fabric {
    move |text| Fabric { text, algorithms }
}

fn grids() -> impl Strategy<Value = Fabric> {
    let radices = prop::collection::vec((1_u32..6, any::<bool>()), 1..4).prop_map(|mut axes| {
        while axes.iter().map(|axis| axis.0).product::<u32>() > 16 {
            for axis in &mut axes {
                axis.0 = axis.0.div_ceil(2);
            }
        }
        axes.into_iter().unzip()
    });
    (radices, 1_u32..3, 0..3).prop_map(|((radices, wrap), hosts, kind): ((Vec<u32>, Vec<bool>), u32, i32)| {
        let text = match kind {
            0 => format!("mesh = {{ dimensions = {radices:?}, hosts_per_switch = {hosts} }}"),
            1 => format!("torus = {{ dimensions = {radices:?}, hosts_per_switch = {hosts} }}"),
            _ => {
                format!("grid = {{ dimensions = {radices:?}, wrap = {wrap:?}, hosts_per_switch = {hosts} }}")
            }
        };
        Fabric { text, algorithms: GRID }
    })
}

fn trees() -> impl Strategy<Value = Fabric> {
    let regular = select(vec![(2, 1), (4, 1), (2, 2), (3, 2), (2, 3)])
        .prop_map(|(arity, levels)| format!("fat-tree = {{ arity = {arity}, levels = {levels} }}"));
    let general = (prop::collection::vec((1_u32..4, 1_u32..3), 1..4)).prop_map(|levels| {
        let (children, mut parents): (Vec<u32>, Vec<u32>) = levels.into_iter().unzip();
        parents[0] = 1;
        format!("xgft = {{ children = {children:?}, parents = {parents:?} }}")
    });
    prop_oneof![regular, general].prop_map(fabric(TREE))
}

fn lines() -> impl Strategy<Value = Fabric> {
    let hypercube = (1_u32..4, 1_u32..3)
        .prop_map(|(n, h)| format!("hypercube = {{ dimensions = {n}, hosts_per_switch = {h} }}"));
    let parking = (1_u32..6, 1_u32..3)
        .prop_map(|(n, h)| format!("parking-lot = {{ switches = {n}, hosts_per_switch = {h} }}"));
    let ring = (3_u32..8, 1_u32..3)
        .prop_map(|(n, h)| format!("ring = {{ switches = {n}, hosts_per_switch = {h} }}"));
    prop_oneof![hypercube, parking, ring].prop_map(fabric(GRID))
}

/// A connected graph: a random tree, some links more, hosts anywhere. Its file is named after what is in it.
fn graphs() -> impl Strategy<Value = Fabric> {
    let any_index = any::<prop::sample::Index>;
    let parents = prop::collection::vec(any_index(), 0..7);
    let more = prop::collection::vec((any_index(), any_index()), 0..5);
    let hosts = prop::collection::vec(any_index(), 2..10);
    (parents, more, hosts).prop_map(|(parents, more, hosts)| {
        let count = parents.len() + 1;
        let switches = (0..count).map(|i| format!("[[switch]]\nname = \"S{i}\"\n"));
        let ends = (0..hosts.len()).map(|i| format!("[[host]]\nname = \"H{i}\"\n"));
        let tree = parents.iter().enumerate().map(|(i, parent)| (i + 1, parent.index(i + 1)));
        let cross = more.iter().map(|(a, b)| (a.index(count), b.index(count))).filter(|(a, b)| a != b);
        let between = tree.chain(cross).map(|(a, b)| format!("[[link]]\na = \"S{a}\"\nb = \"S{b}\"\n"));
        let host_links = hosts
            .iter()
            .enumerate()
            .map(|(i, host)| format!("[[link]]\na = \"H{i}\"\nb = \"S{}\"\n", host.index(count)));
        let text: String = switches.chain(ends).chain(between).chain(host_links).collect();
        let name = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("graph-{name:016x}.toml"));
        // Tests that run at the same time may want the same file: it appears as a whole.
        let draft = path.with_extension(format!("{:?}", std::thread::current().id()));
        std::fs::write(&draft, text).unwrap_or_else(|e| panic!("{}: {e}", draft.display()));
        std::fs::rename(&draft, &path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Fabric { text: format!("file = {{ path = {:?} }}", path.display().to_string()), algorithms: OTHER }
    })
}

fn any_fabric() -> BoxedStrategy<Fabric> {
    let single =
        (2_u32..8).prop_map(|n| format!("single-switch = {{ hosts = {n} }}")).prop_map(fabric(OTHER));
    prop_oneof![3 => grids(), 3 => trees(), 2 => lines(), 2 => graphs(), 1 => single].boxed()
}

/// Rings that packets go half round, and graphs.
fn cyclic_fabric() -> BoxedStrategy<Fabric> {
    let ring = (5_u32..9, 1_u32..3)
        .prop_map(|(n, h)| format!("ring = {{ switches = {n}, hosts_per_switch = {h} }}"));
    let torus = select(vec!["[3, 5]", "[4, 4]", "[5]", "[2, 6]"])
        .prop_map(|radices| format!("torus = {{ dimensions = {radices} }}"));
    let regular = prop_oneof![ring, torus].prop_map(fabric(&["shortest-path", "dimension-order"]));
    prop_oneof![3 => regular, 1 => graphs()].boxed()
}

fn rate() -> impl Strategy<Value = &'static str> {
    select(vec!["8 Gb/s", "32 Gb/s", "16 Gb/s", "10 Gb/s", "7 Gb/s", "100 Gb/s", "13.7 Gb/s"])
}

fn time() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec!["1 ps", "1 ns", "5 ns", "64 ns", "128 ns"]).prop_map(str::to_owned),
        (1_u32..100_000).prop_map(|ps| format!("{ps} ps")),
    ]
}

fn delay() -> impl Strategy<Value = String> {
    prop_oneof![1 => Just("0 ns".to_owned()), 2 => time()]
}

/// Sizes that everything else must fit: flow control unit and MTU.
fn sizes() -> impl Strategy<Value = (u32, u32)> {
    (select(vec![1_u32, 8, 16, 64, 100, 512]), select(vec![64_u32, 100, 256, 500, 1024, 2048]))
}

/// `[links]`: of all, and of the hosts. A buffer holds a packet or more.
fn links(unit: u32, mtu: u32, wanted: Wanted) -> impl Strategy<Value = String> {
    let blocks = mtu.div_ceil(unit);
    let more = if wanted == Wanted::Deadlocks { 0..blocks + 1 } else { 0..4 * blocks };
    let buffer =
        prop_oneof![Just(blocks * unit), more.prop_map(move |more| (blocks + more) * unit + unit / 2)];
    let errors = || select(vec!["0", "0", "0", "1e-5", "2e-4"]);
    let link = || (rate(), time(), buffer.clone(), prop_oneof![Just(0_u32), 1_u32..40], 0_u16..4, errors());
    (link(), link(), any::<bool>()).prop_map(|(all, hosts, same)| {
        let table = |name: &str, link: &(&str, String, u32, u32, u16, &str)| {
            let (rate, latency, buffer, overhead, reads, errors) = link;
            format!(
                "[links.{name}]\nrate = \"{rate}\"\nlatency = \"{latency}\"\nbuffer = \"{buffer} B\"\n\
                 packet_overhead = \"{overhead} B\"\nreads = {reads}\nbit_error_rate = {errors}\n"
            )
        };
        table("all", &all) + &if same { String::new() } else { table("hosts", &hosts) }
    })
}

/// `[switch.staging]` and `[switch.age]`, which count for some kinds of switches only, and when a packet is sent.
fn staging_and_age(mtu: u32, unit: u32) -> impl Strategy<Value = String> {
    let blocks = mtu.div_ceil(unit);
    let staging =
        (blocks..3 * blocks + 1, prop_oneof![Just(String::new()), rate().prop_map(str::to_owned)], delay())
            .prop_map(move |(blocks, rate, delay)| {
                let rate = if rate.is_empty() { rate } else { format!("rate = \"{rate}\"\n") };
                format!("[switch.staging]\nbuffer = \"{} B\"\ndelay = \"{delay}\"\n{rate}", blocks * unit)
            });
    let select = select(vec!["0xffffffffffffffff", "0x0", "0x5555555555555555"]);
    let age = (1_u32..200, 0_u8..8, 0_u8..8, select).prop_map(|(period, hosts, all, select)| {
        format!(
            "[switch.age]\nperiod = {period}\nrr_select = \"{select}\"\nbias = {{ hosts = {hosts}, all = {all} }}\n\
             response_bias = {{ all = {} }}\n",
            7 - all
        )
    });
    let when = select_when().prop_map(|when| format!("send_when = \"{when}\"\n"));
    (when, staging, age).prop_map(|(when, staging, age)| when + &staging + &age)
}

fn select_when() -> impl Strategy<Value = &'static str> {
    select(vec!["packet-fits", "packet-fits", "largest-packet-fits"])
}

fn switch(unit: u32, wanted: Wanted) -> impl Strategy<Value = String> {
    let lanes = if wanted == Wanted::Deadlocks { 1_u8..3 } else { 1_u8..5 };
    (
        select(vec!["fifo", "voq", "cioq"]),
        select(vec!["cut-through", "store-and-forward"]),
        delay(),
        lanes,
        select(vec!["block", "packet"]),
        delay(),
        select(vec!["round-robin", "oldest-first", "random", "fixed-priority", "age-based", "age-based"]),
        select(vec![1_u8, 1, 2]),
    )
        .prop_map(move |(queueing, switching, router, lanes, credits, credit, arbiter, classes)| {
            let classes = if wanted == Wanted::Deadlocks { 1 } else { classes };
            let first = if classes > 1 && arbiter != "age-based" { "[1]" } else { "[]" };
            let lanes = lanes * classes;
            format!(
                "[switch]\nqueueing = \"{queueing}\"\nswitching = \"{switching}\"\nrouter_delay = \"{router}\"\n\
                 virtual_lanes = {lanes}\nflow_control_unit = \"{unit} B\"\ncredit_return = \"{credits}\"\n\
                 credit_delay = \"{credit}\"\narbiter = \"{arbiter}\"\n\
                 service_classes = {classes}\npriority_classes = {first}\n"
            )
        })
}

fn host(mtu: u32) -> impl Strategy<Value = String> {
    // A sink that hardly works takes for ever to empty the fabric.
    let work = || 5_u32..200;
    let sink = prop_oneof![
        3 => Just(String::new()),
        1 => rate().prop_map(|rate| format!("sink = {{ rate = \"{rate}\" }}\n")),
        1 => (work(), time()).prop_map(|(work, pause)| {
            format!("sink = {{ pause_every = \"{work} ns\", pause_for = \"{pause}\" }}\n")
        }),
        1 => (rate(), work(), time()).prop_map(|(rate, work, pause)| {
            format!("sink = {{ rate = \"{rate}\", pause_every = \"{work} ns\", pause_for = \"{pause}\" }}\n")
        }),
    ];
    (1_u16..5, sink)
        .prop_map(move |(open, sink)| format!("[host]\nmtu = \"{mtu} B\"\nopen_messages = {open}\n{sink}"))
}

fn routing(algorithms: &'static [&'static str], wanted: Wanted) -> impl Strategy<Value = String> {
    let selections = match wanted {
        Wanted::Ordered => vec!["by-flow"],
        _ => vec!["most-credits", "round-robin", "lowest", "by-flow"],
    };
    let fits = move |algorithm: &&str| wanted != Wanted::Ordered || *algorithm != "up-down-adaptive";
    let algorithms: Vec<&str> = algorithms.iter().copied().filter(fits).collect();
    (select(algorithms), select(selections)).prop_map(|(algorithm, selection)| {
        format!("[routing]\nalgorithm = \"{algorithm}\"\nlane_selection = \"{selection}\"\n")
    })
}

fn message() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => (1_u32..5000).prop_map(|bytes| format!("\"{bytes} B\"")),
        2 => select(vec!["\"64 B\"", "\"512 B\"", "\"2 KiB\""]).prop_map(str::to_owned),
        1 => (1_u32..100, 0_u32..3000)
            .prop_map(|(min, more)| format!("{{ uniform = {{ min = \"{min} B\", max = \"{} B\" }} }}", min + more)),
        1 => (1_u32..500).prop_map(|mean| format!("{{ exponential = {{ mean = \"{mean} B\", max = \"5000 B\" }} }}")),
    ]
}

fn injection(wanted: Wanted) -> BoxedStrategy<String> {
    let saturating = Just("injection = \"saturating\"".to_owned());
    if wanted == Wanted::Deadlocks {
        return saturating.boxed();
    }
    let open = (select(vec!["bernoulli", "poisson", "constant"]), 0.02..1.0)
        .prop_map(|(kind, load)| format!("injection = \"{kind}\"\nload = {load:.2}"));
    let bursts = (50_u32..2000, 1_u32..2000)
        .prop_map(|(on, off)| format!("injection = \"on-off\"\non = \"{on} ns\"\noff = \"{off} ns\""));
    prop_oneof![3 => saturating, 4 => open, 1 => bursts].boxed()
}

/// An entry of the traffic list. Where a host is needed it is that with number `{host}`, to be filled in.
fn traffic(wanted: Wanted) -> impl Strategy<Value = String> {
    let pattern = prop_oneof![
        3 => Just("\"uniform\""),
        1 => Just("\"uniform-with-self\""),
        2 => Just("\"tornado\""),
        2 => Just("\"neighbour\""),
        2 => Just("\"random-permutation\""),
        3 => Just("{ to = \"{host}\" }"),
        1 => Just("{ hot-spot = { hosts = [\"{host}\"], fraction = 0.3 } }"),
    ];
    let span = prop_oneof![
        4 => Just(String::new()),
        1 => (0_u32..3000).prop_map(|start| format!("start = \"{start} ns\"\n")),
        1 => (1_u32..4000).prop_map(|stop| format!("stop = \"{stop} ns\"\n")),
        1 => (1_u32..5).prop_map(|messages| format!("messages = {messages}\n")),
    ];
    (pattern, injection(wanted), message(), span, select(vec!["message", "packet"])).prop_map(
        |(pattern, injection, message, span, draw)| {
            format!(
                "[[traffic]]\npattern = {pattern}\ndraw_per = \"{draw}\"\n{injection}\nmessage = {message}\n{span}"
            )
        },
    )
}

/// `[congestion_control]`, with thresholds and timers at which something happens in a short run.
fn congestion() -> impl Strategy<Value = String> {
    let notification = (select(vec!["cnp", "acknowledgement"]), any::<bool>(), 1_u32..64, delay()).prop_map(
        |(by, first, size, delay)| {
            format!("notification = {{ by = \"{by}\", first = {first}, size = \"{size} B\", delay = \"{delay}\" }}\n")
        },
    );
    let infiniband = (
        (0_u8..16, select(vec!["output", "buffer"]), 0_u16..4, select(vec!["hosts", "none", "all"])),
        (0_u8..16, select(vec!["0:1", "1:3", "3:1"])),
        select(vec!["queue-pair", "service-level"]),
        (100_u32..2000, select(vec!["always", "notification", "each-notification"]), 0_u16..3),
    )
        .prop_map(|((threshold, on, rate, mask), (starvation, late), control, (timer, starts, min))| {
            format!(
                "algorithm = \"infiniband\"\n[congestion_control.infiniband]\nthreshold = {threshold}\n\
                 threshold_on = \"{on}\"\nmarking_rate = {rate}\nvictim_mask = \"{mask}\"\n\
                 credit_starvation_threshold = {starvation}\ncredit_starvation_return_delay = \"{late}\"\n\
                 control = \"{control}\"\nccti_timer = \"{timer} ns\"\ntimer_starts = \"{starts}\"\n\
                 ccti_min = {min}\ncct = {{ linear = {{ step = 0.5, entries = 32 }} }}\n"
            )
        });
    let dcqcn = (64_u32..2000, 0_u32..2000, 1_u32..1000).prop_map(|(k_min, more, timer)| {
        format!(
            "algorithm = \"dcqcn\"\n[congestion_control.dcqcn]\nk_min = \"{k_min} B\"\nk_max = \"{} B\"\n\
             p_max = 0.5\ncnp_interval = \"{timer} ns\"\nrate_timer = \"{timer} ns\"\nalpha_timer = \"{timer} ns\"\n",
            k_min + more
        )
    });
    let algorithm = prop_oneof![2 => infiniband.boxed(), 1 => dcqcn.boxed()];
    let control = (notification, algorithm)
        .prop_map(|(notification, rest)| format!("[congestion_control]\n{notification}{rest}"));
    prop_oneof![2 => Just(String::new()).boxed(), 1 => control.boxed()]
}

/// Names of the hosts of a topology.
fn hosts(fabric: &Fabric) -> Vec<String> {
    let text = format!("[topology]\n{}\n[run]\nduration = \"1 us\"\n", fabric.text);
    let prepared = super::prepare(&text, &[]);
    prepared.graph.hosts.iter().map(|host| host.name.clone()).collect()
}

/// A random experiment without `[run]`.
pub fn experiment(wanted: Wanted) -> impl Strategy<Value = Case> {
    let fabrics = if wanted == Wanted::Deadlocks { cyclic_fabric() } else { any_fabric() };
    (fabrics, sizes())
        .prop_flat_map(move |(fabric, (unit, mtu))| {
            let names = hosts(&fabric);
            let entries = prop::collection::vec((traffic(wanted), select(names)), 1..4);
            let parts = (
                links(unit, mtu, wanted),
                (switch(unit, wanted), staging_and_age(mtu, unit)).prop_map(|(first, then)| first + &then),
                host(mtu),
                routing(fabric.algorithms, wanted),
                congestion(),
                entries,
                0_u64..1000,
            );
            parts.prop_map(move |(links, switch, host, routing, congestion, entries, seed)| {
                let traffic: String =
                    entries.iter().map(|(entry, name)| entry.replace("{host}", name)).collect();
                let topology = &fabric.text;
                // Late credits are not for switches whose input buffers do not wait for outputs.
                let late = "credit_starvation_threshold = ";
                let congestion = if switch.contains("cioq") {
                    congestion.replace(late, &format!("{late}0 # "))
                } else {
                    congestion
                };
                Case(format!(
                    "seed = {seed}\n[topology]\n{topology}\n{links}{switch}{host}{routing}{congestion}{traffic}"
                ))
            })
        })
        .prop_filter("a pattern without destinations", sends)
}

/// True if every entry of the traffic has a source with a destination. All else that a case says must be accepted.
fn sends(case: &Case) -> bool {
    match super::try_prepare(&format!("{}[run]\nduration = \"1 us\"\n", case.0), &[]) {
        Ok(_) => true,
        Err(error) if error.contains("destination other than itself: the entry would send nothing") => false,
        Err(error) if error.contains("no such host exists; choose other `sources`") => false,
        Err(error) => panic!("{error}\n{case:?}"),
    }
}
