//! Memory windows: keys for parts of regions, made and withdrawn by work requests (IBA volume 1, section 10.6.7).

use fabricsim_wire::ids::{Qpn, RKey};

use crate::access::AccessFlags;
use crate::handles::{Mr, Mw, Pd};

/// Type of a memory window: numbers of `ibv_mw_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WindowKind {
    /// Bound by `ibv_bind_mw`, again and again; every queue pair of its domain gives access.
    Type1,
    /// Bound by a work request under a key of the program's choice, until the key is invalidated; only the queue pair of the bind gives access (type 2B).
    Type2,
}

/// Memory and permissions of a window (`ibv_mw_bind_info`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Region.
    pub mr: Mr,
    /// Virtual address of the first byte.
    pub va: u64,
    /// Bytes.
    pub length: u64,
    /// Remote permissions; with `ZERO_BASED` remote addresses begin at 0.
    pub access: AccessFlags,
}

/// Permissions that a window may have.
pub(crate) const WINDOW_ACCESS: AccessFlags = AccessFlags::REMOTE_WRITE
    .with(AccessFlags::REMOTE_READ)
    .with(AccessFlags::REMOTE_ATOMIC)
    .with(AccessFlags::ZERO_BASED);

/// A memory window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) pd: Pd,
    pub(crate) kind: WindowKind,
    /// The last key that it had.
    pub(crate) key: u32,
    /// The key of the last bind that was posted.
    pub(crate) posted_key: u32,
    /// Memory under the key, and the queue pair of the bind; `None`: the key is not valid.
    pub(crate) bound: Option<(Binding, Qpn)>,
}

/// Index of the first window's key; regions have smaller ones.
pub(crate) const FIRST_INDEX: u32 = 1 << 23;

/// The windows of an adapter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Windows {
    /// By number; `None` if it was deallocated.
    table: Vec<Option<Window>>,
}

impl Windows {
    /// Adds a window, which is not bound. `None` if there are too many.
    pub(crate) fn allocate(&mut self, pd: Pd, kind: WindowKind) -> Option<Mw> {
        let number = self.table.len() as u32;
        if number >= FIRST_INDEX {
            return None;
        }
        let key = (FIRST_INDEX | number) << 8 | (number.wrapping_mul(0x9e37_79b9) >> 24);
        self.table.push(Some(Window { pd, kind, key, posted_key: key, bound: None }));
        Some(Mw(number))
    }

    pub(crate) fn deallocate(&mut self, mw: Mw) -> Option<Window> {
        self.table.get_mut(mw.0 as usize)?.take()
    }

    pub(crate) fn get(&self, mw: Mw) -> Option<&Window> {
        self.table.get(mw.0 as usize)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, mw: Mw) -> Option<&mut Window> {
        self.table.get_mut(mw.0 as usize)?.as_mut()
    }

    /// True if a window of the domain is allocated.
    pub(crate) fn uses(&self, pd: Pd) -> bool {
        self.table.iter().flatten().any(|window| window.pd == pd)
    }

    /// True if a window is bound to the region.
    pub(crate) fn binds(&self, mr: Mr) -> bool {
        self.table.iter().flatten().any(|window| window.bound.is_some_and(|(binding, _)| binding.mr == mr))
    }

    /// A queue pair is destroyed: the windows of type 2 that it has bound are free.
    pub(crate) fn forget(&mut self, qp: Qpn) {
        for window in self.table.iter_mut().flatten() {
            if window.kind == WindowKind::Type2 {
                window.bound = window.bound.filter(|(_, of)| *of != qp);
            }
        }
    }

    fn number_of(key: u32) -> Option<Mw> {
        (key >> 8).checked_sub(FIRST_INDEX).map(Mw)
    }

    /// The bound window with this key, its memory and its queue pair.
    fn by_key(&self, key: u32) -> Option<(&Window, Binding, Qpn)> {
        let window = self.get(Self::number_of(key)?).filter(|window| window.key == key)?;
        window.bound.map(|(binding, qp)| (window, binding, qp))
    }

    /// True if the key is valid in the domain for packets of the queue pair, and allows `access` to all of the bytes.
    pub(crate) fn allows(
        &self,
        (pd, qp): (Pd, Qpn),
        key: u32,
        (va, length): (u64, u64),
        access: AccessFlags,
    ) -> bool {
        self.by_key(key).is_some_and(|(window, binding, of)| {
            window.pd == pd
                && (window.kind == WindowKind::Type1 || of == qp)
                && binding.access.has(access)
                && offset(&binding, va, length).is_some()
        })
    }

    /// The region, and the address in it, of bytes of a window.
    pub(crate) fn resolve(&self, key: u32, va: u64, length: u64) -> Option<(Mr, u64)> {
        let (_, binding, _) = self.by_key(key)?;
        offset(&binding, va, length).map(|offset| (binding.mr, binding.va + offset))
    }

    /// The region of a bound window.
    pub(crate) fn region(&self, key: u32) -> Option<Mr> {
        self.by_key(key).map(|(_, binding, _)| binding.mr)
    }

    /// Makes the key of a window of type 2 invalid; `qp` must have bound it, in the same domain. False if that is not allowed.
    pub(crate) fn invalidate(&mut self, (pd, qp): (Pd, Qpn), r_key: RKey) -> bool {
        let is_allowed = self
            .by_key(r_key.0)
            .is_some_and(|(window, _, of)| window.kind == WindowKind::Type2 && window.pd == pd && of == qp);
        let window = Self::number_of(r_key.0).filter(|_| is_allowed).and_then(|mw| self.get_mut(mw));
        window.is_some_and(|window| window.bound.take().is_some())
    }
}

/// Place of bytes in a window, if all of them are in it.
fn offset(binding: &Binding, va: u64, length: u64) -> Option<u64> {
    let is_zero_based = binding.access.has(AccessFlags::ZERO_BASED);
    let offset = if is_zero_based { va } else { va.checked_sub(binding.va)? };
    (offset.checked_add(length)? <= binding.length).then_some(offset)
}
