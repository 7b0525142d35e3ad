//! Memory that an adapter may use: regions, their keys and permissions (IBA volume 1, section 10.6).

mod contents;

use fabricsim_units::Time;
use fabricsim_wire::ids::{Qpn, RKey};

use crate::access::AccessFlags;
use crate::error::{VerbsError, busy, full, invalid};
use crate::handles::{Mr, Pd};
use crate::windows::{FIRST_INDEX, Windows};
use crate::zeros::zeros;

/// A piece of local memory of a work request (`ibv_sge`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sge {
    /// Virtual address of its first byte.
    pub addr: u64,
    /// Bytes.
    pub length: u32,
    /// Key of its region.
    pub lkey: u32,
}

/// What a region holds.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    /// Bytes.
    Real(Vec<u8>),
    /// A length only: packets of it carry no content. For measurements, where content costs time and tells nothing.
    Void(u64),
}

/// A registered region of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) pd: Pd,
    key: u32,
    address: u64,
    content: Content,
    /// Packets carry none of its bytes, and what arrives is not written.
    is_hollow: bool,
    access: AccessFlags,
    /// Times at which data of remote WRITEs became visible that the program has not looked for; `None` if it does not look.
    writes: Option<std::collections::VecDeque<Time>>,
}

impl Region {
    fn len(&self) -> u64 {
        match &self.content {
            Content::Real(bytes) => bytes.len() as u64,
            Content::Void(length) => *length,
        }
    }

    /// Place of `length` bytes at `va`, if all of them are in the region.
    fn place(&self, va: u64, length: u64) -> Option<usize> {
        let offset = va.checked_sub(self.address)?;
        (offset.checked_add(length)? <= self.len()).then_some(offset as usize)
    }
}

/// First virtual address of a host's regions.
pub const FIRST_ADDRESS: u64 = 0x1_0000_0000;

/// Regions begin at multiples of a page.
const PAGE: u64 = 4096;

/// The regions of an adapter.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    /// By number; `None` if it was deregistered.
    regions: Vec<Option<Region>>,
    next_address: u64,
    /// Remote WRITEs to watched regions so far.
    seen_writes: u64,
    pub(crate) windows: Windows,
}

impl Default for Memory {
    fn default() -> Self {
        let (regions, windows) = (Vec::new(), Windows::default());
        Self { regions, next_address: FIRST_ADDRESS, seen_writes: 0, windows }
    }
}

impl Memory {
    /// Registers new memory, filled with zeros, and returns its handle.
    pub(crate) fn register(
        &mut self,
        pd: Pd,
        length: u64,
        access: AccessFlags,
        is_void: bool,
    ) -> Result<Mr, VerbsError> {
        if length == 0 {
            return Err(invalid("reg_mr: length = 0: must be at least 1 B"));
        }
        access.check("reg_mr")?;
        let number = self.regions.len() as u32;
        if number + 1 >= FIRST_INDEX {
            return Err(full(format!("reg_mr: all {} numbers of regions are used", FIRST_INDEX - 1)));
        }
        // Keys of the form of Mellanox adapters: an index and eight bits that make guesses fail.
        let key = (number + 1) << 8 | (number.wrapping_mul(0x9e37_79b9) >> 24);
        let address = self.next_address;
        let behind = length.checked_add(PAGE).and_then(|length| address.checked_add(length));
        let Some(next) = behind.and_then(|end| end.checked_next_multiple_of(PAGE)) else {
            return Err(full(format!("reg_mr: length = {length}: the address space has no room for it")));
        };
        let content = if is_void { Content::Void(length) } else { Content::Real(zeros(length)?) };
        self.next_address = next;
        let is_hollow = false;
        self.regions.push(Some(Region { pd, key, address, content, is_hollow, access, writes: None }));
        Ok(Mr(number))
    }

    /// Ends a region: its keys are not valid any more.
    pub(crate) fn deregister(&mut self, mr: Mr) -> Result<(), VerbsError> {
        self.get(mr)?;
        self.check_unbound(mr, "dereg_mr")?;
        self.regions[mr.0 as usize] = None;
        Ok(())
    }

