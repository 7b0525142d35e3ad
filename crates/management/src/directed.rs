//! Directed routes (section 14.2.2): how a node passes on a datagram that carries the ports by which it travels.

use fabricsim_wire::mad::smp::DirectedSmp;

/// Most hops of a directed route.
pub const MAX_HOPS: usize = 63;

/// Next receiver of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The agent of this node.
    Agent,
    /// The node behind this port.
    Out(u8),
    /// The manager of this node: the answer to its request.
    Manager,
    /// No receiver: the route is not possible.
    Discard,
}

/// Takes a datagram one step further at a node, where it came by `in_port` (0: from the node itself), and returns the next receiver.
/// Requests take the ports of the initial path and note those on which they arrive; answers take these back.
pub fn forward(smp: &mut DirectedSmp, is_switch: bool, in_port: u8) -> Next {
    if usize::from(smp.hop_count) > MAX_HOPS {
        return Next::Discard;
    }
    if smp.is_returning { backward(smp, is_switch) } else { onward(smp, is_switch, in_port) }
}

fn onward(smp: &mut DirectedSmp, is_switch: bool, in_port: u8) -> Next {
    let (hop, hops) = (smp.hop_pointer, smp.hop_count);
    if hop > hops || (hop == 0) != (in_port == 0) {
        return Next::Discard;
    }
    if hop > 0 {
        smp.return_path.0[usize::from(hop)] = in_port;
    }
    smp.hop_pointer = hop + 1;
    if hop == hops {
        return Next::Agent;
    }
    // Only switches pass on what they have received.
    if hop > 0 && !is_switch {
        return Next::Discard;
    }
    exit(smp.initial_path.0[usize::from(hop) + 1])
}

fn backward(smp: &mut DirectedSmp, is_switch: bool) -> Next {
    let (hop, hops) = (smp.hop_pointer, smp.hop_count);
    if hop == 0 || hop > hops + 1 {
        return Next::Discard;
    }
    smp.hop_pointer = hop - 1;
    if hop == 1 {
        return Next::Manager;
    }
    if hop <= hops && !is_switch {
        return Next::Discard;
    }
    exit(smp.return_path.0[usize::from(hop) - 1])
}

fn exit(port: u8) -> Next {
    if port == 0 { Next::Discard } else { Next::Out(port) }
}

#[cfg(test)]
mod tests {
    use fabricsim_wire::ids::TransactionId;
    use fabricsim_wire::mad::Method;

    use super::*;

    /// Adapter, two switches, adapter: the request leaves by ports 1, 5 and 6, and arrives on ports 3, 4 and 1.
    #[test]
    fn an_answer_returns_by_the_ports_on_which_the_request_arrived() {
        let mut smp = DirectedSmp::new(Method::GET, TransactionId(1), &[1, 5, 6]).unwrap();
        assert_eq!(forward(&mut smp, false, 0), Next::Out(1));
        assert_eq!(forward(&mut smp, true, 3), Next::Out(5));
        assert_eq!(forward(&mut smp, true, 4), Next::Out(6));
        assert_eq!(forward(&mut smp, false, 1), Next::Agent);
        assert_eq!((smp.hop_pointer, &smp.return_path.0[..4]), (4, &[0, 3, 4, 1][..]));
        smp.is_returning = true;
        assert_eq!(forward(&mut smp, false, 0), Next::Out(1));
        assert_eq!(forward(&mut smp, true, 6), Next::Out(4));
        assert_eq!(forward(&mut smp, true, 5), Next::Out(3));
        assert_eq!(forward(&mut smp, false, 1), Next::Manager);
        assert_eq!(smp.hop_pointer, 0);
    }

    #[test]
    fn a_request_without_hops_stays_at_the_node() {
        let mut smp = DirectedSmp::new(Method::GET, TransactionId(1), &[]).unwrap();
        assert_eq!(forward(&mut smp, false, 0), Next::Agent);
        smp.is_returning = true;
        assert_eq!(forward(&mut smp, false, 0), Next::Manager);
    }

    #[test]
    fn impossible_routes_are_discarded() {
        let mut through_adapter = DirectedSmp::new(Method::GET, TransactionId(1), &[1, 1]).unwrap();
        assert_eq!(forward(&mut through_adapter, false, 0), Next::Out(1));
        assert_eq!(forward(&mut through_adapter, false, 1), Next::Discard);
        let mut by_port_0 = DirectedSmp::new(Method::GET, TransactionId(1), &[1, 0]).unwrap();
        assert_eq!(forward(&mut by_port_0, true, 0), Next::Out(1));
        assert_eq!(forward(&mut by_port_0, true, 7), Next::Discard);
        let mut too_long =
            DirectedSmp { hop_count: 64, ..DirectedSmp::new(Method::GET, TransactionId(1), &[1]).unwrap() };
        assert_eq!(forward(&mut too_long, true, 0), Next::Discard);
    }

    proptest::proptest! {
        /// Whatever the pointers say, a node neither fails nor reads outside the paths.
        #[test]
        fn any_pointers(hop_pointer: u8, hop_count: u8, is_returning: bool, is_switch: bool, in_port: u8) {
            let smp = DirectedSmp::new(Method::GET, TransactionId(1), &[1; 63]).unwrap();
            let mut smp = DirectedSmp { hop_pointer, hop_count, is_returning, ..smp };
            let next = forward(&mut smp, is_switch, in_port);
            proptest::prop_assert!(usize::from(hop_count) <= MAX_HOPS || next == Next::Discard);
        }
    }
}
