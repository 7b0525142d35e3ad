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
}

impl Mtus {
    pub(crate) fn new(host: u32) -> Self {
        Self { host, paths: None }
    }

    /// Sets the largest packets by destination: messages that are opened from now on are cut at them.
    pub(crate) fn set_paths(&mut self, paths: &[u32]) {
        self.paths = Some(paths.into());
    }

    /// Largest packet to a host.
    #[inline]
    pub(crate) fn to(&self, destination: HostId) -> u32 {
        match &self.paths {
            None => self.host,
            Some(paths) => paths[destination.index()],
        }
    }
}