    /// Gives a region another domain or other permissions. Its keys change: those that are known elsewhere are not valid any more.
    pub(crate) fn reregister(
        &mut self,
        mr: Mr,
        pd: Option<Pd>,
        access: Option<AccessFlags>,
    ) -> Result<(), VerbsError> {
        access.map_or(Ok(()), |access| access.check("rereg_mr"))?;
        self.get(mr)?;
        self.check_unbound(mr, "rereg_mr")?;
        let region = self.get_mut(mr)?;
        region.pd = pd.unwrap_or(region.pd);
        region.access = access.unwrap_or(region.access);
        region.key = region.key & !0xff | (region.key + 1) & 0xff;
        Ok(())
    }

    pub(crate) fn get(&self, mr: Mr) -> Result<&Region, VerbsError> {
        self.regions.get(mr.0 as usize).and_then(Option::as_ref).ok_or_else(|| no_region(mr))
    }

    fn get_mut(&mut self, mr: Mr) -> Result<&mut Region, VerbsError> {
        self.regions.get_mut(mr.0 as usize).and_then(Option::as_mut).ok_or_else(|| no_region(mr))
    }

    fn check_unbound(&self, mr: Mr, call: &str) -> Result<(), VerbsError> {
        if self.windows.binds(mr) {
            return Err(busy(format!("{call}: memory windows are bound to region {}", mr.0)));
        }
        Ok(())
    }

    /// A region as binds need it: domain, permissions, address of the first byte, bytes.
    pub(crate) fn extent(&self, mr: Mr) -> Option<(Pd, AccessFlags, u64, u64)> {
        let region = self.get(mr).ok()?;
        Some((region.pd, region.access, region.address, region.len()))
    }

    /// Key of a region: local and remote key are the same.
    pub(crate) fn key(&self, mr: Mr) -> Result<u32, VerbsError> {
        Ok(self.get(mr)?.key)
    }

    /// Virtual address of the first byte of a region.
    pub(crate) fn address(&self, mr: Mr) -> Result<u64, VerbsError> {
        Ok(self.get(mr)?.address)
    }

    /// True if a region of the domain is registered.
    pub(crate) fn uses(&self, pd: Pd) -> bool {
        self.windows.uses(pd) || self.regions.iter().flatten().any(|region| region.pd == pd)
    }

    fn by_key(&self, key: u32) -> Option<&Region> {
        let number = (key >> 8).checked_sub(1)? as usize;
        self.regions.get(number)?.as_ref().filter(|region| region.key == key)
    }

    fn by_key_mut(&mut self, key: u32) -> Option<&mut Region> {
        let number = (key >> 8).checked_sub(1)? as usize;
        self.regions.get_mut(number)?.as_mut().filter(|region| region.key == key)
    }

    /// True if the key is valid in the domain, and allows `access` to all of the bytes.
    pub(crate) fn allows(&self, pd: Pd, key: u32, (va, length): (u64, u64), access: AccessFlags) -> bool {
        self.by_key(key).is_some_and(|region| {
            region.pd == pd && region.access.has(access) && region.place(va, length).is_some()
        })
    }

    /// The same for the key of a region or window in a packet of a queue pair.
    pub(crate) fn allows_remote(
        &self,
        (pd, qp): (Pd, Qpn),
        key: u32,
        range: (u64, u64),
        access: AccessFlags,
    ) -> bool {
        self.allows(pd, key, range, access) || self.windows.allows((pd, qp), key, range, access)
    }

    /// True if the domain may use all of the pieces; `writes` if the adapter writes to them.
    pub(crate) fn allows_list(&self, pd: Pd, list: &[Sge], writes: bool) -> bool {
        let access = if writes { AccessFlags::LOCAL_WRITE } else { AccessFlags::default() };
        list.iter().all(|sge| {
            sge.length == 0 || self.allows(pd, sge.lkey, (sge.addr, u64::from(sge.length)), access)
        })
    }

    /// True if a part of the memory of a work request is registered still.
    pub(crate) fn holds(&self, list: &[Sge], offset: u32, length: u32) -> bool {
        pieces(list, offset, length).all(|(key, va, length)| {
            self.by_key(key).is_some_and(|region| region.place(va, u64::from(length)).is_some())
        })
    }

