//! Legal and illegal routes of UpDown, on the nine switches of the tutorial (MacArthur et al. 2017, section II-E, figure 7).
//!
//! The text gives root, ranks, the link between b and c and its up end, and the illegal route f - c - g - d. The cables here are those
//! that it names, and as few others as give each switch its rank.

use fabricsim_subnet::{
    Engine, LidOptions, NodeId, Options, Sl2Vl, Subnet, Tables, analyse, assign_lids, read,
};

/// Cables between switches: a is the root, b to e have rank 1, f to i rank 2.
const CABLES: [(char, char); 12] = [
    ('a', 'b'),
    ('a', 'c'),
    ('a', 'd'),
    ('a', 'e'),
    ('b', 'c'),
    ('b', 'f'),
    ('c', 'f'),
    ('c', 'g'),
    ('d', 'g'),
    ('d', 'h'),
    ('e', 'h'),
    ('e', 'i'),
];

/// The subnet with an adapter on each switch. GUIDs ascend with the letters.
fn figure() -> Subnet {
    let mut used = [1_u8; 9];
    let mut lines = vec![Vec::new(); 9];
    for (one, other) in CABLES {
        let (a, b) = ((one as u8 - b'a') as usize, (other as u8 - b'a') as usize);
        used[a] += 1;
        used[b] += 1;
        lines[a].push(format!("[{}] \"{other}\"[{}]\n", used[a], used[b]));
        lines[b].push(format!("[{}] \"{one}\"[{}]\n", used[b], used[a]));
    }
    let nodes = ('a'..='i').zip(lines).map(|(name, lines)| {
        let host = name.to_ascii_uppercase();
        format!(
            "Switch 8 \"{name}\"\n[1] \"{host}\"[1]\n{}\nHca 1 \"{host}\"\n[1] \"{name}\"[1]\n\n",
            lines.concat()
        )
    });
    let text = nodes.collect::<Vec<_>>().concat();
    let mut subnet = read(text.as_bytes(), "figure-7.ibnet").unwrap().subnet;
    assign_lids(&mut subnet, LidOptions::default()).unwrap();
    subnet
}

fn named(subnet: &Subnet, name: char) -> NodeId {
    subnet.ids().find(|(_, node)| node.description == name.to_string()).unwrap().0
}

fn rank(name: char) -> u8 {
    match name {
        'a' => 0,
        'b'..='e' => 1,
        _ => 2,
    }
}

/// True if the step leads to the up end of the link: nearer to the root, or to the lower identifier.
fn is_up(from: char, to: char) -> bool {
    (rank(to), to) < (rank(from), from)
}

/// True if no step up follows a step down.
fn is_legal(route: &str) -> bool {
    let names: Vec<char> = route.chars().collect();
    let steps: Vec<bool> = names.windows(2).map(|step| is_up(step[0], step[1])).collect();
    steps.windows(2).all(|turn| turn[0] || !turn[1])
}

/// Switches on the path of tables.
fn path(subnet: &Subnet, tables: &Tables, from: char, to: char) -> String {
    let host = named(subnet, to.to_ascii_uppercase());
    let lid = usize::from(subnet.nodes[host.index()].ports[1].lid);
    let mut at = named(subnet, from);
    let mut route = String::new();
    while at != host {
        route.push_str(&subnet.node(at).description);
        assert!(route.len() <= 9, "{route} loops");
        let row = tables.switches().iter().position(|&node| node == at).unwrap();
        let port = tables.row(row)[lid];
        at = subnet.node(at).ports[usize::from(port)].peer.unwrap().node;
    }
    route
}

fn all_paths(subnet: &Subnet, tables: &Tables) -> Vec<String> {
    let pairs = ('a'..='i').flat_map(|from| ('a'..='i').map(move |to| (from, to)));
    pairs.filter(|(from, to)| from != to).map(|(from, to)| path(subnet, tables, from, to)).collect()
}

fn options(subnet: &Subnet) -> Options {
    Options { roots: Some(vec![subnet.node(named(subnet, 'a')).guid]), ..Options::default() }
}

#[test]
fn the_tutorials_routes_are_legal_or_not_as_it_says() {
    assert!(!is_legal("fcgd"), "c - g is a step down, g - d one up");
    for legal in ["fcad", "fca", "acg", "fcbf", "hdac"] {
        assert!(is_legal(legal), "{legal}");
    }
    // Of the link between b and c, b is the up end: from b to c and on to a is down and up.
    assert!(is_up('c', 'b') && !is_legal("bca"));
}

#[test]
fn up_down_has_legal_routes_only() {
    let subnet = figure();
    let found = Engine::UpDown.route(&subnet, &options(&subnet)).unwrap();
    let paths = all_paths(&subnet, &found.tables);
    let illegal: Vec<&String> = paths.iter().filter(|path| !is_legal(path)).collect();
    assert!(illegal.is_empty(), "{illegal:?}");
    // From f to d the way up to the root, by b or c, though f - c - g - d is as short.
    let from_f = path(&subnet, &found.tables, 'f', 'd');
    assert!(["fbad", "fcad"].contains(&from_f.as_str()), "{from_f}");
    let analysis = analyse(&subnet, &found.tables, None, &Sl2Vl::modulo(1)).unwrap();
    assert!(analysis.cycle.is_none() && analysis.pairs.unreachable == 0);
}

/// Shortest paths without the rule take turns that it forbids.
#[test]
fn min_hop_has_illegal_routes() {
    let subnet = figure();
    let found = Engine::MinHop.route(&subnet, &Options::default()).unwrap();
    let paths = all_paths(&subnet, &found.tables);
    assert!(paths.iter().any(|path| !is_legal(path)), "{paths:?}");
}

/// The drawback that the tutorial names: traffic concentrates at the root.
#[test]
fn up_down_concentrates_at_the_root() {
    let subnet = figure();
    let through = |tables: &Tables| {
        all_paths(&subnet, tables).iter().filter(|path| path[1..path.len() - 1].contains('a')).count()
    };
    let up_down = Engine::UpDown.route(&subnet, &options(&subnet)).unwrap();
    let min_hop = Engine::MinHop.route(&subnet, &Options::default()).unwrap();
    assert!(through(&up_down.tables) > through(&min_hop.tables));
}
