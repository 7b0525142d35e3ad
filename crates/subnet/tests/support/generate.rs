//! Random fabrics: meshes, tori, trees with missing cables, irregular graphs.

use fabricsim_subnet::{Format, PortId, Subnet, read_as};
use std::fmt::Write as _;

/// A small generator of random numbers (SplitMix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % limit
    }
}

/// Cables and adapters of a fabric: pairs of switches, adapters by switch.
#[derive(Default)]
pub(crate) struct Plan {
    pub(crate) cables: Vec<(usize, usize)>,
    /// Ports of adapters at each switch.
    pub(crate) adapters: Vec<usize>,
    /// True if adapters have two ports; every other one uses the second alone.
    pub(crate) two_ports: bool,
}

impl Plan {
    fn grid(random: &mut Random, wraps: bool) -> Self {
        let (x, y) = (2 + random.below(4) as usize, 2 + random.below(4) as usize);
        let mut plan = Self { adapters: vec![1 + random.below(3) as usize; x * y], ..Self::default() };
        for at in 0..x * y {
            let (column, row) = (at % x, at / x);
            if column + 1 < x || (wraps && x > 2) {
                plan.cables.push((at, row * x + (column + 1) % x));
            }
            if row + 1 < y || (wraps && y > 2) {
                plan.cables.push((at, (row + 1) % y * x + column));
            }
        }
        plan
    }

    fn tree(random: &mut Random, missing: bool) -> Self {
        let (leaves, spines) = (2 + random.below(7) as usize, 1 + random.below(5) as usize);
        let trunk = 1 + random.below(3) as usize;
        let mut plan = Self::default();
        let hosts = 1 + random.below(5) as usize;
        plan.adapters = vec![hosts; leaves];
        plan.adapters.resize(leaves + spines, 0);
        for leaf in 0..leaves {
            for spine in 0..spines {
                plan.cables.extend((0..trunk).map(|_| (leaf, leaves + spine)));
            }
        }
        if missing {
            plan.thin(random);
        }
        plan
    }

    /// A k-ary tree of three levels.
    fn deep_tree(random: &mut Random, missing: bool) -> Self {
        let (pods, arity) = (2 + random.below(3) as usize, 2 + random.below(2) as usize);
        let leaf = |pod: usize, index: usize| pod * arity + index;
        let middle = |pod: usize, index: usize| pods * arity + pod * arity + index;
        let top = |group: usize, index: usize| 2 * pods * arity + group * arity + index;
        let mut plan = Self { adapters: vec![0; 2 * pods * arity + arity * arity], ..Self::default() };
        for pod in 0..pods {
            for a in 0..arity {
                plan.adapters[leaf(pod, a)] = 1 + random.below(3) as usize;
                for b in 0..arity {
                    plan.cables.push((leaf(pod, a), middle(pod, b)));
                    plan.cables.push((middle(pod, a), top(a, b)));
                }
            }
        }
        if missing {
            plan.thin(random);
        }
        plan
    }

    fn irregular(random: &mut Random) -> Self {
        let count = 2 + random.below(14) as usize;
        let mut plan =
            Self { adapters: (0..count).map(|_| random.below(4) as usize).collect(), ..Self::default() };
        for at in 1..count {
            plan.cables.push((random.below(at as u64) as usize, at));
        }
        for _ in 0..random.below(2 * count as u64) {
            let (a, b) = (random.below(count as u64) as usize, random.below(count as u64) as usize);
            if a != b {
                plan.cables.push((a, b));
            }
        }
        plan
    }

    fn dragonfly(random: &mut Random) -> Self {
        let (routers, hosts) = (2 + random.below(3) as usize, 1 + random.below(3) as usize);
        let groups = 2 + random.below(routers as u64) as usize;
        let mut plan = Self { adapters: vec![hosts; groups * routers], ..Self::default() };
        for group in 0..groups {
            for a in 0..routers {
                plan.cables.extend((a + 1..routers).map(|b| (group * routers + a, group * routers + b)));
            }
            for other in group + 1..groups {
                plan.cables
                    .push((group * routers + (other - 1) % routers, other * routers + group % routers));
            }
        }
        plan
    }

    /// Removes a few cables at random.
    fn thin(&mut self, random: &mut Random) {
        for _ in 0..=random.below(1 + self.cables.len() as u64 / 8) {
            let slot = random.below(self.cables.len() as u64) as usize;
            if self.cables.len() > 1 {
                self.cables.remove(slot);
            }
        }
    }