    /// The bytes at an address; `None` if the key is not valid, or the region holds none.
    pub(crate) fn bytes(&self, key: u32, va: u64, length: u32) -> Option<&[u8]> {
        let (region, va) = if let Some(region) = self.by_key(key) {
            (region, va)
        } else {
            let (mr, va) = self.windows.resolve(key, va, u64::from(length))?;
            (self.get(mr).ok()?, va)
        };
        let start = region.place(va, u64::from(length))?;
        match &region.content {
            Content::Real(bytes) if !region.is_hollow => bytes.get(start..start + length as usize),
            _ => None,
        }
    }

    /// Writes to an address, if the key is valid and the region holds bytes.
    pub(crate) fn put(&mut self, key: u32, va: u64, data: &[u8]) {
        let window = self.windows.resolve(key, va, data.len() as u64);
        let (region, va) = match window {
            Some((mr, va)) => (self.get_mut(mr).ok(), va),
            None => (self.by_key_mut(key), va),
        };
        let Some(region) = region.filter(|region| !region.is_hollow) else { return };
        let Some(start) = region.place(va, data.len() as u64) else { return };
        if let Content::Real(bytes) = &mut region.content
            && let Some(place) = bytes.get_mut(start..start + data.len())
        {
            place.copy_from_slice(data);
        }
    }

    /// Collects `length` bytes from `offset` of the memory of a work request; `None` if a part of it holds no bytes.
    pub(crate) fn gather(&self, list: &[Sge], offset: u32, length: u32) -> Option<Box<[u8]>> {
        let mut found = Vec::with_capacity(length as usize);
        for (key, va, length) in pieces(list, offset, length) {
            found.extend_from_slice(self.bytes(key, va, length)?);
        }
        (found.len() == length as usize).then(|| found.into_boxed_slice())
    }

    /// Distributes data over the memory of a work request, from `offset` on.
    pub(crate) fn scatter(&mut self, list: &[Sge], offset: u32, data: &[u8]) {
        let mut rest = data;
        for (key, va, length) in pieces(list, offset, data.len() as u32) {
            let (part, after) = rest.split_at(length as usize);
            self.put(key, va, part);
            rest = after;
        }
    }

    /// From now on the times of remote WRITEs to a region are kept.
    pub(crate) fn watch(&mut self, mr: Mr) -> Result<(), VerbsError> {
        self.get_mut(mr)?.writes.get_or_insert_default();
        Ok(())
    }

    /// The last byte of a remote WRITE is visible at `time`.
    pub(crate) fn written(&mut self, key: u32, time: Time) {
        let window = self.windows.region(key);
        let region = match window {
            Some(mr) => self.get_mut(mr).ok(),
            None => self.by_key_mut(key),
        };
        if let Some(writes) = region.and_then(|region| region.writes.as_mut()) {
            writes.push_back(time);
            self.seen_writes += 1;
        }
    }

    /// Number of remote WRITEs to watched regions so far.
    #[inline]
    pub(crate) fn seen_writes(&self) -> u64 {
        self.seen_writes
    }

    /// Time of the first remote WRITE to a watched region that the program has not taken.
    pub(crate) fn next_write(&self, mr: Mr) -> Option<Time> {
        self.get(mr).ok()?.writes.as_ref()?.front().copied()
    }

    /// Takes the first remote WRITE to a watched region, if it is visible by `now`.
    pub(crate) fn take_write(&mut self, mr: Mr, now: Time) -> Result<bool, VerbsError> {
        let Some(writes) = &mut self.get_mut(mr)?.writes else {
            return Err(invalid(format!("region {} is not watched", mr.0)));
        };
        let is_there = writes.front().is_some_and(|&at| at <= now);
        if is_there {
            writes.pop_front();
        }
        Ok(is_there)
    }
}

