use super::*;
use crate::{FindingKind, Guid, NodeId, NodeKind, PortId, Speed, Width};

const NETLIST: &str = r#"#
# Topology file: generated on Wed Aug  6 16:11:23 2025
#
# Initiated from node 0000000000000010 port 0000000000000011

vendid=0x2c9
devid=0xd2f2
sysimgguid=0x20
switchguid=0x20(21)
Switch	65 "S-0000000000000020"		# "Voltaire 4036 # 4036-8C9E; it's "quoted"" enhanced port 0 lid 73 lmc 0
[1]	"H-0000000000000010"[1](11) 		# "a08 mlx5_5" lid 64 4xNDR
[64]	"S-0000000000000030"[3]		# "spine" lid 5 2xXDR
[65]	"H-0000000000000040"[1](40) 		# "Mellanox Technologies Aggregation Node" lid 9 4x???

switchguid=0x30(30)
Switch	40 "S-0000000000000030"		# "spine" base port 0 lid 5 lmc 0

caguid=0x10
Ca	2 "H-0000000000000010"		# "a08 mlx5_5"
[1](11) 	"S-0000000000000020"[1]		# lid 64 lmc 2 "Voltaire 4036" lid 73 4xHDR

rtguid=0x50
Rt	1 "R-0000000000000050"		# "router"
[1](50) 	"S-0000000000000030"[40]		# lid 12 lmc 0 "spine" lid 6 4xEDR
"#;

fn find(import: &Import, kind: FindingKind) -> Vec<&str> {
    import
        .findings
        .iter()
        .filter(|finding| finding.kind == kind)
        .map(|finding| finding.text.as_str())
        .collect()
}

#[test]
fn an_ibnetdiscover_file_with_its_quirks() {
    let import = read(NETLIST.as_bytes(), "net").unwrap();
    assert_eq!(import.format, Format::Ibnetdiscover);
    let subnet = &import.subnet;
    let counts = subnet.counts();
    assert_eq!((counts.switches, counts.adapters, counts.aggregation_nodes, counts.routers), (2, 2, 1, 1));
    assert_eq!((counts.cables, counts.switch_cables, counts.ports), (4, 1, 65 + 40 + 2 + 1 + 1));
    let leaf = &subnet.nodes[0];
    assert_eq!(leaf.description, "Voltaire 4036 # 4036-8C9E; it's \"quoted\"");
    assert_eq!((leaf.guid, leaf.ports[0].guid, leaf.ports[0].lid), (Guid(0x20), Guid(0x21), 73));
    assert_eq!((leaf.vendor, leaf.device, leaf.enhanced_port_0), (0x2c9, 0xd2f2, true));
    assert_eq!((leaf.ports[64].width, leaf.ports[64].speed), (Width::new(2), Some(Speed::Xdr)));
    assert_eq!(leaf.ports[65].speed, None);
    let adapter = &subnet.nodes[2];
    assert_eq!((adapter.ports[1].guid, adapter.ports[1].lid, adapter.ports[1].lmc), (Guid(0x11), 64, 2));
    assert_eq!(subnet.manager, Some(PortId { node: NodeId(2), port: 1 }));
    assert_eq!(subnet.nodes[3].kind, NodeKind::Router);
    // sides that are missing: the spine lists no ports, the aggregation node has no record
    assert_eq!(find(&import, FindingKind::OneSided).len(), 3, "{:?}", import.findings);
    assert_eq!(
        find(&import, FindingKind::NoRecord),
        ["\"Mellanox Technologies Aggregation Node\" (H-0000000000000040) has no record of its own"]
    );
    assert_eq!(find(&import, FindingKind::LidMismatch).len(), 1);
    assert!(find(&import, FindingKind::UnequalEnds)[0].contains("4xNDR"), "{:?}", import.findings);
}

#[test]
fn ibsims_own_rules() {
    let text = "Switch 8 \"Switch1\"\n[1] \"Hca1\"[1] w=4 s=1\n[3] \"Switch2\"[3]\n\nSwitch 8 \"Switch2\"\n\
                [3] \"Switch1\"[3]\n\nHca 2 \"Hca1\"\n[1] \"Switch1\"\nHca 2 \"Hca2\"\n";
    let import = read(text.as_bytes(), "net").unwrap();
    assert_eq!(import.format, Format::Ibsim);
    let guids: Vec<Guid> = import.subnet.nodes.iter().map(|node| node.guid).collect();
    assert_eq!(guids, [0x200000, 0x200001, 0x100000, 0x100003].map(Guid));
    assert_eq!(import.subnet.nodes[2].ports[1].guid, Guid(0x100001));
    assert_eq!(import.subnet.nodes[0].ports[1].speed, Some(Speed::Sdr));
    assert_eq!(find(&import, FindingKind::Isolated), ["\"Hca2\" (0x0000000000100003) has no cable"]);
}

