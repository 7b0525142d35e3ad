use fabricsim_model::NullObserver;

use super::*;
use crate::testing::prepare;

/// Three hosts at a switch; a byte takes a nanosecond. Packets flow-control the links.
const FABRIC: &str = r#"
[topology.single-switch]
hosts = 3
[links.all]
rate = "8 Gb/s"
latency = "50 ns"
buffer = "1 KiB"
[switch]
virtual_lanes = 2
flow_control = "packets"
flow_control_unit = "64 B"
[host]
mtu = "128 B"
[run]
duration = "1 s"
"#;

/// After a link has been trained anew both of its ends have no credits on any lane, and all others have theirs; flow-control packets bring them
/// back. If none comes the watchdog expires after 400 000 symbols (section 7.9.4), of which each of the four physical lanes carries a quarter of
/// the bytes.
#[test]
fn a_link_that_is_trained_anew_has_no_credits_until_they_are_announced() {
    for link in 0..3 {
        let mut engine = prepare(FABRIC, &[]).engine(|| NullObserver);
        engine.advance(Time::us(20), &mut |_, _| true);
        assert_eq!(engine.check_credits(), Ok(()));
        assert_eq!(engine.restart_flow_control(LinkId(link)), Time::us(20) + Time::us(1600));
        for lane in 0..2 {
            for channel in 0..6 {
                let (_, port) = engine.directory.sender[channel as usize];
                let ports = &mut engine.partitions[0].context.ports;
                let free = ports.free_at(port, Vl(lane), Time::us(20));
                assert_eq!(free, if channel / 2 == link { 0 } else { 16 }, "{channel} {lane} of {link}");
            }
        }
        engine.advance(Time::ms(2), &mut |_, _| true);
        for channel in 0..6 {
            let (_, port) = engine.directory.sender[channel];
            for lane in [0, 1].map(Vl) {
                assert_eq!(engine.partitions[0].context.ports.free_at(port, lane, Time::ms(2)), 16);
            }
        }
        assert_eq!(engine.check_credits(), Ok(()));
    }
}

/// At first a port may send as many blocks as the buffer at the other end has: 16 of 64 B.
#[test]
fn the_first_limit_is_the_buffer() {
    let engine = prepare(FABRIC, &[]).engine(|| NullObserver);
    let flow = format!("{:?}", engine.partitions[0].context.ports.flow.as_ref().expect("packets control it"));
    assert_eq!((flow.matches("limit: 16,").count(), flow.matches("limit: ").count()), (12, 12));
}
