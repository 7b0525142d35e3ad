//! LIDs equal to those that OpenSM assigns.

mod support;

use fabricsim_subnet::{Guid, LidOptions, PortId, Subnet, assign_lids};
use support::{reference, subnet};

fn lids(subnet: &Subnet) -> Vec<(Guid, u16)> {
    let ports =
        subnet.nodes.iter().flat_map(|node| node.end_ports().map(|port| node.ports[usize::from(port)]));
    let mut lids: Vec<(Guid, u16)> = ports.map(|port| (port.guid, port.lid)).collect();
    lids.sort();
    lids
}

#[test]
fn lids_of_generated_fabrics() {
    let Some(folder) = reference() else { return };
    for (fabric, table, lmc) in [
        ("mesh3x3", "minhop", 0),
        ("torus5x5", "minhop", 0),
        ("irr9", "minhop", 0),
        ("irr9", "minhop-lmc2", 2),
        ("dfly72", "minhop", 0),
        ("ft4ary3", "minhop", 0),
        ("ft4ary3", "minhop-lmc1", 1),
        ("ft4ary3", "minhop-lmc2", 2),
    ] {
        let mut ours = subnet(&folder.join("topologies").join(format!("{fabric}.topo"))).unwrap();
        // OpenSM ran on this adapter
        ours.manager = ours.find(Guid(0x100000)).map(|node| PortId { node, port: 1 });
        assign_lids(&mut ours, LidOptions { lmc, reassign: false }).unwrap();
        let theirs =
            subnet(&folder.join("tables").join(fabric).join(table).join("opensm-subnet.lst")).unwrap();
        assert_eq!(lids(&ours), lids(&theirs), "{fabric} {table}");
        let again = assign_lids(&mut ours, LidOptions { lmc, reassign: false }).unwrap();
        assert_eq!(again, 0, "LIDs are kept");
    }
}
