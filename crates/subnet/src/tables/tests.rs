use super::*;
use crate::{
    Engine, Finding, FindingKind, Guid, LidOptions, NodeId, Options, Subnet, assign_lids, check_tables, read,
};

/// Two switches, an adapter at each.
fn subnet() -> Subnet {
    let text = "Switch 4 \"S-0000000000000020\" # \"a\" base port 0 lid 0\n[1] \"H-0000000000000010\"[1] # \"h1\" lid 0 4xEDR\n\
                [2] \"S-0000000000000030\"[2] # \"b\" lid 0 4xEDR\n\n\
                Switch 4 \"S-0000000000000030\" # \"b\" base port 0 lid 0\n[1] \"H-0000000000000014\"[1] # \"h2\" lid 0 4xEDR\n\
                [2] \"S-0000000000000020\"[2] # \"a\" lid 0 4xEDR\n";
    let mut subnet = read(text.as_bytes(), "net").unwrap().subnet;
    assign_lids(&mut subnet, LidOptions::default()).unwrap();
    subnet
}

#[test]
fn every_form_is_read_as_it_is_written() {
    let subnet = subnet();
    let routing = Engine::MinHop.route(&subnet, &Options::default()).unwrap();
    let tables = &routing.tables;
    let texts = [
        (tables.to_dump(&subnet), TableForm::Dump),
        (tables.to_ibroute(&subnet), TableForm::Ibroute),
        (routing.to_fdbs(&subnet).unwrap(), TableForm::Fdbs),
    ];
    for (text, form) in texts {
        assert_eq!(tables.to_text(&subnet, form).unwrap(), text, "hops of MinHop are the shortest");
        let file = TableFile::read(text.as_bytes(), "t").unwrap();
        assert_eq!(file.form, form);
        let (read, findings) = file.bind(&subnet).unwrap();
        assert_eq!((&read, findings), (tables, Vec::new()), "{text}");
    }
    let directed =
        tables.to_ibroute(&subnet).replace("switch Lid 2 guid", "switch DR path slid 0; dlid 0; 0,1 guid");
    assert_eq!(TableFile::read(directed.as_bytes(), "t").unwrap().tables.len(), 2);
}

/// Given tables may name ports that a switch does not have.
#[test]
fn ports_that_are_not_there_have_no_hops() {
    let subnet = subnet();
    let mut tables = Engine::MinHop.route(&subnet, &Options::default()).unwrap().tables;
    for switch in 0..2 {
        tables.row_mut(switch)[1..].fill(200);
    }
    let text = tables.to_text(&subnet, TableForm::Fdbs).unwrap();
    assert_eq!(text.matches("200  : ").count(), 2 * usize::from(tables.max_lid()), "{text}");
}

#[test]
fn faults_of_files_are_named_with_their_line() {
    let subnet = subnet();
    let good = Engine::MinHop.route(&subnet, &Options::default()).unwrap().tables.to_dump(&subnet);
    let read = |text: &str| {
        let file = TableFile::read(text.as_bytes(), "t").and_then(|file| file.bind(&subnet));
        file.unwrap_err().to_string()
    };
    let lines: Vec<&str> = good.lines().collect();
    for (text, expected) in [
        (String::new(), "t: no forwarding tables in the file".to_owned()),
        (lines[..3].join("\n"), "t:1: the file ends within this table: it is truncated".to_owned()),
        (good.replace("0x0002", "0xC000"), "t:3: LID 49152: must be 1 to 49151".to_owned()),
        (good.replace("0x0002", "0x0001"), "t:3: second entry for LID 1 of this switch".to_owned()),
        (good.replace("0x0002", "0x0009"), "t:3: LID 9 beyond the range [0-4] of its table".to_owned()),
        (
            good.replacen("0x0000000000000030 ('b')", "0x0000000000000099 ('b')", 1),
            "no switch with GUID 0x0000000000000099 in the subnet".to_owned(),
        ),
        (
            format!("{good}{good}"),
            "t:13: second table of switch 0x0000000000000020: line 1 begins the first".to_owned(),
        ),
        (
            good.replacen("4 lids dumped", "9 lids dumped", 1),
            "t:6: 4 entries, but the table states 9: the file is truncated or edited".to_owned(),
        ),
        (good.replacen("0x0001 0", "0x0001 9", 1), "must be 0 to 255".to_owned()),
    ] {
        let error = read(&text);
        assert!(error.contains(&expected), "{error}\n{expected}");
    }
}

