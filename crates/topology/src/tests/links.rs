use fabricsim_units::{Bytes, Time};

use super::common::{error, experiment, graph, try_graph};
use crate::{LinkClass, largest_packet, overruled};

const MESH: &str = "[topology.mesh]\ndimensions = [2, 2]\nnaming = \"thesis\"\n";
const TREE: &str = "[topology.fat-tree]\narity = 2\nlevels = 3\n";

/// Latency of each link by name, in ns.
fn latencies(text: &str) -> String {
    let graph = graph(text);
    let one = |i: u32| {
        let id = fabricsim_units::LinkId(i);
        format!("{} {}", graph.link_name(id), graph.links[id.index()].parameters.latency.0 / 1000)
    };
    (0..graph.links.len() as u32).map(one).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_more_specific_wins() {
    let text = format!(
        "{MESH}[links.all]\nlatency = \"1 ns\"\n[links.hosts]\nlatency = \"2 ns\"\n[links.dimension.y]\n\
         latency = \"3 ns\"\n[links.named.SW12-SW11]\nlatency = \"4 ns\"\n[links.named.H221-SW22]\nlatency = \"5 ns\""
    );
    let expected = "H111-SW11 2, H121-SW12 2, H211-SW21 2, H221-SW22 5, \
                    SW11-SW12 4, SW21-SW22 1, SW11-SW21 3, SW12-SW22 3";
    assert_eq!(latencies(&text), expected);
}

#[test]
fn parallel_cables_have_names_of_their_own() {
    // Two groups of two routers with eight links between them: at least two pairs of routers have several.
    let graph = graph("[topology.dragonfly]\np = 1\na = 2\nh = 4\ng = 2\n");
    let names: Vec<String> = (0..2 * graph.links.len() as u32).map(|port| graph.port_name(port)).collect();
    let numbered: Vec<(&str, &str)> = names.iter().filter_map(|name| name.split_once(" #")).collect();
    assert!(!numbered.is_empty(), "{names:?}");
    for (port, name) in names.iter().enumerate() {
        let (ends, number) = name.split_once(" #").unwrap_or((name, ""));
        assert_eq!(ends, graph.ends_name(port as u32));
        let alike =
            names.iter().filter(|other| other.split_once(" #").unwrap_or((other, "")).0 == ends).count();
        assert_eq!(number.is_empty(), alike == 1, "{name}");
        assert!(number.is_empty() || (1..=alike).contains(&number.parse().unwrap()), "{name}");
        // Both directions of a cable have its number.
        let back = names[port ^ 1].split_once(" #").map_or("", |(_, number)| number);
        assert_eq!(number, back, "{name}");
    }
}

/// A name with a number, as tables have it, is one of several cables; both orders of its ends are the same cable.
#[test]
fn a_number_names_one_of_parallel_cables() {
    let dragonfly = "[topology.dragonfly]\np = 1\na = 2\nh = 4\ng = 2\n";
    let plain = graph(dragonfly);
    let slowed = |name: &str| {
        let slow = graph(&format!("{dragonfly}[links.named.\"{name}\"]\nlatency = \"77 ns\""));
        let of = slow.links.iter().enumerate().filter(|(_, link)| link.parameters.latency == Time::ns(77));
        of.map(|(link, _)| link).collect::<Vec<_>>()
    };
    let mut several = None;
    for port in 0..2 * plain.links.len() as u32 {
        if let Some((ends, number)) = plain.port_name(port).split_once(" #") {
            let ends = ends.replace("->", "-");
            assert_eq!(slowed(&format!("{ends} #{number}")), [port as usize / 2], "{ends} {number}");
            several = Some(ends);
        }
    }
    let ends = several.expect("there are parallel cables");
    let cables = slowed(&ends).len();
    let wrong = |name: &str| error(&format!("{dragonfly}[links.named.\"{name}\"]\nlatency = \"1 ns\""));
    let message = format!("there are {cables} cables, `{ends} #1` to `{ends} #{cables}`");
    for number in [0, cables + 1] {
        assert!(
            wrong(&format!("{ends} #{number}")).contains(&message),
            "{}",
            wrong(&format!("{ends} #{number}"))
        );
    }
    let single = plain.link_name(fabricsim_units::LinkId(0));
    let one = wrong(&format!("{single} #1"));
    assert!(one.contains(&format!("there is one cable; did you mean `{single}`?")), "{one}");
}

/// One of several cables between two switches is named by its port, also in a fabric from a file, where numbers are those of the file.
#[test]
fn a_port_names_its_cable() {
    let dragonfly = "[topology.dragonfly]\np = 1\na = 2\nh = 4\ng = 2\n";
    let plain = graph(dragonfly);
    for (at, switch) in plain.switches.iter().enumerate() {
        for (port, &link) in switch.ports.iter().enumerate() {
            let text =
                format!("{dragonfly}[links.named.\"{}/{}\"]\nlatency = \"77 ns\"", switch.name, port + 1);
            let slow = graph(&text);
            let slow =
                slow.links.iter().enumerate().filter(|(_, link)| link.parameters.latency == Time::ns(77));
            assert_eq!(slow.map(|(link, _)| link).collect::<Vec<_>>(), [link.index()], "{at}/{port}");
        }
    }
    let mesh = |name: &str| error(&format!("{MESH}[links.named.\"{name}\"]\nlatency = \"77 ns\""));
    for name in ["SW11/0", "SW11/9", "H111/1", "SW11/300", "SW99/1"] {
        assert!(mesh(name).contains("no link has this name"), "{name}: {}", mesh(name));
    }
}

#[test]
fn levels_are_told_apart() {
    let tree =
        graph(&format!("{TREE}[links.level.1]\nlatency = \"3 ns\"\n[links.level.2]\nlatency = \"4 ns\""));
    for link in &tree.links {
        let expected = match link.class {
            LinkClass::Level(1) => 3,
            LinkClass::Level(2) => 4,
            _ => 10,
        };
        assert_eq!(link.parameters.latency, Time::ns(expected));
    }
}

#[test]
fn what_is_wrong_is_named() {
    let cases = [
        (
            MESH,
            "[links.dimension.z]\nreads = 2",
            "links.dimension.z: no dimension `z`: allowed are 0, 1, x, y",
        ),
        (
            MESH,
            "[links.dimension.0]\n[links.dimension.x]",
            "links.dimension.x: this is the same dimension as `0`",
        ),
        (MESH, "[links.level.1]", "links.level.1: links of this topology have no levels"),
        (TREE, "[links.level.3]", "links.level.3: no level `3`: allowed are 1, 2"),
        (TREE, "[links.level.0]", "links.level.0: no level `0`"),
        (MESH, "[links.named.SW11-SW13]", "links.named.\"SW11-SW13\": no link has this name; did you mean"),
        (MESH, "[links.named.SW11-SW22]", "SW11 and SW22 are not joined by a link; did you mean"),
        (MESH, "[links.named.uplink]", "give the names of its ends, for example \"SW11-SW12\""),
        (
            MESH,
            "[links.all]\nlatency = \"0 ns\"",
            "links.all.latency: 0 is not allowed: a link takes at least 1 ps",
        ),
        (
            MESH,
            "[links.hosts]\nlatency = \"2 s\"",
            "links.hosts.latency: 2 s is not allowed: a link takes at least 1 ps, and at most 1 s",
        ),
        (
            MESH,
            "[links.hosts]\nbuffer = \"63 B\"",
            "links.hosts.buffer: 63 B is not allowed: give a size from one",
        ),
        (
            MESH,
            "[links.hosts]\npacket_overhead = \"2 GiB\"",
            "links.hosts.packet_overhead: 2 GiB is not allowed",
        ),
        (
            MESH,
            "[switch]\nvirtual_lanes = 17",
            "switch.virtual_lanes: 17 is not allowed: give a number from 1 to 16",
        ),
        (MESH, "[switch]\nvirtual_lanes = 0", "switch.virtual_lanes: 0 is not allowed"),
        (MESH, "[switch]\nflow_control_unit = \"0 B\"", "switch.flow_control_unit: 0 B is not allowed"),
        (MESH, "[host]\nmtu = \"0 B\"", "host.mtu: 0 B is not allowed"),
    ];
    for (topology, rest, expected) in cases {
        let error = error(&format!("{topology}{rest}"));
        assert!(error.starts_with("test.toml: ") && error.contains(expected), "{rest}\n{error}");
    }
}

/// 2048 B are 32 units of 64 B, and 33 of 63 B.
#[test]
fn a_packet_larger_than_a_buffer_is_refused() {
    let with = |unit: u32, buffer: u32, rest: &str| {
        try_graph(&format!(
            "{MESH}[switch]\nflow_control_unit = \"{unit} B\"\n[links.named.SW11-SW12]\nbuffer = \"{buffer} B\"\n{rest}"
        ))
    };
    assert!(with(64, 2048, "").is_ok());
    let error = with(64, 2047, "").unwrap_err();
    let expected = "host.mtu: a packet of 2048 B takes 32 flow control units of 64 B and would never move over link \
                    SW11-SW12, whose buffers hold 2047 B: give `links` a buffer of at least 2048 B";
    assert!(error.contains(expected), "{error}");
    assert!(with(63, 2048, "").is_err());
    assert!(with(63, 33 * 63, "").is_ok());
    let small = "[[traffic]]\npattern = \"uniform\"\nload = 0.1\nmessage = { uniform = { min = \"1 B\", max = \"64 B\" } }";
    assert!(with(64, 64, small).is_ok());
    assert_eq!(largest_packet(&experiment(&format!("{MESH}{small}"))), Bytes(64));
}

/// A parameter of all links is that of the links for which the graph's file has none: one that no link has is a warning.
#[test]
fn what_a_file_overrules_everywhere_is_named() {
    let warnings = |first: &str, second: &str, links: &str| {
        let text = format!(
            "[topology.inline]\nformat = \"toml\"\ntext = '''\n[[switch]]\nname = \"A\"\n[[host]]\nname = \"h1\"\n[[host]]\nname = \"h2\"\n\
             [[link]]\na = \"A\"\nb = \"h1\"\n{first}\n[[link]]\na = \"A\"\nb = \"h2\"\n{second}\n'''\n{links}"
        );
        overruled(&graph(&text), &experiment(&text))
    };
    let (rate, all) = ("rate = \"32 Gb/s\"", "[links.all]\nrate = \"200 Gb/s\"");
    let hosts = "[links.hosts]\nrate = \"200 Gb/s\"";
    let end = " = \"200 Gb/s\" has no effect: every such link has the rate of the graph, which wins; links.named changes single links";
    assert_eq!(warnings(rate, rate, all), [format!("links.all.rate{end}")]);
    assert_eq!(warnings(rate, rate, hosts), [format!("links.hosts.rate{end}")]);
    assert_eq!(warnings(rate, rate, ""), [""; 0]);
    for (second, links) in [("", all), ("", hosts), ("rate = \"200 Gb/s\"", all)] {
        assert_eq!(warnings(rate, second, links), [""; 0], "one link has it");
    }
    let both = format!("{all}\n[links.hosts]\nrate = \"100 Gb/s\"\n");
    assert_eq!(warnings("", "", &both), [""; 0], "links.hosts wins over links.all, not the file");
    let latency = "latency = \"7 ns\"";
    let found = warnings(latency, latency, "[links.all]\nlatency = \"1 us\"\nbuffer = \"64 KiB\"");
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("links.all.latency = \"1 us\" has no effect"), "{found:?}");
}
