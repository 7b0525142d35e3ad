//! Two connected adapters, and a region at the second one for memory windows.

use fabricsim_protocols::infiniband::{Remote, Status};
use fabricsim_units::Time;
use fabricsim_wire::ids::RKey;

use super::pair::{End, SIZE};
use super::{Pair, connected, sge};
use crate::{
    AccessFlags, Binding, Capacities, Costs, LocalOperation, LocalRequest, Mr, Mw, SendRequest, WcOpcode,
    WindowKind,
};

pub(super) const WRITE: AccessFlags = AccessFlags::REMOTE_WRITE;

/// Two connected ends; the second has a region that windows may be bound to.
pub(super) struct Bench {
    pub(super) pair: Pair,
    pub(super) ends: [End; 2],
    pub(super) mr: Mr,
    pub(super) address: u64,
}

pub(super) fn bench(costs: Costs) -> Bench {
    let mut pair = Pair::new(costs);
    let ends = connected(&mut pair, Capacities::default());
    let mr = pair.devices[1].reg_mr(ends[1].pd, 1000, AccessFlags(0x11)).unwrap();
    let address = pair.devices[1].address(mr).unwrap();
    pair.devices[0].write_memory(ends[0].mr, 0, &vec![1; SIZE as usize]).unwrap();
    Bench { pair, ends, mr, address }
}

impl Bench {
    pub(super) fn binding(&self, offset: u64, length: u64, access: AccessFlags) -> Binding {
        Binding { mr: self.mr, va: self.address + offset, length, access }
    }

    /// Binds a window of type 2 at the second end under its next key, which it returns.
    pub(super) fn bind(&mut self, mw: Mw, binding: Binding) -> RKey {
        let key = self.pair.devices[1].window_key(mw).unwrap().0;
        let r_key = RKey(key & !0xff | key.wrapping_add(1) & 0xff);
        let operation = LocalOperation::Bind { mw, r_key, binding: Some(binding) };
        self.local(LocalRequest::new(50, operation));
        r_key
    }

    pub(super) fn local(&mut self, request: LocalRequest) {
        let (qp, now) = (self.ends[1].qp, self.pair.now);
        self.pair.devices[1].post_local(qp, request, now).unwrap();
    }

    pub(super) fn window(&mut self) -> Mw {
        let pd = self.ends[1].pd;
        self.pair.devices[1].alloc_mw(pd, WindowKind::Type2).unwrap()
    }

    pub(super) fn run(&mut self) {
        let until = self.pair.now + Time::ms(1000);
        self.pair.run(until);
    }

    pub(super) fn statuses(&mut self, host: usize) -> Vec<(u64, Status, WcOpcode)> {
        let cq = self.ends[host].cq;
        self.pair.poll(host, cq).iter().map(|wc| (wc.wr_id, wc.status, wc.opcode)).collect()
    }

    /// Posts a WRITE of 8 bytes from the first end. Returns its status.
    pub(super) fn write(&mut self, va: u64, r_key: RKey) -> Status {
        self.post(SendRequest::write(9, sge(&self.ends[0], 0, 8), Remote { va, r_key }));
        self.run();
        self.statuses(0)[0].1
    }

    pub(super) fn post(&mut self, request: SendRequest) {
        let (qp, now) = (self.ends[0].qp, self.pair.now);
        self.pair.devices[0].post_send(qp, request, now).unwrap();
    }

    pub(super) fn memory(&self) -> Vec<u8> {
        self.pair.devices[1].read_memory(self.mr, 0, 1000).unwrap()
    }

    /// Positions of the bytes that were written.
    pub(super) fn written(&self) -> Vec<usize> {
        self.memory().iter().enumerate().filter(|(_, byte)| **byte != 0).map(|(place, _)| place).collect()
    }
}