#[test]
fn loops_holes_and_missing_entries_are_found() {
    let subnet = subnet();
    let mut tables = Engine::MinHop.route(&subnet, &Options::default()).unwrap().tables;
    assert_eq!(check_tables(&subnet, &tables, "t").unwrap(), []);
    let far = subnet.nodes.iter().find(|node| node.guid == Guid(0x14)).unwrap().ports[1].lid;
    let near = subnet.nodes.iter().find(|node| node.guid == Guid(0x10)).unwrap().ports[1].lid;
    tables.row_mut(1)[usize::from(far)] = 2;
    tables.row_mut(0)[usize::from(near)] = 3;
    tables.row_mut(1)[usize::from(near)] = crate::NO_PORT;
    let findings = check_tables(&subnet, &tables, "t").unwrap();
    let texts: Vec<(FindingKind, &str)> =
        findings.iter().map(|finding| (finding.kind, finding.text.as_str())).collect();
    let (a, b) = ("\"a\" (0x0000000000000020)", "\"b\" (0x0000000000000030)");
    assert_eq!(
        texts,
        [
            (FindingKind::Hole, &*format!("switch {a}: entries that lead nowhere for 1 LIDs ({near})")),
            (FindingKind::NoEntry, &*format!("switch {b}: no entry for 1 LIDs ({near})")),
            (FindingKind::Loop, &*format!("LID {far} loops: {a} - {b} - {a}")),
        ]
    );
    let found = crate::analyse(&subnet, &tables, None, &Sl2Vl::modulo(1)).unwrap();
    assert_eq!((found.pairs.reachable, found.pairs.unreachable), (0, 2));
}

/// The LIDs of two adapters are swapped in the subnet: its tables are as before, so each leads to the other one.
#[test]
fn tables_for_other_lids_are_found() {
    let subnet = subnet();
    let tables = Engine::MinHop.route(&subnet, &Options::default()).unwrap().tables;
    let mut swapped = subnet.clone();
    let adapters: Vec<usize> =
        (0..subnet.nodes.len()).filter(|&node| !subnet.nodes[node].is_switch()).collect();
    let lids = [0, 1].map(|of| subnet.nodes[adapters[of]].ports[1].lid);
    swapped.nodes[adapters[0]].ports[1].lid = lids[1];
    swapped.nodes[adapters[1]].ports[1].lid = lids[0];
    let texts = |findings: Vec<crate::Finding>| -> Vec<(FindingKind, usize, String)> {
        findings.into_iter().map(|finding| (finding.kind, finding.line, finding.text)).collect()
    };
    let found = texts(check_tables(&swapped, &tables, "t").unwrap());
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|one| one.0 == FindingKind::WrongPort && one.2.contains("another port")));
    assert_eq!(crate::analyse(&subnet, &tables, None, &Sl2Vl::modulo(1)).unwrap().misdelivered, 0);
    assert_eq!(crate::analyse(&swapped, &tables, None, &Sl2Vl::modulo(1)).unwrap().misdelivered, 2);
    // The dump states the ports of LIDs; opensm.fdbs does not.
    let bind = |text: &str, subnet: &Subnet| {
        texts(TableFile::read(text.as_bytes(), "t").unwrap().bind(subnet).unwrap().1)
    };
    for dump in [tables.to_dump(&subnet), tables.to_ibroute(&subnet)] {
        assert_eq!(bind(&dump, &subnet), []);
        let found = bind(&dump, &swapped);
        assert!(found.iter().all(|one| one.0 == FindingKind::LidMismatch && one.1 > 1), "{found:?}");
        assert_eq!(found.len(), 2, "once for each LID: {found:?}");
        assert!(found[0].2.contains("0x0000000000000011 here"), "{found:?}");
    }
    let mut moved = subnet.clone();
    let switch = moved.nodes.iter_mut().find(|node| node.is_switch()).unwrap();
    let (old, guid) = (switch.ports[0].lid, switch.guid);
    switch.ports[0].lid = 9;
    let dump = tables.to_dump(&subnet);
    assert_eq!(bind(&dump, &moved), [], "LID {old} of {guid} is that of no port");
    let multicast = dump.replacen(&format!("switch Lid {old} "), "switch Lid 65535 ", 1);
    assert_ne!(multicast, dump);
    assert_eq!(bind(&multicast, &subnet), [], "no port has a multicast LID");
    let other = dump.replacen(
        &format!("switch Lid {old} guid {guid}"),
        &format!("switch Lid {} guid {guid}", lids[0]),
        1,
    );
    assert_ne!(other, dump);
    let found = bind(&other, &subnet);
    assert!(found.len() == 1 && found[0].2.starts_with(&format!("LID {} is that of", lids[0])), "{found:?}");
}

