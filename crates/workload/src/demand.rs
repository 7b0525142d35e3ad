//! Average demands of sources, computed without creating a message: for bounds on throughput.

use fabricsim_units::{HostId, Rate, Time};

use crate::Source;
use crate::pattern::{Draw, DrawState};
use crate::size::Sizes;
use crate::stream::MessageStream;

/// Demand of one entry of the traffic list on one source.
#[derive(Clone, Copy, Debug)]
pub struct Demand<'a> {
    stream: &'a MessageStream,
}

impl Source {
    /// Demands of the host's entries of the traffic list, by entry.
    pub fn demands(&self) -> impl Iterator<Item = Demand<'_>> {
        self.all_streams().iter().map(|stream| Demand { stream })
    }
}

impl Demand<'_> {
    /// The entry of the traffic list.
    pub fn entry(&self) -> u16 {
        self.stream.number()
    }

    /// True if it offers all that the link carries. A window does if its responses keep up.
    pub fn is_saturating(&self) -> bool {
        self.stream.entry().timing.is_greedy()
    }

    /// Offered load as a fraction of the rate of the source's link; 1 if it is saturating. Averaged over bursts.
    pub fn load(&self) -> f64 {
        self.stream.load()
    }

    /// Exact mean size of a message, in bytes.
    pub fn mean_bytes(&self) -> f64 {
        self.stream.entry().sizes.mean()
    }

    /// Packets for each byte, on average, where messages are cut into packets of at most `mtu` bytes (1 or more).
    pub fn packets_per_byte(&self, mtu: u64) -> f64 {
        let sizes = &self.stream.entry().sizes;
        sizes.mean_packets(mtu) / sizes.mean()
    }

    /// Returns its begin, and its end: by its `stop`, or the time at which its last message could have been sent if the
    /// network accepted all offered messages. [`Time::MAX`]: never.
    pub fn span(&self) -> (Time, Time) {
        let entry = self.stream.entry();
        let end = if entry.messages == u64::MAX {
            Time::MAX
        } else {
            let bits = entry.messages as f64 * entry.sizes.mean() * 8.0;
            let seconds = bits / (entry.load * Rate::bits_per_second(entry.link) as f64);
            // A conversion to integers cuts what is too large for them.
            entry.start.saturating_add(Time((seconds * 1e12) as u64))
        };
        (entry.start, end.min(entry.stop))
    }

    /// At most this many destinations.
    pub fn most_destinations(&self) -> usize {
        self.stream.entry().draw.most_destinations(self.stream.mark())
    }

    /// Visits the destinations with the share of the messages that goes to each. A destination may occur twice; the
    /// shares add up to 1.
    pub fn shares(&self, visit: impl FnMut(HostId, f64)) {
        self.stream.entry().draw.shares(self.stream.mark(), visit);
    }
}

impl Draw {
    fn most_destinations(&self, mark: DrawState) -> usize {
        match self {
            Self::Fixed => 1,
            Self::Uniform(set) => set.others(mark[0]) as usize,
            Self::Range => mark[1] as usize,
            Self::HotSpot(spots) => (spots.hot().others(mark[0]) + spots.rest().others(mark[1])) as usize,
        }
    }

    /// Visits the destinations of a source with the state `mark`, and the share of each.
    pub(crate) fn shares(&self, mark: DrawState, mut visit: impl FnMut(HostId, f64)) {
        match self {
            Self::Fixed => visit(HostId(mark[0]), 1.0),
            Self::Uniform(set) => set.shares(mark[0], 1.0, visit),
            Self::Range => {
                (mark[0]..mark[0] + mark[1]).for_each(|host| visit(HostId(host), 1.0 / f64::from(mark[1])));
            }
            Self::HotSpot(spots) => {
                let hot = spots.hot_share(mark);
                spots.hot().shares(mark[0], hot, &mut visit);
                spots.rest().shares(mark[1], 1.0 - hot, &mut visit);
            }
        }
    }
}

impl Sizes {
    /// Exact mean number of packets of a message that is cut into packets of at most `mtu` bytes.
    ///
    /// Exponential with mean m, rounded up and cut at M: the sum over k = 0 .. ceil(M / mtu) - 1 of
    /// P(X > k mtu) = exp(-k mtu / m), a geometric series.
    fn mean_packets(&self, mtu: u64) -> f64 {
        match self {
            Self::Fixed(size) => size.div_ceil(mtu) as f64,
            Self::Uniform { min, span } => packets_up_to(*min - 1, *span, mtu) / *span as f64,
            Self::Choice { sizes, up_to, .. } => {
                let mut below = 0.0;
                let packets = sizes.iter().zip(up_to).map(|(&size, &up_to)| {
                    let weight = up_to - below;
                    below = up_to;
                    weight * size.div_ceil(mtu) as f64
                });
                packets.sum()
            }
            Self::Exponential { mean, max } => {
                let step = -(mtu as f64) / mean;
                libm::expm1(max.div_ceil(mtu) as f64 * step) / libm::expm1(step)
            }
        }
    }
}

