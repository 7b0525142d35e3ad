//! How long partitions go on without what happens in others: the longest window.

use fabricsim_spec::Experiment;
use fabricsim_units::{ByteTime, Time};

/// The least times after which what a partition does has an effect in another one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    /// Of anything: the least latency of a link between two partitions; [`Time::MAX`] if there is none.
    pub(crate) latency: Time,
    /// From the departure of a packet's first byte until it may be sent on.
    packet: Time,
    /// From the departure of a block to the sender's use of its credit.
    credit: Time,
    /// Least time of a byte on a link.
    byte_time: ByteTime,
    /// Bytes of a block.
    unit: u32,
}

impl Reach {
    /// For partitions with links of a least `latency` between them; `byte_times` are those of all links.
    pub(crate) fn new(
        experiment: &Experiment,
        latency: Time,
        byte_times: impl Iterator<Item = ByteTime>,
    ) -> Self {
        let switch = &experiment.switch;
        let router_delay = if experiment.routing.lookahead { Time::ZERO } else { switch.router_delay };
        Self {
            latency,
            packet: latency.saturating_add(router_delay),
            credit: latency.saturating_add(switch.credit_delay),
            byte_time: byte_times.min().unwrap_or_default(),
            unit: switch.flow_control_unit.0 as u32,
        }
    }

    /// The same without optional features: packets act no sooner than they may be sent on, and credits are those of blocks that have left. `smallest` are the bytes of
    /// the smallest packet that has gone to another partition: a packet acts there after the window, so that its credits are those of a later one.
    pub(crate) fn of_common(&self, smallest: u32) -> Time {
        let block = self.byte_time.duration(smallest.min(self.unit));
        self.packet.min(self.credit.saturating_add(block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(keys: &str) -> Reach {
        let text = format!("topology.mesh.dimensions = [2]\nrun.duration = '1 us'\n{keys}");
        let experiment = fabricsim_spec::read(&text, "reach.toml", &[]).unwrap();
        // 1 ns and 0.5 ns.
        let rates =
            ["8 Gb/s", "16 Gb/s"].map(|rate| rate.parse::<fabricsim_units::Rate>().unwrap().byte_time());
        Reach::new(&experiment, Time::ns(10), rates.into_iter())
    }

    #[test]
    fn the_first_of_a_packet_and_a_credit_counts() {
        let switch = |delay: &str| {
            reach(&format!(
                "switch = {{ router_delay = '{delay}', credit_delay = '3 ns', flow_control_unit = '64 B' }}"
            ))
        };
        assert_eq!(switch("20 ns").latency, Time::ns(10));
        assert_eq!(switch("20 ns").of_common(u32::MAX), Time::ns(30), "the packet");
        assert_eq!(switch("80 ns").of_common(u32::MAX), Time::ns(45), "a block of 64 B on the fastest link");
        assert_eq!(switch("80 ns").of_common(6), Time::ns(16), "a packet smaller than a block");
    }

    #[test]
    fn partitions_without_links_between_them_go_on_for_ever() {
        let reach = Reach { latency: Time::MAX, packet: Time::MAX, credit: Time::MAX, ..reach("") };
        assert_eq!(reach.of_common(1), Time::MAX);
    }
}
