//! Extended transport headers (IBA volume 1, section 9.3).

use super::Syndrome;
use crate::ids::{EeContext, Msn, QKey, Qpn, RKey, Srqn};
use crate::record::record;

record! {
    /// RDMA extended transport header: the remote memory of a WRITE or READ.
    #[derive(fabricsim_state::Value)]
    Reth, RethView, 16 {
        /// Virtual address of the first byte.
        va: u64 = 0:0, 64;
        /// Key of the memory region or window.
        r_key: RKey = 8:0, 32;
        /// Length of the message in bytes.
        dma_length: u32 = 12:0, 32;
    }
}

record! {
    /// Atomic extended transport header.
    AtomicEth, AtomicEthView, 28 {
        /// Virtual address of the 8 bytes, a multiple of 8.
        va: u64 = 0:0, 64;
        /// Key of the memory region or window.
        r_key: RKey = 8:0, 32;
        /// Compare & Swap: the new value. Fetch & Add: the summand.
        swap_or_add: u64 = 12:0, 64;
        /// Compare & Swap: the value to compare with. Fetch & Add: not used.
        compare: u64 = 20:0, 64;
    }
}

record! {
    /// Acknowledgement extended transport header.
    #[derive(fabricsim_state::Value)]
    Aeth, AethView, 4 {
        /// Outcome of the request.
        syndrome: Syndrome = 0:0, 8;
        /// Messages that the responder has completed, modulo 2^24.
        msn: Msn = 1:0, 24;
    }
}

record! {
    /// Atomic acknowledgement extended transport header.
    #[derive(fabricsim_state::Value)]
    AtomicAckEth, AtomicAckEthView, 8 {
        /// The value in memory before the operation.
        original: u64 = 0:0, 64;
    }
}

record! {
    /// Datagram extended transport header.
    #[derive(fabricsim_state::Value)]
    Deth, DethView, 8 {
        /// Queue key that the receiver compares with its own.
        q_key: QKey = 0:0, 32;
        /// Queue pair that sends.
        src_qp: Qpn = 5:0, 24;
    }
}

record! {
    /// Reliable datagram extended transport header.
    #[derive(fabricsim_state::Value)]
    Rdeth, RdethView, 4 {
        /// End-to-end context of the receiver.
        ee_context: EeContext = 1:0, 24;
    }
}

record! {
    /// Extended reliable connected extended transport header.
    #[derive(fabricsim_state::Value)]
    Xrceth, XrcethView, 4 {
        /// Shared receive queue of the receiver.
        srq: Srqn = 1:0, 24;
    }
}

record! {
    /// Immediate data: handed to the receiver's completion.
    #[derive(fabricsim_state::Value)]
    ImmDt, ImmDtView, 4 {
        /// The value.
        data: u32 = 0:0, 32;
    }
}

record! {
    /// Invalidate extended transport header.
    #[derive(fabricsim_state::Value)]
    Ieth, IethView, 4 {
        /// The key that the receiver makes invalid.
        r_key: RKey = 0:0, 32;
    }
}
