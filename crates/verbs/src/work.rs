//! Work requests as programs post them.

use fabricsim_protocols::infiniband::{Extra, Remote, Verb};
use fabricsim_wire::ids::{QKey, Qpn, Srqn};

use crate::completion::WcOpcode;
use crate::handles::Ah;
use crate::memory::Sge;

/// Receiver of a work request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum To {
    /// The other end of the connection.
    #[default]
    Connection,
    /// A queue pair of a host, of UD (`wr.ud`).
    Datagram {
        /// Host.
        ah: Ah,
        /// Queue pair (`remote_qpn`).
        qp: Qpn,
        /// Queue key of the receiver (`remote_qkey`); with its highest bit set, the sender's own key is sent.
        q_key: QKey,
    },
    /// A shared receive queue at the other end, of XRC (`qp_type.xrc.remote_srqn`).
    SharedQueue(Srqn),
}

/// A work request of a send queue (`ibv_send_wr`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendRequest {
    /// Identifier for its completion.
    pub wr_id: u64,
    /// Operation.
    pub verb: Verb,
    /// Local memory: the data of SEND and WRITE, the place for the data of READ and for the result of an atomic operation.
    pub list: Vec<Sge>,
    /// Data that the work request holds itself (`IBV_SEND_INLINE`), instead of `list`.
    pub inline: Option<Vec<u8>>,
    /// Immediate data, or a key that the receiver invalidates.
    pub extra: Extra,
    /// `IBV_SEND_SIGNALED`: it has a completion also if it succeeds.
    pub signaled: bool,
    /// `IBV_SEND_SOLICITED`.
    pub solicited: bool,
    /// `IBV_SEND_FENCE`.
    pub fence: bool,
    /// Receiver.
    pub to: To,
}

impl SendRequest {
    /// A signaled request.
    pub fn new(wr_id: u64, verb: Verb, list: Vec<Sge>) -> Self {
        Self {
            wr_id,
            verb,
            list,
            inline: None,
            extra: Extra::None,
            signaled: true,
            solicited: false,
            fence: false,
            to: To::Connection,
        }
    }

    /// The same request to another receiver.
    #[must_use]
    pub fn with_receiver(self, to: To) -> Self {
        Self { to, ..self }
    }

    /// SEND of local memory.
    pub fn send(wr_id: u64, list: Vec<Sge>) -> Self {
        Self::new(wr_id, Verb::Send, list)
    }

    /// RDMA WRITE of local memory to `remote`.
    pub fn write(wr_id: u64, list: Vec<Sge>, remote: Remote) -> Self {
        Self::new(wr_id, Verb::Write(remote), list)
    }

    /// RDMA READ from `remote` to local memory.
    pub fn read(wr_id: u64, list: Vec<Sge>, remote: Remote) -> Self {
        Self::new(wr_id, Verb::Read(remote), list)
    }

    /// Its operation in a completion.
    pub(crate) const fn opcode(&self) -> WcOpcode {
        match self.verb {
            Verb::Send => WcOpcode::Send,
            Verb::Write(_) => WcOpcode::RdmaWrite,
            Verb::Read(_) => WcOpcode::RdmaRead,
            Verb::CompareSwap { .. } => WcOpcode::CompSwap,
            Verb::FetchAdd { .. } => WcOpcode::FetchAdd,
        }
    }

    /// Bytes of its data; `None` if they are more than 2^32 - 1.
    pub(crate) fn length(&self) -> Option<u32> {
        match &self.inline {
            Some(data) => u32::try_from(data.len()).ok(),
            None => self.list.iter().try_fold(0_u32, |sum, sge| sum.checked_add(sge.length)),
        }
    }
}

/// A receive request (`ibv_recv_wr`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiveRequest {
    /// Identifier for its completion.
    pub wr_id: u64,
    /// Memory for the message.
    pub list: Vec<Sge>,
}
