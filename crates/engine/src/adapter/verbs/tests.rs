use super::*;

/// Of a message of several packets all but the last are first or middle ones; a message of one packet is its last.
#[test]
fn last_packets_and_only_ones_end_messages() {
    use Operation as O;
    let begin = [
        O::SendFirst,
        O::SendMiddle,
        O::WriteFirst,
        O::WriteMiddle,
        O::ReadResponseFirst,
        O::ReadResponseMiddle,
    ];
    let end =
        [O::SendLast, O::SendOnly, O::WriteLast, O::WriteOnly, O::ReadResponseLast, O::ReadResponseOnly];
    assert!(!begin.into_iter().any(ends_message));
    assert!(end.into_iter().all(ends_message));
}

/// Packets for multicast groups have a global route header of 40 bytes (section 8.3), others have none.
#[test]
fn packets_for_groups_have_a_route_header() {
    assert_eq!(route_header(HostId(3)), 0);
    assert_eq!(route_header(HostId::of_group(3)), 40);
}