/// What is not read is named with its line, so that no part of a fabric is missing silently.
#[test]
fn ibsims_files_prefixes_and_aliases_are_named() {
    let text = "module pod\ninclude \"other.net\"\nSwitch 8 \"Switch1\"\n[1] \"Hca1\"[1]\n@[3] \"up\"\n\n\
                Hca 2 \"Hca1\"\n[1] \"Switch1\"[1]\n";
    let import = read(text.as_bytes(), "net").unwrap();
    let found = import.findings.iter().filter(|finding| finding.kind == FindingKind::Skipped);
    let found: Vec<_> = found.map(|finding| (finding.line, finding.text.as_str())).collect();
    assert_eq!(
        found,
        [
            (1, "not read: module pod: names have no prefix; write them out"),
            (2, "not read: include \"other.net\": the nodes of that file are missing; put its lines here"),
            (5, "not read: alias \"up\" of port 3: it has no cable"),
        ]
    );
    assert_eq!(import.subnet.counts().switches, 1);
}

#[test]
fn a_list_of_ports() {
    let text = "DR path slid 0; dlid 0; 0 -> new Channel Adapter {00} portnum 1 lid 0-0 \"\"\n\
        CA   134  1 0x7cfe9003003b4bde 4x EDR - SW  1719 10 0x7cfe9003009ce5b0 ( 'o0001 HCA-1' - 'ib-i1l1s01' )\n\
        SW  2052 37 0x506b4b03005c2740 4x ???                                    'ib-i4l1s01'\n\
        SW   479 22 0x0002c9020040f161 4x QDR                                   Infiniscale-IV Mellanox\n";
    let import = read(text.as_bytes(), "links").unwrap();
    assert_eq!(import.format, Format::IbnetdiscoverPorts);
    let subnet = &import.subnet;
    assert_eq!(subnet.counts().switches, 3);
    assert_eq!((subnet.nodes[0].ports[1].lid, subnet.lid_of(subnet.cables().next().unwrap().1)), (134, 1719));
    let names: Vec<&str> = subnet.nodes.iter().map(|node| node.description.as_str()).collect();
    assert_eq!(names, ["o0001 HCA-1", "ib-i4l1s01", "Infiniscale-IV Mellanox", "ib-i1l1s01"]);
    assert_eq!(find(&import, FindingKind::Down), ["2 ports are down or have no cable"]);
}

/// One clear message with file and line for each fault.
#[test]
fn bad_files_are_refused() {
    let leaf = "Switch 4 \"S-0000000000000020\" # \"leaf\" base port 0 lid 3 lmc 0\n";
    let case = |text: &str| read_as(text.as_bytes(), "net", Format::Ibnetdiscover).unwrap_err().to_string();
    let with = |rest: &str| case(&format!("{leaf}{rest}"));
    for (error, expected) in [
        (with("[1] \"S-0000000000000030\"[2] # \"a\" lid"), "net:2: \"end of line\": expected a number"),
        (
            with("[1] \"S-0000000000000030\"[2] # \"a\" lid 4 4xED"),
            "net:2: \"4xED\": expected a speed after the width (SDR to XDR, or ???)",
        ),
        (with("[1] \"S-00000000"), "net:2: \"S-00000000\": expected \""),
        (with("[9] \"S-0000000000000030\"[2] # \"a\" lid 4\n"), "net:2: port 9 of \"leaf\": must be 1 to 4"),
        (with(leaf), "net:2: duplicate node \"S-0000000000000020\": line 1 declares it already"),
        (
            with("[1] \"S-0000000000000030\"[2] # \"b\"\n[2] \"S-0000000000000030\"[2] # \"b\"\n"),
            "net:3: port 2 of \"b\" has two cables: to \"leaf\" (0x0000000000000020) port 1 and to \"leaf\" (0x0000000000000020) port 2",
        ),
        (
            with("\nswitchguid=0x20\nSwitch 4 \"other\" # \"b\" lid 4\n"),
            "net:4: duplicate GUID 0x0000000000000020: line 1 has it already",
        ),
        (
            with("\nswitchguid=0x30\nSwitch 4 \"other\" # \"b\" lid 3\n"),
            "net:4: LID 3 of \"b\" (0x0000000000000030) port 0 belongs to \"leaf\" (0x0000000000000020) port 0 already",
        ),
        (case("Switch 4 \"a\" # \"a\" lid 49152\n"), "net:1: LID 49152: must be 1 to 49151"),
        (case("Switch 4 \"a\" # \"a\" lid 1 lmc 8\n"), "net:1: LMC 8: must be 0 to 7"),
        (case("Switch 300 \"a\"\n"), "net:1: 300 ports: must be 1 to 254"),
        (case("Ca 18446744073709551615 \"a\"\n"), "net:1: 18446744073709551615 ports: must be 1 to 254"),
        (
            case("[1] \"a\"[1]\n"),
            "net:1: \"[1] \"a\"[1]\": expected a record (Switch, Ca, Hca, Rt) before its ports",
        ),
        (case("# nothing\n"), "net: no nodes in the file"),
    ] {
        assert_eq!(error, expected.replace("\"[1] \"a\"[1]\"", "\"[1] \\\"a\\\"[1]\""));
    }
    assert_eq!(
        read(b"\xff\xfe", "net").unwrap_err().to_string(),
        format!("net: unknown format: must be one of {FORMATS}")
    );
    assert_eq!(read(b" \n", "net").unwrap_err().to_string(), "net: no nodes in the file");
    let cut = "{ SW Ports:08 SystemGUID:20 NodeGUID:20 PortGUID:20 VenID:2C9 DevID:1 Rev:1 {sw0} LID:2 PN:01 } { CA Ports";
    assert_eq!(read(cut.as_bytes(), "lst").unwrap_err().to_string(), "lst:1: \"Ports\": expected Ports:");
}