/// Packets of the messages of `after + 1` to `after + count` bytes, one of each size.
fn packets_up_to(after: u64, count: u64, mtu: u64) -> f64 {
    let sum = |n: u64| {
        let (whole, rest) = (u128::from(n / mtu), u128::from(n % mtu));
        u128::from(mtu) * whole * (whole + 1) / 2 + rest * (whole + 1)
    };
    (sum(after + count) - sum(after)) as f64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::testing::{draws, hosts, workload};

    fn shares(rest: &str, source: usize) -> BTreeMap<u32, f64> {
        let workload = workload(&hosts(6), rest);
        let demand = workload.sources[source].demands().next().unwrap();
        let mut shares = BTreeMap::new();
        demand.shares(|to, share| *shares.entry(to.0).or_insert(0.0) += share);
        assert!(shares.len() <= demand.most_destinations());
        shares
    }

    /// Shares are the limits of the draws' frequencies, and name no host that is never drawn.
    #[test]
    fn shares_are_those_of_the_draws() {
        let n = 60_000;
        for rest in [
            "pattern = 'uniform'",
            "pattern = 'uniform-with-self'",
            "pattern = 'uniform'\ndestinations = ['H2', 'H4', 'H5']",
            "pattern = { to = 'H3' }",
            "pattern = 'random-permutation'",
            "pattern = { hot-spot = { hosts = ['H1', 'H2'], fraction = 0.4 } }",
            "pattern = { hot-spot = { hosts = ['H2'], fraction = 0.4 } }",
            "pattern = { hot-spot = { hosts = ['H1'], fraction = 0.1 } }\ndestinations = ['H2']",
            "pattern = { hot-spot = { hosts = ['H1', 'H2'], fraction = 1.0 } }",
        ] {
            let shares = shares(rest, 2);
            assert!((shares.values().sum::<f64>() - 1.0).abs() < 1e-12, "{rest}: {shares:?}");
            let mut drawn = BTreeMap::new();
            for to in draws(&hosts(6), rest, 2, n) {
                *drawn.entry(to).or_insert(0) += 1;
            }
            assert!(drawn.keys().eq(shares.keys()), "{rest}: {drawn:?} {shares:?}");
            for (to, share) in shares {
                let error = f64::from(drawn[&to]) / f64::from(n) - share;
                // Five standard deviations.
                assert!(error.abs() <= 5.0 * (share * (1.0 - share) / f64::from(n)).sqrt() + 1e-9, "{rest}");
            }
        }
    }

    #[test]
    fn mean_packets_are_those_of_all_sizes() {
        let sizes = [
            Sizes::Fixed(4097),
            Sizes::Uniform { min: 1, span: 5000 },
            Sizes::Uniform { min: 2049, span: 1 },
            Sizes::Choice { sizes: vec![64, 9000, 5], up_to: vec![0.25, 0.75, 1.0], mean: 0.0 },
        ];
        let brute = |sizes: &Sizes, mtu: u64| match sizes {
            Sizes::Uniform { min, span } => {
                (*min..min + span).map(|s| s.div_ceil(mtu) as f64).sum::<f64>() / *span as f64
            }
            Sizes::Choice { .. } => {
                let packets = |size: u64| size.div_ceil(mtu) as f64;
                0.25 * packets(64) + 0.5 * packets(9000) + 0.25 * packets(5)
            }
            _ => 4097_u64.div_ceil(mtu) as f64,
        };
        for sizes in &sizes {
            for mtu in [1, 7, 64, 2048, 1 << 40] {
                let expected = brute(sizes, mtu);
                assert!((sizes.mean_packets(mtu) / expected - 1.0).abs() < 1e-12, "{sizes:?} {mtu}");
            }
        }
        let exponential = Sizes::Exponential { mean: 300.0, max: 1000 };
        let above = |k: u64| if k >= 1000 { 0.0 } else { (-(k as f64) / 300.0).exp() };
        for mtu in [1, 64, 250, 4096] {
            let expected: f64 =
                (1..=1000_u64).map(|s| (above(s - 1) - above(s)) * s.div_ceil(mtu) as f64).sum();
            assert!((exponential.mean_packets(mtu) / expected - 1.0).abs() < 1e-9, "{mtu}");
        }
    }

    #[test]
    fn spans_end_with_the_last_message() {
        let span = |rest: &str| {
            let workload = workload(&hosts(2), &format!("pattern = 'uniform'\nstart = '1 us'\n{rest}"));
            workload.sources[0].demands().next().unwrap().span()
        };
        assert_eq!(span("load = 0.5"), (Time::us(1), Time::MAX));
        assert_eq!(span("load = 0.5\nstop = '3 us'"), (Time::us(1), Time::us(3)));
        // 1000 bytes of 8 Gb/s at half load.
        assert_eq!(span("load = 0.5\nmessage = '100 B'\nmessages = 10"), (Time::us(1), Time::us(3)));
        assert_eq!(span("load = 0.5\nmessage = '100 B'\nmessages = 10\nstop = '2 us'").1, Time::us(2));
        assert_eq!(span("injection = 'saturating'\nmessages = 18446744073709551614").1, Time::MAX);
    }
}
