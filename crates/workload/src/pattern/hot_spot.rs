use fabricsim_model::Random;
use fabricsim_spec::HotSpot;
use fabricsim_units::HostId;

use crate::WorkloadError;
use crate::pattern::set::{HostSet, NOWHERE};
use crate::pattern::uniform::destinations;
use crate::pattern::{Draw, DrawState, PatternInput, Plan};

/// Hot hosts, and the destinations of the rest.
#[derive(Debug)]
pub(crate) struct HotSpots {
    hot: HostSet,
    rest: HostSet,
    fraction: f64,
}

impl HotSpots {
    /// A source that is the only hot host sends all its messages as the rest; where the rest has no host but the
    /// source, all go to the hot ones.
    #[inline]
    pub(crate) fn draw(&self, mark: DrawState, random: &mut Random) -> HostId {
        let hot = random.unit() <= self.fraction;
        let (can_hot, can_rest) = self.choices(mark);
        if hot && can_hot || !can_rest {
            self.hot.draw(mark[0], random)
        } else {
            self.rest.draw(mark[1], random)
        }
    }

    /// True if there is a hot host to send to; true if there is one of the rest.
    #[inline]
    fn choices(&self, mark: DrawState) -> (bool, bool) {
        (self.hot.others(mark[0]) > 0, self.rest.others(mark[1]) > 0)
    }

    /// The share of a source's messages that goes to the hot hosts as such.
    pub(crate) fn hot_share(&self, mark: DrawState) -> f64 {
        match self.choices(mark) {
            (true, true) => self.fraction,
            (true, false) => 1.0,
            (false, _) => 0.0,
        }
    }

    pub(crate) fn hot(&self) -> &HostSet {
        &self.hot
    }

    pub(crate) fn rest(&self) -> &HostSet {
        &self.rest
    }
}

/// A fraction of the messages goes to the hot hosts, in equal shares; the rest to any of `destinations`, the hot
/// hosts included; to oneself only with `self_flows = "send"`.
pub(super) fn plan(context: &PatternInput, hot_spot: &HotSpot) -> Result<Plan, WorkloadError> {
    const KEY: &str = "pattern.hot-spot";
    let fraction = hot_spot.fraction;
    let hot = context.selector.select(&hot_spot.hosts, &context.place.key(&format!("{KEY}.hosts")))?;
    let hot = HostSet::new(hot.hosts, context.hosts.names.len());
    let rest = destinations(context)?;
    let mark = |&source| {
        let mark = if context.with_self() { [NOWHERE; 2] } else { [hot.rank(source), rest.rank(source)] };
        let sends = fraction > 0.0 && hot.others(mark[0]) > 0 || fraction < 1.0 && rest.others(mark[1]) > 0;
        sends.then_some(mark)
    };
    let marks = context.sources.iter().map(mark).collect();
    Ok(Plan { draw: Draw::HotSpot(HotSpots { hot, rest, fraction }), marks })
}

#[cfg(test)]
mod tests {
    use crate::testing::{destinations, draws, hosts, refused, silent};

    fn pattern(hot: &str, fraction: &str, rest: &str) -> String {
        format!("pattern = {{ hot-spot = {{ hosts = {hot}, fraction = {fraction} }} }}\n{rest}")
    }

    fn share(pattern: &str, source: usize, of: u32) -> f64 {
        let n = 100_000;
        draws(&hosts(11), pattern, source, n).filter(|&d| d == of).count() as f64 / f64::from(n)
    }

    /// Five standard deviations of a share of 100 000 draws.
    fn near(share: f64, expected: f64) -> bool {
        (share - expected).abs() <= 5.0 * (expected * (1.0 - expected) / 1e5).sqrt()
    }

    #[test]
    fn hot_hosts_share_their_fraction() {
        let two = pattern("['H1', 'H2']", "0.4", "");
        // From outside: 0.4 / 2 as a hot host, and a tenth of the rest as any other.
        assert!(near(share(&two, 5, 1), 0.2 + 0.06));
        assert!(near(share(&two, 5, 2), 0.2 + 0.06));
        assert!(near(share(&two, 5, 9), 0.06));
        // From a hot host: the other one is alone.
        assert!(near(share(&two, 1, 2), 0.4 + 0.06));
        assert_eq!(share(&two, 1, 1), 0.0);
        // From the only hot host: uniform.
        assert!(near(share(&pattern("['H1']", "0.4", ""), 1, 3), 0.1));
    }

    #[test]
    fn with_flows_to_oneself_a_hot_host_is_hot_to_itself() {
        let own = pattern("['H1', 'H2']", "0.4", "self_flows = 'send'");
        for source in [1, 5] {
            assert!(near(share(&own, source, 1), 0.2 + 0.6 / 11.0), "from {source}");
            assert!(near(share(&own, source, 5), 0.6 / 11.0), "from {source}");
        }
        let only = pattern("['H1']", "1.0", "self_flows = 'send'");
        assert_eq!(destinations(&hosts(3), &only), [Some(1); 3]);
    }

    #[test]
    fn ends_of_the_range() {
        let all = pattern("['H1']", "1.0", "");
        assert_eq!(destinations(&hosts(3), &all), [Some(1), None, Some(1)]);
        assert_eq!(silent(&hosts(3), &all), [1]);
        assert_eq!(share(&all, 0, 1), 1.0);
        let none = pattern("['H1']", "0.0", "destinations = ['H2']");
        assert_eq!(share(&none, 0, 2), 1.0);
        assert_eq!(silent(&hosts(11), &none), [2]);
        // The rest consists of the source alone: all messages are hot.
        assert_eq!(share(&pattern("['H1']", "0.1", "destinations = ['H2']"), 2, 1), 1.0);
    }

    #[test]
    fn misuse_is_named() {
        for wrong in ["1.1", "-0.1", "nan", "inf"] {
            let error = refused(&hosts(4), &pattern("['H1']", wrong, ""));
            assert!(error.contains("traffic.0.pattern.hot-spot.fraction"), "{error}");
        }
        let error = refused(&hosts(4), &pattern("['H9']", "0.5", ""));
        assert!(error.contains("traffic.0.pattern.hot-spot.hosts: \"H9\" is neither"), "{error}");
        assert!(refused(&hosts(4), &pattern("[]", "0.5", "")).contains("hot-spot.hosts: the list is empty"));
    }
}