#[test]
fn lines_of_faults_are_those_of_entries_and_tables() {
    let subnet = subnet();
    let good = Engine::MinHop.route(&subnet, &Options::default()).unwrap().tables.to_dump(&subnet);
    let lines: Vec<&str> = good.lines().collect();
    let last = lines.iter().rposition(|line| line.starts_with("0x")).unwrap();
    let bad = |from: &str, to: &str| {
        let mut lines = lines.clone();
        let line = lines[last].replacen(from, to, 1);
        lines[last] = &line;
        let file = TableFile::read((lines.join("\n") + "\n").as_bytes(), "t");
        file.and_then(|file| file.bind(&subnet)).unwrap_err().to_string()
    };
    let port = &lines[last][7..10];
    assert!(bad(&format!(" {port} "), " 200 ").starts_with(&format!("t:{}: port 200 of", last + 1)));
    let fabric = subnet.to_text(crate::Format::Ibnetdiscover);
    let files = crate::report::SubnetFiles {
        fabric: (fabric.as_bytes(), "net"),
        format: None,
        tables: None,
        sl2vl: None,
        path_sls: None,
    };
    let begin = lines.iter().rposition(|line| line.starts_with("Unicast")).unwrap();
    let mut short = lines.clone();
    short.remove(last);
    let short = short.join("\n") + "\n";
    let tables = Some((short.as_bytes(), "t"));
    let found = crate::report::import(&crate::report::SubnetFiles { tables, ..files }).unwrap().1.findings;
    let missing = found.iter().find(|finding| finding.kind == FindingKind::NoEntry).unwrap();
    assert_eq!((missing.file.as_str(), missing.line), ("t", begin + 1), "{missing:?}");
}

/// Tables of a netlist without LIDs are checked with those that OpenSM assigns.
#[test]
fn tables_of_a_netlist_name_lids_that_opensm_assigns() {
    let subnet = subnet();
    let dump = Engine::MinHop.route(&subnet, &Options::default()).unwrap().tables.to_dump(&subnet);
    let mut unassigned = subnet;
    unassigned.nodes.iter_mut().flat_map(|node| &mut node.ports).for_each(|port| port.lid = 0);
    let netlist = unassigned.to_text(crate::Format::Ibsim);
    let found = |tables: &str, levels: &str| {
        let files = crate::report::SubnetFiles {
            fabric: (netlist.as_bytes(), "net"),
            format: None,
            tables: Some((tables.as_bytes(), "t")),
            sl2vl: None,
            path_sls: (!levels.is_empty()).then_some((levels.as_bytes(), "p")),
        };
        let findings = crate::report::import(&files).unwrap().1.findings;
        findings.into_iter().filter(|finding| finding.file != "net").collect::<Vec<_>>()
    };
    assert_eq!(found(&dump, ""), []);
    let entry = dump.lines().rfind(|line| line.starts_with("0x")).unwrap();
    let missing = found(&dump.replacen(&format!("{entry}\n"), "", 1), "");
    assert!(missing.len() == 1 && missing[0].kind == FindingKind::NoEntry, "{missing:?}");
    assert_eq!(found(&dump, "0x0000000000000011 3 7\n0x0000000000000015 2 7\n"), []);
}

#[test]
fn lanes_and_levels_are_read_as_they_are_written() {
    let subnet = subnet();
    let mut lanes = Sl2Vl::modulo(4);
    lanes.set(NodeId(0), 1, 2, std::array::from_fn(|level| level as u8 / 2));
    let text = lanes.to_dump(&subnet);
    let (read, findings) = Sl2Vl::read(text.as_bytes(), "s", &subnet).unwrap();
    assert_eq!(findings, []);
    assert_eq!(read.to_dump(&subnet), text);
    assert_eq!((read.lane(NodeId(0), 1, 2, 5), read.lane(NodeId(0), 2, 1, 5)), (2, 1));
    let bad = text.replacen(" 0  0  1  1  2 ", " 0  0  15 1  2 ", 1);
    let error = Sl2Vl::read(bad.as_bytes(), "s", &subnet).unwrap_err().to_string();
    assert!(error.ends_with("virtual lane 15: must be 0 to 14; 15 is for management"), "{error}");

    let levels = "Channel Adapter 0x0000000000000011, base LID 1, \"h1\"\n# LID : SL\n0x0003 : 7\n";
    let (sls, findings) = crate::PathSls::read(levels.as_bytes(), "p", &subnet).unwrap();
    let text = "1 of 2 paths have no service level here, and get 0; the first is from \"h2\" (0x0000000000000014) port 1 to LID 2";
    assert_eq!(
        findings.iter().map(|one| (one.kind, one.text.as_str())).collect::<Vec<_>>(),
        [(FindingKind::NoLevel, text)]
    );
    let source = subnet.nodes[2].ports[1].lid;
    assert_eq!((sls.base(source, 3), sls.base(source, 1), sls.base(3, source)), (7, 0, 0));
    let (again, findings) = crate::PathSls::read(sls.to_dump(&subnet).as_bytes(), "p", &subnet).unwrap();
    assert_eq!(findings, []);
    assert_eq!(again.to_dump(&subnet), sls.to_dump(&subnet));
    let (list, _) = crate::PathSls::read(b"0x0000000000000011 3 7\n", "p", &subnet).unwrap();
    assert_eq!(list, sls);
    let error = crate::PathSls::read(levels.replace(": 7", ": 16").as_bytes(), "p", &subnet).unwrap_err();
    assert_eq!(error.to_string(), "p:3: service level 16: must be 0 to 15");
}

