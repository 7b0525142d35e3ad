//! Permissions of memory (IBA volume 1, section 10.6.3).

use crate::error::{VerbsError, invalid, unsupported};

/// Permissions of a region and of a queue pair: the bits of `ibv_access_flags`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AccessFlags(pub u32);

impl AccessFlags {
    /// `IBV_ACCESS_LOCAL_WRITE`: the adapter may write, for receive requests, READs and atomic operations of its own.
    pub const LOCAL_WRITE: Self = Self(1);
    /// `IBV_ACCESS_REMOTE_WRITE`.
    pub const REMOTE_WRITE: Self = Self(1 << 1);
    /// `IBV_ACCESS_REMOTE_READ`.
    pub const REMOTE_READ: Self = Self(1 << 2);
    /// `IBV_ACCESS_REMOTE_ATOMIC`.
    pub const REMOTE_ATOMIC: Self = Self(1 << 3);
    /// `IBV_ACCESS_MW_BIND`.
    pub const MW_BIND: Self = Self(1 << 4);
    /// `IBV_ACCESS_ZERO_BASED`: remote addresses of a memory window begin at 0.
    pub const ZERO_BASED: Self = Self(1 << 5);
    /// `IBV_ACCESS_ON_DEMAND`: memory without pinned pages, which this adapter does not have.
    pub const ON_DEMAND: Self = Self(1 << 6);
    /// Those that exist here.
    const KNOWN: Self = Self(0x1f);

    /// Checks the permissions of a region.
    pub(crate) fn check(self, call: &str) -> Result<(), VerbsError> {
        if self.0 & Self::ON_DEMAND.0 != 0 {
            return Err(unsupported(format!(
                "{call}: IBV_ACCESS_ON_DEMAND: the adapter has no on-demand paging"
            )));
        }
        if !Self::KNOWN.has(self) {
            let flags = self.0;
            return Err(invalid(format!("{call}: access flags {flags:#x} are not known: must be in 0x1f")));
        }
        let remote = Self::REMOTE_WRITE.with(Self::REMOTE_ATOMIC);
        if self.0 & remote.0 != 0 && !self.has(Self::LOCAL_WRITE) {
            return Err(invalid(format!("{call}: remote write and remote atomic need local write as well")));
        }
        Ok(())
    }

    /// True if all of `other` are in it.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Those of both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