#[test]
fn two_parts_are_a_finding_and_no_engine_routes_them() {
    let text = "Switch 4 \"S-0000000000000020\" # \"a\" base port 0 lid 1\n[1] \"S-0000000000000021\"[1] # \"b\" lid 2 4xEDR\n\n\
                Switch 4 \"S-0000000000000030\" # \"c\" base port 0 lid 3\n[1] \"S-0000000000000031\"[1] # \"d\" lid 4 4xEDR\n";
    let import = read(text.as_bytes(), "net").unwrap();
    assert_eq!(
        find(&import, FindingKind::Divided),
        ["the subnet has 2 parts: 2 nodes with \"a\"; 2 nodes with \"c\""]
    );
    let place = import.findings.iter().find(|finding| finding.kind == FindingKind::Divided).unwrap();
    assert_eq!(place.line, 4, "where the second part begins");
    for engine in crate::Engine::all() {
        let error = engine.route(&import.subnet, &crate::Options::default()).unwrap_err().to_string();
        assert!(error.starts_with("the subnet has several parts: no path from \"a\""), "{engine}: {error}");
    }
}

/// Whatever a format can say survives writing and reading.
#[test]
fn formats_are_written_as_they_are_read() {
    let mut subnet = read(NETLIST.as_bytes(), "net").unwrap().subnet;
    let same = |a: &crate::Subnet, b: &crate::Subnet| {
        let cables = |subnet: &crate::Subnet| {
            let name = |id: PortId| {
                (subnet.port(id).guid, id.port, subnet.lid_of(id), subnet.node(id.node).description.clone())
            };
            let mut cables: Vec<_> = subnet
                .cables()
                .map(|(a, b)| {
                    let mut ends = [name(a), name(b)];
                    ends.sort();
                    (ends, subnet.port(a).width, subnet.port(b).speed.or(subnet.port(a).speed))
                })
                .collect();
            cables.sort_by(|a, b| a.0.cmp(&b.0));
            cables
        };
        assert_eq!(cables(a), cables(b));
    };
    // one rate for both ends
    let rates: Vec<_> = subnet.cables().collect();
    for (a, b) in rates {
        let (width, speed) = (Some(Width::FOUR), Some(Speed::Hdr));
        for id in [a, b] {
            (subnet.port_mut(id).width, subnet.port_mut(id).speed) = (width, speed);
        }
    }
    subnet.nodes[0].description = "a # b; c".to_owned();
    for format in [Format::Ibnetdiscover, Format::Ibsim, Format::IbnetdiscoverPorts, Format::OpensmSubnet] {
        let text = subnet.to_text(format);
        let again =
            read_as(text.as_bytes(), "again", format).unwrap_or_else(|error| panic!("{error}\n{text}"));
        if format != Format::Ibsim {
            assert_eq!(detect(text.as_bytes()), Some(format));
        }
        same(&subnet, &again.subnet);
    }
}

proptest::proptest! {
    /// No reader panics on damaged files.
    #[test]
    fn damaged_files_do_not_panic(cut in 0usize..1200, at in 0usize..1200, byte in 0u8..=255) {
        let mut bytes = NETLIST.as_bytes().to_vec();
        let slot = at % bytes.len();
        bytes[slot] = byte;
        bytes.truncate(cut.max(1));
        for format in [Format::Ibnetdiscover, Format::Ibsim, Format::IbnetdiscoverPorts, Format::OpensmSubnet] {
            if let Err(error) = read_as(&bytes, "net", format) {
                drop(error.to_string());
            }
        }
    }
}

/// `ibnetdiscover` writes a blank before the port's GUID where two adapters are joined directly.
#[test]
fn adapters_may_be_joined_directly() {
    let text = "vendid=0x0\ndevid=0x0\nsysimgguid=0x14\ncaguid=0x14\n\
                Ca\t2 \"H-0000000000000014\"\t\t# \"h2\"\n\
                [1](15) \t\"H-0000000000000011\"[1] (12) \t\t# lid 2 lmc 0 \"h1\" lid 1 4xEDR\n\n\
                vendid=0x0\ndevid=0x0\nsysimgguid=0x11\ncaguid=0x11\n\
                Ca\t2 \"H-0000000000000011\"\t\t# \"h1\"\n\
                [1](12) \t\"H-0000000000000014\"[1] (15) \t\t# lid 1 lmc 0 \"h2\" lid 2 4xEDR\n";
    let subnet = read(text.as_bytes(), "net").unwrap().subnet;
    let ends: Vec<_> = subnet.cables().map(|(a, b)| [subnet.port(a).guid, subnet.port(b).guid]).collect();
    assert_eq!(ends, [[Guid(0x15), Guid(0x12)]]);
}
