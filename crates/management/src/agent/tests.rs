use fabricsim_subnet::Port;
use fabricsim_wire::field::Table;
use fabricsim_wire::ids::TransactionId;
use fabricsim_wire::mad::AttributeId;
use fabricsim_wire::mad::smp::{LinearForwardingTable, SmpAttribute};

use super::*;

fn node(kind: NodeKind, ports: usize) -> Node {
    Node {
        kind,
        guid: fabricsim_subnet::Guid(0x10),
        system_guid: fabricsim_subnet::Guid(0x10),
        vendor: 0,
        device: 0,
        revision: 0,
        description: "a node".to_owned(),
        enhanced_port_0: false,
        ports: vec![Port::default(); ports + 1],
        line: 0,
    }
}

fn request(method: Method, attribute: &SmpAttribute, modifier: u32) -> DirectedSmp {
    DirectedSmp::new(method, TransactionId(1), &[]).unwrap().with(attribute, modifier).unwrap()
}

fn answer(agent: &mut Agent, method: Method, attribute: SmpAttribute, modifier: u32) -> (u16, Vec<Effect>) {
    let mut effects = Vec::new();
    let answer = agent.answer(&request(method, &attribute, modifier), 1, &mut effects);
    assert_eq!(answer.method, Method::GET_RESP);
    (answer.status, effects)
}

fn port_info(state: PortState, lid: u16) -> SmpAttribute {
    SmpAttribute::PortInfo(PortInfo { port_state: state, lid: Lid(lid), ..PortInfo::default() })
}

#[test]
fn a_port_is_armed_before_it_is_active() {
    let mut agent = Agent::new(&node(NodeKind::Switch, 2));
    let set = |agent: &mut Agent, state| answer(agent, Method::SET, port_info(state, 0), 1);
    assert_eq!(set(&mut agent, PortState::ARMED), (INVALID, vec![]), "the link is down");
    agent.link_up(1);
    assert_eq!(set(&mut agent, PortState::ACTIVE), (INVALID, vec![]), "not armed yet");
    assert_eq!(set(&mut agent, PortState::ARMED), (0, vec![Effect::PortState(1)]));
    assert_eq!(set(&mut agent, PortState::ACTIVE), (0, vec![Effect::PortState(1)]));
    assert!(agent.is_active(1));
    agent.link_down(1);
    assert!(!agent.is_active(1));
    let change = agent.switch.unwrap().port_state_change;
    assert!(change);
}

#[test]
fn routes_count_up_to_the_top() {
    let mut agent = Agent::new(&node(NodeKind::Switch, 2));
    let mut ports = Table([NO_PORT; 64]);
    ports.0[1] = 2;
    let block = SmpAttribute::LinearForwardingTable(LinearForwardingTable { ports });
    assert_eq!(answer(&mut agent, Method::SET, block, 1), (0, vec![Effect::Routes(64)]));
    assert_eq!(agent.route(65), None, "above the top");
    let top = SmpAttribute::SwitchInfo(SwitchInfo { linear_fdb_top: Lid(65), ..SwitchInfo::default() });
    assert_eq!(answer(&mut agent, Method::SET, top, 0), (0, vec![Effect::Routes(0), Effect::Routes(64)]));
    assert_eq!((agent.route(65), agent.route(64), agent.route(1)), (Some(2), None, None));
    agent.power_off();
    assert_eq!(agent.route(65), None);
}

#[test]
fn what_is_not_allowed_changes_nothing() {
    let mut agent = Agent::new(&node(NodeKind::Adapter, 1));
    agent.link_up(1);
    assert_eq!(answer(&mut agent, Method::SET, port_info(PortState::NO_CHANGE, 0), 1), (INVALID, vec![]));
    assert_eq!(
        answer(&mut agent, Method::SET, port_info(PortState::NO_CHANGE, 0xc000), 1),
        (INVALID, vec![])
    );
    assert_eq!(answer(&mut agent, Method::GET, port_info(PortState::NO_CHANGE, 0), 2), (INVALID, vec![]));
    let switch = SmpAttribute::SwitchInfo(SwitchInfo::default());
    assert_eq!(answer(&mut agent, Method::GET, switch, 0), (NOT_SUPPORTED, vec![]));
    assert_eq!(agent.lid(1), Lid(0));
    assert_eq!(
        answer(&mut agent, Method::SET, port_info(PortState::NO_CHANGE, 7), 0),
        (0, vec![Effect::Lid(1)]),
        "0 is the port on which the request arrived"
    );
    assert_eq!(agent.lid(1), Lid(7));
}

#[test]
fn a_node_says_which_port_was_asked() {
    let mut subnet_node = node(NodeKind::Adapter, 2);
    subnet_node.ports[2].guid = fabricsim_subnet::Guid(0x12);
    let agent = Agent::new(&subnet_node);
    let found = agent.get(&SmpAttribute::NodeInfo(NodeInfo::default()), 0, 2).unwrap();
    let SmpAttribute::NodeInfo(info) = found else { panic!("{found:?}") };
    assert_eq!((info.port_guid, info.local_port_num, info.num_ports), (Guid(0x12), 2, 2));
}

proptest::proptest! {
    /// No request makes an agent fail.
    #[test]
    fn any_request(method in 1_u8..3, id: u16, modifier: u32, data in proptest::collection::vec(proptest::num::u8::ANY, 64), in_port in 0_u8..4) {
        let mut agent = Agent::new(&node(NodeKind::Switch, 3));
        let id = if id % 2 == 0 { 0x10 + id / 2 % 0x22 } else { id };
        let mut smp = DirectedSmp::new(Method(method), TransactionId(1), &[]).unwrap();
        (smp.attribute_id, smp.modifier) = (AttributeId(id), modifier);
        smp.data = fabricsim_wire::field::Octets::new(&data);
        let answer = agent.answer(&smp, in_port, &mut Vec::new());
        proptest::prop_assert_eq!(answer.transaction, smp.transaction);
    }
}
