use fabricsim_model::Random;
use fabricsim_units::HostId;

/// A set of hosts to draw from; that of all hosts takes no memory.
#[derive(Debug)]
pub(crate) struct HostSet {
    /// Ascending; `None`: all.
    members: Option<Vec<HostId>>,
    len: u32,
}

/// The rank of a host that is not in a set, or that may be drawn itself.
pub(crate) const NOWHERE: u32 = u32::MAX;

impl HostSet {
    /// `members` (distinct) of `hosts` hosts.
    pub(crate) fn new(mut members: Vec<HostId>, hosts: usize) -> Self {
        members.sort_unstable();
        let len = members.len() as u32;
        Self { members: (members.len() < hosts).then_some(members), len }
    }

    /// The rank of `host` in the set.
    pub(crate) fn rank(&self, host: HostId) -> u32 {
        match &self.members {
            None => host.0,
            Some(members) => members.binary_search(&host).map_or(NOWHERE, |rank| rank as u32),
        }
    }

    /// Number of members other than the one at `rank`.
    #[inline]
    pub(crate) fn others(&self, rank: u32) -> u32 {
        self.len - u32::from(rank != NOWHERE)
    }

    /// Visits the members but the one at `rank`; of `share` each has an equal part. None where that is 0.
    pub(crate) fn shares(&self, rank: u32, share: f64, mut visit: impl FnMut(HostId, f64)) {
        let others = self.others(rank);
        if share <= 0.0 {
            return;
        }
        for place in (0..self.len).filter(|&place| place != rank) {
            let host = self.members.as_ref().map_or(HostId(place), |members| members[place as usize]);
            visit(host, share / f64::from(others));
        }
    }

    /// A member but the one at `rank`, all equally likely; there is one.
    #[inline]
    pub(crate) fn draw(&self, rank: u32, random: &mut Random) -> HostId {
        let drawn = random.below(u64::from(self.others(rank))) as u32;
        let place = drawn + u32::from(drawn >= rank);
        self.members.as_ref().map_or(HostId(place), |members| members[place as usize])
    }
}
