use std::collections::BTreeMap;

use fabricsim_units::Time;

/// Links that carry management datagrams now, by channel.
#[derive(Clone, Debug, Default, fabricsim_state::Value)]
pub(crate) struct ManagementTraffic(BTreeMap<u32, Occupied>);

#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
struct Occupied {
    /// End of the data packet before the datagrams.
    data: Time,
    /// End of the last datagram.
    until: Time,
}

impl ManagementTraffic {
    /// The link is busy until `until`; returns the time until which it carries data.
    pub(crate) fn data_until(&self, channel: u32, until: Time) -> Time {
        self.0
            .get(&channel)
            .filter(|occupied| occupied.until == until)
            .map_or(until, |occupied| occupied.data)
    }

    /// A link that carries data until `data` carries datagrams until `until`.
    pub(crate) fn occupy(&mut self, channel: u32, data: Time, until: Time) {
        self.0.insert(channel, Occupied { data, until });
    }
}