    /// Connects parts that removed cables left.
    fn join(&mut self) {
        let count = self.adapters.len();
        let mut part: Vec<usize> = (0..count).collect();
        loop {
            let before = part.clone();
            for &(a, b) in &self.cables {
                let least = part[a].min(part[b]);
                (part[a], part[b]) = (least, least);
            }
            if part != before {
                continue;
            }
            let Some(far) = (0..count).find(|&at| part[at] != part[0]) else { return };
            self.cables.push((0, far));
        }
    }

    /// Number of the adapter of a cable, and the port there.
    fn adapter_port(&self, cable: usize) -> (usize, usize) {
        if self.two_ports { (cable / 3 * 2 + cable % 3 / 2, [1, 2, 2][cable % 3]) } else { (cable, 1) }
    }

    /// The adapters of a netlist, by the other ends of their cables.
    fn adapters_text(&self, cables: &[String]) -> String {
        let ports = 1 + usize::from(self.two_ports);
        let (mut text, mut last) = (String::new(), None);
        for (cable, other) in cables.iter().enumerate() {
            let (node, port) = self.adapter_port(cable);
            let guid = adapter_guid(node);
            if last.replace(node) != Some(node) {
                let _ = write!(
                    text,
                    "\ncaguid=0x{guid:x}\nCa\t{ports} \"H-{guid:016x}\"\t\t# \"node{node} HCA-1\"\n"
                );
            }
            let _ = writeln!(text, "[{port}]({:x}) \t{other}", guid + port);
        }
        text
    }

    /// The subnet of the plan, with shuffled ports and GUIDs if `random` is given.
    pub(crate) fn subnet(&self, mut random: Option<&mut Random>) -> Subnet {
        let count = self.adapters.len();
        let mut ends: Vec<Vec<(String, usize)>> = vec![Vec::new(); count];
        let mut guids: Vec<usize> = (0..count).collect();
        if let Some(random) = random.as_deref_mut() {
            for slot in (1..count).rev() {
                guids.swap(slot, random.below(slot as u64 + 1) as usize);
            }
        }
        // ports are handed out in this order: hosts and cables as they come, or mixed
        let mut parts: Vec<(usize, Option<usize>)> = Vec::new();
        for (at, &hosts) in self.adapters.iter().enumerate() {
            parts.extend((0..hosts).map(|_| (at, None)));
        }
        parts.extend(self.cables.iter().map(|&(a, b)| (a, Some(b))));
        if let Some(random) = random {
            for slot in (1..parts.len()).rev() {
                parts.swap(slot, random.below(slot as u64 + 1) as usize);
            }
        }
        let mut hosts = Vec::new();
        let key = |at: usize| format!("S-{:016x}", 0x20_0000 + guids[at] * 0x101);
        for (at, other) in parts {
            let port = ends[at].len() + 1;
            if let Some(other) = other {
                let back = ends[other].len() + 1 + usize::from(other == at);
                ends[at].push((key(other), back));
                ends[other].push((key(at), port));
            } else {
                let (node, own) = self.adapter_port(hosts.len());
                ends[at].push((format!("H-{:016x}", adapter_guid(node)), own));
                hosts.push(format!("\"{}\"[{port}]\t\t# lid 0 lmc 0 \"sw\" lid 0 4xEDR", key(at)));
            }
        }
        let mut text = String::new();
        for (at, ends) in ends.iter().enumerate().filter(|(_, ends)| !ends.is_empty()) {
            let guid = 0x20_0000 + guids[at] * 0x101;
            let _ = write!(
                text,
                "\nswitchguid=0x{guid:x}({guid:x})\nSwitch\t{} \"{}\"\t\t# \"sw{at}\" ",
                ends.len().max(2),
                key(at)
            );
            text.push_str("enhanced port 0 lid 0 lmc 0\n");
            for (port, (peer, back)) in ends.iter().enumerate() {
                let _ = writeln!(text, "[{}]\t\"{peer}\"[{back}]\t\t# \"x\" lid 0 4xEDR", port + 1);
            }
        }
        let import =
            read_as((text + &self.adapters_text(&hosts)).as_bytes(), "generated", Format::Ibsim).unwrap();
        let mut subnet = import.subnet;
        let first = subnet.ids().find(|(_, node)| !node.is_switch()).map(|(id, _)| id).unwrap();
        subnet.manager = Some(PortId { node: first, port: 1 });
        subnet
    }
}

fn adapter_guid(node: usize) -> usize {
    0x10_0000 + 4 * node
}

/// Makes a random plan.
type MakePlan = fn(&mut Random) -> Plan;