/// Files that end early between two nodes still parse: what they lack is said.
#[test]
fn what_files_of_levels_and_lanes_lack_is_found() {
    let subnet = subnet();
    let kinds = |findings: &[Finding]| findings.iter().map(|one| one.kind).collect::<Vec<_>>();
    let mut lanes = Sl2Vl::modulo(4);
    lanes.set(NodeId(0), 1, 2, [0; 16]);
    let text = lanes.to_dump(&subnet);
    let first = text.find("\n\n").unwrap() + 1;
    let (_, found) = Sl2Vl::read(&text.as_bytes()[..first], "s", &subnet).unwrap();
    assert!(!found.is_empty() && found.iter().all(|one| one.kind == FindingKind::NoLanes), "{found:?}");
    let row = text.lines().find(|line| line.starts_with("1   2 ")).unwrap();
    let (_, found) = Sl2Vl::read(text.replacen(&format!("{row}\n"), "", 1).as_bytes(), "s", &subnet).unwrap();
    assert_eq!(kinds(&found), [FindingKind::NoLanes], "{found:?}");
    assert!(found[0].text.starts_with("1 of "), "{found:?}");
    let levels = "0x0000000000000011 3 7\n0x0000000000000011 40 7\n";
    let (_, found) = crate::PathSls::read(levels.as_bytes(), "p", &subnet).unwrap();
    assert_eq!(kinds(&found), [FindingKind::UnknownLid, FindingKind::NoLevel]);
    assert_eq!((found[0].line, found[0].text.as_str()), (2, "LID 40 is not that of an adapter's port"));
}

/// A path may be named twice, and with one level only.
#[test]
fn paths_with_two_levels_are_refused() {
    let subnet = subnet();
    let read = |text: &str| crate::PathSls::read(text.as_bytes(), "p", &subnet);
    assert!(read("0x0000000000000011 3 7\n0x0000000000000011 3 7\n").is_ok());
    let error = read("0x0000000000000011 3 7\n0x0000000000000011 3 0\n").unwrap_err().to_string();
    assert!(
        error.starts_with("p:2: ") && error.ends_with("to LID 3 has level 0 here, and 7 before"),
        "{error}"
    );
}

#[test]
fn tables_are_read_as_debians_tools_print_them() {
    let subnet = subnet();
    let tables = Engine::MinHop.route(&subnet, &Options::default()).unwrap().tables;
    let text = tables.to_ibroute(&subnet);
    let warned = format!("{text}\n*** WARNING ***: this command has been replaced by dump_fts\n\n");
    let plain = TableFile::read(text.as_bytes(), "t").unwrap();
    let read = TableFile::read(warned.as_bytes(), "t").unwrap();
    assert_eq!(
        (&read.tables, read.findings.len(), read.findings[0].kind),
        (&plain.tables, 1, FindingKind::Skipped)
    );
    // `ibroute -a`: an entry for LID 0 as well, which counts.
    let with_all = |line: &str| match line.strip_suffix(" valid lids dumped ") {
        Some(count) => format!("{} lids dumped \n", count.parse::<usize>().unwrap() + 1),
        None if line.contains("Port     Info") => format!("{line}\n0x0000 255 : (path #0 - illegal port)\n"),
        None => format!("{line}\n"),
    };
    let all: String = text.lines().map(with_all).collect();
    let entries = |file: &TableFile| {
        file.tables
            .iter()
            .map(|table| table.entries.iter().map(|entry| (entry.0, entry.1)).collect::<Vec<_>>())
            .collect::<Vec<_>>()
    };
    assert_eq!(entries(&TableFile::read(all.as_bytes(), "t").unwrap()), entries(&plain));
    let wrong = all.replacen(" lids dumped", "0 lids dumped", 1);
    assert!(TableFile::read(wrong.as_bytes(), "t").is_err());
}
