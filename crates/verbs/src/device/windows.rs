//! Calls of memory windows.

use fabricsim_units::Time;
use fabricsim_wire::ids::{Qpn, RKey};

use super::Device;
use crate::access::AccessFlags;
use crate::error::{VerbsError, full, invalid};
use crate::handles::{Mw, Pd};
use crate::local::{LocalOperation, LocalRequest};
use crate::windows::{Binding, WINDOW_ACCESS, WindowKind};

impl Device {
    /// Allocates a memory window, which is not bound (`ibv_alloc_mw`).
    pub fn alloc_mw(&mut self, pd: Pd, kind: WindowKind) -> Result<Mw, VerbsError> {
        self.check_pd(pd)?;
        let found = self.memory.windows.allocate(pd, kind);
        found.ok_or_else(|| full("alloc_mw: all numbers of memory windows are used"))
    }

    /// Deallocates a memory window, bound or not (`ibv_dealloc_mw`). Its key is not valid any more.
    pub fn dealloc_mw(&mut self, mw: Mw) -> Result<(), VerbsError> {
        self.memory.windows.deallocate(mw).map(|_| ()).ok_or_else(|| no_window(mw))
    }

    /// The last key of a memory window (`ibv_mw.rkey`), valid or not.
    pub fn window_key(&self, mw: Mw) -> Result<RKey, VerbsError> {
        let found = self.memory.windows.get(mw);
        found.map(|window| RKey(window.key)).ok_or_else(|| no_window(mw))
    }

    /// Binds a memory window of type 1, or unbinds it (`ibv_bind_mw`), by a work request whose operation is ignored. Returns its key from then on.
    pub fn bind_mw(
        &mut self,
        qp: Qpn,
        (mw, binding): (Mw, Option<Binding>),
        request: LocalRequest,
        now: Time,
    ) -> Result<RKey, VerbsError> {
        let window = self.memory.windows.get(mw).ok_or_else(|| no_window(mw))?;
        if window.kind != WindowKind::Type1 {
            let text = "is of type 2: post a work request with IBV_WR_BIND_MW";
            return Err(invalid(format!("bind_mw: memory window {} {text}", mw.0)));
        }
        let r_key = next_key(window.posted_key);
        let operation = LocalOperation::Bind { mw, r_key, binding };
        self.post_local(qp, LocalRequest { operation, ..request }, now)?;
        if let Some(window) = self.memory.windows.get_mut(mw) {
            window.posted_key = r_key.0;
        }
        Ok(r_key)
    }

    /// Checks the key of a bind that is posted.
    pub(super) fn check_key(&self, mw: Mw, r_key: RKey) -> Result<(), String> {
        let window = self.memory.windows.get(mw).ok_or_else(|| no_window(mw).message)?;
        if window.key >> 8 != r_key.0 >> 8 {
            let (given, from) = (r_key.0, window.key & !0xff);
            return Err(format!(
                "rkey = {given:#x}: a key of memory window {} is {from:#x} to {:#x}",
                mw.0,
                from | 0xff
            ));
        }
        Ok(())
    }
}

impl crate::memory::Memory {
    /// Executes a bind of a queue pair. False if a rule of section 10.6.7 forbids it.
    pub(super) fn bind(
        &mut self,
        (pd, qp): (Pd, Qpn),
        mw: Mw,
        r_key: RKey,
        binding: Option<Binding>,
    ) -> bool {
        let Some(window) = self.windows.get(mw) else { return false };
        let is_type_2 = window.kind == WindowKind::Type2;
        // The key of a type 2 window must be invalid, and another one than before.
        let is_free = !is_type_2 || window.bound.is_none() && window.key != r_key.0;
        let may_unbind = !is_type_2 || binding.is_some();
        let is_allowed = binding.is_none_or(|binding| self.allows_binding(pd, &binding, is_type_2));
        if window.pd != pd || !is_free || !may_unbind || !is_allowed {
            return false;
        }
        if let Some(window) = self.windows.get_mut(mw) {
            window.key = r_key.0;
            window.bound = binding.map(|binding| (binding, qp));
        }
        true
    }

    fn allows_binding(&self, pd: Pd, binding: &Binding, is_type_2: bool) -> bool {
        let Some((of, access, address, length)) = self.extent(binding.mr) else { return false };
        let is_in = binding.va.checked_sub(address).and_then(|offset| offset.checked_add(binding.length));
        let writes = binding.access.0 & (AccessFlags::REMOTE_WRITE.0 | AccessFlags::REMOTE_ATOMIC.0) != 0;
        of == pd
            && access.has(AccessFlags::MW_BIND)
            && (!writes || access.has(AccessFlags::LOCAL_WRITE))
            && WINDOW_ACCESS.has(binding.access)
            && (is_type_2 || !binding.access.has(AccessFlags::ZERO_BASED))
            && binding.length > 0
            && is_in.is_some_and(|end| end <= length)
    }
}

/// The same key with the next value of its eight lowest bits (`ibv_inc_rkey`).
fn next_key(key: u32) -> RKey {
    RKey(key & !0xff | key.wrapping_add(1) & 0xff)
}

fn no_window(mw: Mw) -> VerbsError {
    invalid(format!("there is no memory window {}", mw.0))
}
