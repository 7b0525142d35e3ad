//! Largest packets that a host sends.

use std::sync::Arc;

use fabricsim_units::HostId;

/// Largest packets of a host by destination.
#[derive(Clone, Debug)]
pub(crate) struct Mtus {
    /// `host.mtu`.
    host: u32,
    /// By destination; none if every link carries packets of `host`.
    paths: Option<Arc<[u32]>>,
    /// Of multicast groups.
    groups: u32,
}

impl Mtus {
    pub(crate) fn new(host: u32) -> Self {
        Self { host, paths: None, groups: host }
    }

    /// Sets the largest packets by destination, and to multicast groups: messages that are opened from now on are cut at them.
    pub(crate) fn set_paths(&mut self, paths: &[u32], groups: u32) {
        (self.paths, self.groups) = (Some(paths.into()), groups);
    }

    /// Largest packet to a host, or to a multicast group.
    #[inline]
    pub(crate) fn to(&self, destination: HostId) -> u32 {
        match &self.paths {
            None => self.host,
            Some(_) if destination.group().is_some() => self.groups,
            Some(paths) => paths[destination.index()],
        }
    }
}