/// A random fabric, and its name.
pub(crate) fn fabric(random: &mut Random) -> (Subnet, &'static str) {
    let kinds: [(&str, MakePlan); 8] = [
        ("mesh", |random| Plan::grid(random, false)),
        ("torus", |random| Plan::grid(random, true)),
        ("tree", |random| Plan::tree(random, false)),
        ("thin tree", |random| Plan::tree(random, true)),
        ("deep tree", |random| Plan::deep_tree(random, false)),
        ("thin deep tree", |random| Plan::deep_tree(random, true)),
        ("irregular", Plan::irregular),
        ("dragonfly", Plan::dragonfly),
    ];
    let (name, make) = kinds[random.below(kinds.len() as u64) as usize];
    let mut plan = make(random);
    if plan.adapters.iter().sum::<usize>() < 2 {
        plan.adapters[0] += 2;
    }
    plan.join();
    let shuffled = random.below(3) > 0;
    plan.two_ports = random.below(3) == 0;
    let subnet = plan.subnet(shuffled.then_some(random));
    (subnet, name)
}

/// Removes a switch that is not `kept`, cables that do not lead to the first of these, or nothing.
fn fail_one(plan: &mut Plan, kept: &[usize], random: &mut Random) {
    match random.below(4) {
        0 => {
            let gone = random.below(plan.adapters.len() as u64) as usize;
            if !kept.contains(&gone) {
                plan.adapters[gone] = 0;
                plan.cables.retain(|&(a, b)| a != gone && b != gone);
            }
        }
        1 => {
            let slot = random.below(plan.cables.len() as u64) as usize;
            let (a, b) = plan.cables[slot];
            let is_seed = [a, b].contains(&kept[0]);
            plan.cables.retain(|&cable| is_seed || cable != (a, b));
        }
        _ => {}
    }
}

/// A random torus or mesh of two or three dimensions, with failures, and its description for Torus-2QoS.
pub(crate) fn torus(random: &mut Random) -> (Subnet, String) {
    let mut sizes = [1usize; 3];
    let dimensions = 2 + random.below(2) as usize;
    sizes[..dimensions].fill_with(|| 2 + random.below(4) as usize);
    let mesh: Vec<bool> = sizes.iter().map(|&size| size <= 2 || random.below(3) == 0).collect();
    let count = sizes.iter().product::<usize>();
    let trunk = 1 + random.below(2) as usize;
    let mut plan = Plan { adapters: vec![1 + random.below(2) as usize; count], ..Plan::default() };
    let place = |at: usize| [at % sizes[0], at / sizes[0] % sizes[1], at / sizes[0] / sizes[1]];
    let index = |place: [usize; 3]| (place[2] * sizes[1] + place[1]) * sizes[0] + place[0];
    let step = |at: usize, dimension: usize, by: usize| {
        let mut next = place(at);
        next[dimension] = (next[dimension] + by) % sizes[dimension];
        index(next)
    };
    for at in 0..count {
        for dimension in (0..3).filter(|&dimension| sizes[dimension] > 1) {
            if place(at)[dimension] + 1 < sizes[dimension] || !mesh[dimension] {
                plan.cables.extend((0..trunk).map(|_| (at, step(at, dimension, 1))));
            }
        }
    }
    let origin = random.below(count as u64) as usize;
    let origin = (0..3).filter(|&dimension| mesh[dimension]).fold(origin, |at, dimension| {
        let mut place = place(at);
        place[dimension] = 0;
        index(place)
    });
    let mut kept = vec![origin];
    let mut text = String::from("torus");
    for dimension in 0..3 {
        let _ = write!(text, " {}{}", sizes[dimension], if mesh[dimension] { "m" } else { "t" });
    }
    text.push_str("\nportgroup_max_ports 64\n");
    let mut links = Vec::new();
    for (dimension, name) in
        ["x", "y", "z"].into_iter().enumerate().filter(|&(dimension, _)| sizes[dimension] > 1)
    {
        links.push((format!("{name}p_link"), step(origin, dimension, 1)));
        if !mesh[dimension] {
            links.push((format!("{name}m_link"), step(origin, dimension, sizes[dimension] - 1)));
        }
    }
    kept.extend(links.iter().map(|link| link.1));
    fail_one(&mut plan, &kept, random);
    let shuffled = random.below(2) > 0;
    let subnet = plan.subnet(shuffled.then_some(random));
    let guid = |at: usize| {
        let name = format!("sw{at}");
        subnet.nodes.iter().find(|node| node.description == name).map_or(0, |node| node.guid.0)
    };
    for (name, neighbour) in &links {
        let _ = writeln!(text, "{name} 0x{:x} 0x{:x}", guid(origin), guid(*neighbour));
    }
    for (dimension, name) in ["x", "y", "z"].into_iter().enumerate() {
        let _ = writeln!(text, "{name}_dateline -{}", place(origin)[dimension]);
    }
    (subnet, text)
}