/// Key, address and length of the pieces of a list in which the bytes from `offset` on are.
pub(crate) fn pieces(list: &[Sge], offset: u32, length: u32) -> impl Iterator<Item = (u32, u64, u32)> {
    let (mut skip, mut left) = (offset, length);
    list.iter().filter_map(move |sge| {
        let skipped = skip.min(sge.length);
        skip -= skipped;
        let part = (sge.length - skipped).min(left);
        left -= part;
        (part > 0).then_some((sge.lkey, sge.addr + u64::from(skipped), part))
    })
}

/// The remote key of a packet as a number.
pub(crate) const fn number(key: RKey) -> u32 {
    key.0
}

fn no_region(mr: Mr) -> VerbsError {
    invalid(format!("there is no memory region {}", mr.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> (Memory, Mr, u32, u64) {
        let mut memory = Memory::default();
        let all = AccessFlags(0x1f);
        memory.register(Pd(0), 10, all, false).unwrap();
        let mr = memory.register(Pd(1), 100, all, false).unwrap();
        let (key, address) = (memory.key(mr).unwrap(), memory.address(mr).unwrap());
        (memory, mr, key, address)
    }

    #[test]
    fn keys_protect_domains_ranges_and_permissions() {
        let (mut memory, mr, key, address) = memory();
        let write = AccessFlags::REMOTE_WRITE;
        assert!(memory.allows(Pd(1), key, (address, 100), write));
        assert!(!memory.allows(Pd(0), key, (address, 100), write));
        assert!(!memory.allows(Pd(1), key ^ 1, (address, 100), write));
        assert!(!memory.allows(Pd(1), key ^ 0x100, (address, 100), write));
        assert!(!memory.allows(Pd(1), key, (address, 101), write));
        assert!(!memory.allows(Pd(1), key, (address - 1, 1), write));
        assert!(!memory.allows(Pd(1), key, (u64::MAX, 2), write));
        let only_local = memory.register(Pd(1), 8, AccessFlags::LOCAL_WRITE, false).unwrap();
        let (key_2, address_2) = (memory.key(only_local).unwrap(), memory.address(only_local).unwrap());
        assert!(!memory.allows(Pd(1), key_2, (address_2, 8), write));
        memory.deregister(mr).unwrap();
        assert!(!memory.allows(Pd(1), key, (address, 100), write));
        assert!(memory.get(mr).is_err() && memory.deregister(mr).is_err());
    }

    #[test]
    fn lists_are_gathered_and_scattered_piece_by_piece() {
        let (mut memory, mr, lkey, addr) = memory();
        memory.write(mr, 0, &(0..100).collect::<Vec<u8>>()).unwrap();
        let list = [
            Sge { addr: addr + 10, length: 3, lkey },
            Sge { addr: addr + 50, length: 0, lkey },
            Sge { addr: addr + 20, length: 4, lkey },
        ];
        assert_eq!(*memory.gather(&list, 0, 7).unwrap(), [10, 11, 12, 20, 21, 22, 23]);
        assert_eq!(*memory.gather(&list, 2, 3).unwrap(), [12, 20, 21]);
        assert_eq!(memory.gather(&list, 2, 6), None);
        memory.scatter(&list, 1, &[201, 202, 203]);
        assert_eq!(memory.read(mr, 10, 3).unwrap(), [10, 201, 202]);
        assert_eq!(memory.read(mr, 20, 2).unwrap(), [203, 21]);
        let error = memory.read(mr, 90, 11).unwrap_err();
        assert_eq!(error.to_string(), "EINVAL: 11 B from 90 are not in region 1, which has 100 B");
    }

    #[test]
    fn arguments_of_registration_are_checked() {
        let mut memory = Memory::default();
        let error = memory.register(Pd(0), 0, AccessFlags::LOCAL_WRITE, false).unwrap_err();
        assert_eq!(error.to_string(), "EINVAL: reg_mr: length = 0: must be at least 1 B");
        let error = memory.register(Pd(0), 1, AccessFlags::REMOTE_WRITE, false).unwrap_err();
        assert!(error.message.contains("need local write"), "{error}");
        let error = memory.register(Pd(0), 1, AccessFlags(0x80), false).unwrap_err();
        assert!(error.message.contains("not known"), "{error}");
    }
}
