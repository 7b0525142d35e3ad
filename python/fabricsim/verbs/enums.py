"""Enumerations of rdma-core, by their names and numbers."""

from __future__ import annotations

from enum import IntEnum, IntFlag


class ibv_qp_type(IntEnum):
    """Transport service of a queue pair."""

    IBV_QPT_RC = 2
    IBV_QPT_UC = 3
    IBV_QPT_UD = 4
    IBV_QPT_XRC_SEND = 9
    IBV_QPT_XRC_RECV = 10


class ibv_qp_state(IntEnum):
    """State of a queue pair."""

    IBV_QPS_RESET = 0
    IBV_QPS_INIT = 1
    IBV_QPS_RTR = 2
    IBV_QPS_RTS = 3
    IBV_QPS_SQD = 4
    IBV_QPS_SQE = 5
    IBV_QPS_ERR = 6


class ibv_mtu(IntEnum):
    """Path MTU."""

    IBV_MTU_256 = 1
    IBV_MTU_512 = 2
    IBV_MTU_1024 = 3
    IBV_MTU_2048 = 4
    IBV_MTU_4096 = 5


class ibv_wr_opcode(IntEnum):
    """Operation of a work request."""

    IBV_WR_RDMA_WRITE = 0
    IBV_WR_RDMA_WRITE_WITH_IMM = 1
    IBV_WR_SEND = 2
    IBV_WR_SEND_WITH_IMM = 3
    IBV_WR_RDMA_READ = 4
    IBV_WR_ATOMIC_CMP_AND_SWP = 5
    IBV_WR_ATOMIC_FETCH_AND_ADD = 6
    IBV_WR_LOCAL_INV = 7
    IBV_WR_BIND_MW = 8
    IBV_WR_SEND_WITH_INV = 9


class ibv_wc_opcode(IntEnum):
    """Operation of a completion."""

    IBV_WC_SEND = 0
    IBV_WC_RDMA_WRITE = 1
    IBV_WC_RDMA_READ = 2
    IBV_WC_COMP_SWAP = 3
    IBV_WC_FETCH_ADD = 4
    IBV_WC_BIND_MW = 5
    IBV_WC_LOCAL_INV = 6
    IBV_WC_RECV = 128
    IBV_WC_RECV_RDMA_WITH_IMM = 129


class ibv_wc_status(IntEnum):
    """Status of a completion."""

    IBV_WC_SUCCESS = 0
    IBV_WC_LOC_LEN_ERR = 1
    IBV_WC_LOC_QP_OP_ERR = 2
    IBV_WC_LOC_EEC_OP_ERR = 3
    IBV_WC_LOC_PROT_ERR = 4
    IBV_WC_WR_FLUSH_ERR = 5
    IBV_WC_MW_BIND_ERR = 6
    IBV_WC_BAD_RESP_ERR = 7
    IBV_WC_LOC_ACCESS_ERR = 8
    IBV_WC_REM_INV_REQ_ERR = 9
    IBV_WC_REM_ACCESS_ERR = 10
    IBV_WC_REM_OP_ERR = 11
    IBV_WC_RETRY_EXC_ERR = 12
    IBV_WC_RNR_RETRY_EXC_ERR = 13
    IBV_WC_LOC_RDD_VIOL_ERR = 14
    IBV_WC_REM_INV_RD_REQ_ERR = 15
    IBV_WC_REM_ABORT_ERR = 16
    IBV_WC_INV_EECN_ERR = 17
    IBV_WC_INV_EEC_STATE_ERR = 18
    IBV_WC_FATAL_ERR = 19
    IBV_WC_RESP_TIMEOUT_ERR = 20
    IBV_WC_GENERAL_ERR = 21


class ibv_wc_flags(IntFlag):
    """What a completion has besides."""

    IBV_WC_GRH = 1
    IBV_WC_WITH_IMM = 2
    IBV_WC_WITH_INV = 8


class ibv_send_flags(IntFlag):
    """Options of a work request."""

    IBV_SEND_FENCE = 1
    IBV_SEND_SIGNALED = 2
    IBV_SEND_SOLICITED = 4
    IBV_SEND_INLINE = 8


class ibv_access_flags(IntFlag):
    """Permissions of memory and of a queue pair."""

    IBV_ACCESS_LOCAL_WRITE = 1
    IBV_ACCESS_REMOTE_WRITE = 2
    IBV_ACCESS_REMOTE_READ = 4
    IBV_ACCESS_REMOTE_ATOMIC = 8
    IBV_ACCESS_MW_BIND = 16
    IBV_ACCESS_ZERO_BASED = 32
    IBV_ACCESS_ON_DEMAND = 64


class ibv_mw_type(IntEnum):
    """Type of a memory window."""

    IBV_MW_TYPE_1 = 1
    IBV_MW_TYPE_2 = 2


class ibv_qp_attr_mask(IntFlag):
    """Attributes that a change of a queue pair sets."""

    IBV_QP_STATE = 1
    IBV_QP_CUR_STATE = 2
    IBV_QP_EN_SQD_ASYNC_NOTIFY = 4
    IBV_QP_ACCESS_FLAGS = 8
    IBV_QP_PKEY_INDEX = 16
    IBV_QP_PORT = 32
    IBV_QP_QKEY = 64
    IBV_QP_AV = 128
    IBV_QP_PATH_MTU = 256
    IBV_QP_TIMEOUT = 512
    IBV_QP_RETRY_CNT = 1024
    IBV_QP_RNR_RETRY = 2048
    IBV_QP_RQ_PSN = 4096
    IBV_QP_MAX_QP_RD_ATOMIC = 8192
    IBV_QP_ALT_PATH = 16384
    IBV_QP_MIN_RNR_TIMER = 32768
    IBV_QP_SQ_PSN = 65536
    IBV_QP_MAX_DEST_RD_ATOMIC = 131072
    IBV_QP_PATH_MIG_STATE = 262144
    IBV_QP_DEST_QPN = 1048576


class ibv_event_type(IntEnum):
    """Type of an asynchronous event."""

    IBV_EVENT_CQ_ERR = 0
    IBV_EVENT_QP_FATAL = 1
    IBV_EVENT_QP_REQ_ERR = 2
    IBV_EVENT_QP_ACCESS_ERR = 3
    IBV_EVENT_COMM_EST = 4
    IBV_EVENT_SQ_DRAINED = 5
    IBV_EVENT_PATH_MIG = 6
    IBV_EVENT_PATH_MIG_ERR = 7
    IBV_EVENT_PKEY_CHANGE = 12
    IBV_EVENT_SRQ_LIMIT_REACHED = 15
    IBV_EVENT_QP_LAST_WQE_REACHED = 16


IBV_QPT_RC = ibv_qp_type.IBV_QPT_RC
IBV_QPT_UC = ibv_qp_type.IBV_QPT_UC
IBV_QPT_UD = ibv_qp_type.IBV_QPT_UD
IBV_QPT_XRC_SEND = ibv_qp_type.IBV_QPT_XRC_SEND
IBV_QPT_XRC_RECV = ibv_qp_type.IBV_QPT_XRC_RECV
IBV_QPS_RESET = ibv_qp_state.IBV_QPS_RESET
IBV_QPS_INIT = ibv_qp_state.IBV_QPS_INIT
IBV_QPS_RTR = ibv_qp_state.IBV_QPS_RTR
IBV_QPS_RTS = ibv_qp_state.IBV_QPS_RTS
IBV_QPS_SQD = ibv_qp_state.IBV_QPS_SQD
IBV_QPS_SQE = ibv_qp_state.IBV_QPS_SQE
IBV_QPS_ERR = ibv_qp_state.IBV_QPS_ERR
IBV_MTU_256 = ibv_mtu.IBV_MTU_256
IBV_MTU_512 = ibv_mtu.IBV_MTU_512
IBV_MTU_1024 = ibv_mtu.IBV_MTU_1024
IBV_MTU_2048 = ibv_mtu.IBV_MTU_2048
IBV_MTU_4096 = ibv_mtu.IBV_MTU_4096
IBV_WR_RDMA_WRITE = ibv_wr_opcode.IBV_WR_RDMA_WRITE
IBV_WR_RDMA_WRITE_WITH_IMM = ibv_wr_opcode.IBV_WR_RDMA_WRITE_WITH_IMM
IBV_WR_SEND = ibv_wr_opcode.IBV_WR_SEND
IBV_WR_SEND_WITH_IMM = ibv_wr_opcode.IBV_WR_SEND_WITH_IMM
IBV_WR_RDMA_READ = ibv_wr_opcode.IBV_WR_RDMA_READ
IBV_WR_ATOMIC_CMP_AND_SWP = ibv_wr_opcode.IBV_WR_ATOMIC_CMP_AND_SWP
IBV_WR_ATOMIC_FETCH_AND_ADD = ibv_wr_opcode.IBV_WR_ATOMIC_FETCH_AND_ADD
IBV_WR_LOCAL_INV = ibv_wr_opcode.IBV_WR_LOCAL_INV
IBV_WR_BIND_MW = ibv_wr_opcode.IBV_WR_BIND_MW
IBV_WR_SEND_WITH_INV = ibv_wr_opcode.IBV_WR_SEND_WITH_INV
IBV_WC_SEND = ibv_wc_opcode.IBV_WC_SEND
IBV_WC_RDMA_WRITE = ibv_wc_opcode.IBV_WC_RDMA_WRITE
IBV_WC_RDMA_READ = ibv_wc_opcode.IBV_WC_RDMA_READ
IBV_WC_COMP_SWAP = ibv_wc_opcode.IBV_WC_COMP_SWAP
IBV_WC_FETCH_ADD = ibv_wc_opcode.IBV_WC_FETCH_ADD
IBV_WC_BIND_MW = ibv_wc_opcode.IBV_WC_BIND_MW
IBV_WC_LOCAL_INV = ibv_wc_opcode.IBV_WC_LOCAL_INV
IBV_WC_RECV = ibv_wc_opcode.IBV_WC_RECV
IBV_WC_RECV_RDMA_WITH_IMM = ibv_wc_opcode.IBV_WC_RECV_RDMA_WITH_IMM
IBV_WC_SUCCESS = ibv_wc_status.IBV_WC_SUCCESS
IBV_WC_LOC_LEN_ERR = ibv_wc_status.IBV_WC_LOC_LEN_ERR
IBV_WC_LOC_QP_OP_ERR = ibv_wc_status.IBV_WC_LOC_QP_OP_ERR
IBV_WC_LOC_EEC_OP_ERR = ibv_wc_status.IBV_WC_LOC_EEC_OP_ERR
IBV_WC_LOC_PROT_ERR = ibv_wc_status.IBV_WC_LOC_PROT_ERR
IBV_WC_WR_FLUSH_ERR = ibv_wc_status.IBV_WC_WR_FLUSH_ERR
IBV_WC_MW_BIND_ERR = ibv_wc_status.IBV_WC_MW_BIND_ERR
IBV_WC_BAD_RESP_ERR = ibv_wc_status.IBV_WC_BAD_RESP_ERR
IBV_WC_LOC_ACCESS_ERR = ibv_wc_status.IBV_WC_LOC_ACCESS_ERR
IBV_WC_REM_INV_REQ_ERR = ibv_wc_status.IBV_WC_REM_INV_REQ_ERR
IBV_WC_REM_ACCESS_ERR = ibv_wc_status.IBV_WC_REM_ACCESS_ERR
IBV_WC_REM_OP_ERR = ibv_wc_status.IBV_WC_REM_OP_ERR
IBV_WC_RETRY_EXC_ERR = ibv_wc_status.IBV_WC_RETRY_EXC_ERR
IBV_WC_RNR_RETRY_EXC_ERR = ibv_wc_status.IBV_WC_RNR_RETRY_EXC_ERR
IBV_WC_LOC_RDD_VIOL_ERR = ibv_wc_status.IBV_WC_LOC_RDD_VIOL_ERR
IBV_WC_REM_INV_RD_REQ_ERR = ibv_wc_status.IBV_WC_REM_INV_RD_REQ_ERR
IBV_WC_REM_ABORT_ERR = ibv_wc_status.IBV_WC_REM_ABORT_ERR
IBV_WC_INV_EECN_ERR = ibv_wc_status.IBV_WC_INV_EECN_ERR
IBV_WC_INV_EEC_STATE_ERR = ibv_wc_status.IBV_WC_INV_EEC_STATE_ERR
IBV_WC_FATAL_ERR = ibv_wc_status.IBV_WC_FATAL_ERR
IBV_WC_RESP_TIMEOUT_ERR = ibv_wc_status.IBV_WC_RESP_TIMEOUT_ERR
IBV_WC_GENERAL_ERR = ibv_wc_status.IBV_WC_GENERAL_ERR
IBV_WC_GRH = ibv_wc_flags.IBV_WC_GRH
IBV_WC_WITH_IMM = ibv_wc_flags.IBV_WC_WITH_IMM
IBV_WC_WITH_INV = ibv_wc_flags.IBV_WC_WITH_INV
IBV_SEND_FENCE = ibv_send_flags.IBV_SEND_FENCE
IBV_SEND_SIGNALED = ibv_send_flags.IBV_SEND_SIGNALED
IBV_SEND_SOLICITED = ibv_send_flags.IBV_SEND_SOLICITED
IBV_SEND_INLINE = ibv_send_flags.IBV_SEND_INLINE
IBV_ACCESS_LOCAL_WRITE = ibv_access_flags.IBV_ACCESS_LOCAL_WRITE
IBV_ACCESS_REMOTE_WRITE = ibv_access_flags.IBV_ACCESS_REMOTE_WRITE
IBV_ACCESS_REMOTE_READ = ibv_access_flags.IBV_ACCESS_REMOTE_READ
IBV_ACCESS_REMOTE_ATOMIC = ibv_access_flags.IBV_ACCESS_REMOTE_ATOMIC
IBV_ACCESS_MW_BIND = ibv_access_flags.IBV_ACCESS_MW_BIND
IBV_ACCESS_ZERO_BASED = ibv_access_flags.IBV_ACCESS_ZERO_BASED
IBV_ACCESS_ON_DEMAND = ibv_access_flags.IBV_ACCESS_ON_DEMAND
IBV_MW_TYPE_1 = ibv_mw_type.IBV_MW_TYPE_1
IBV_MW_TYPE_2 = ibv_mw_type.IBV_MW_TYPE_2
IBV_QP_STATE = ibv_qp_attr_mask.IBV_QP_STATE
IBV_QP_CUR_STATE = ibv_qp_attr_mask.IBV_QP_CUR_STATE
IBV_QP_EN_SQD_ASYNC_NOTIFY = ibv_qp_attr_mask.IBV_QP_EN_SQD_ASYNC_NOTIFY
IBV_QP_ACCESS_FLAGS = ibv_qp_attr_mask.IBV_QP_ACCESS_FLAGS
IBV_QP_PKEY_INDEX = ibv_qp_attr_mask.IBV_QP_PKEY_INDEX
IBV_QP_PORT = ibv_qp_attr_mask.IBV_QP_PORT
IBV_QP_QKEY = ibv_qp_attr_mask.IBV_QP_QKEY
IBV_QP_AV = ibv_qp_attr_mask.IBV_QP_AV
IBV_QP_PATH_MTU = ibv_qp_attr_mask.IBV_QP_PATH_MTU
IBV_QP_TIMEOUT = ibv_qp_attr_mask.IBV_QP_TIMEOUT
IBV_QP_RETRY_CNT = ibv_qp_attr_mask.IBV_QP_RETRY_CNT
IBV_QP_RNR_RETRY = ibv_qp_attr_mask.IBV_QP_RNR_RETRY
IBV_QP_RQ_PSN = ibv_qp_attr_mask.IBV_QP_RQ_PSN
IBV_QP_MAX_QP_RD_ATOMIC = ibv_qp_attr_mask.IBV_QP_MAX_QP_RD_ATOMIC
IBV_QP_ALT_PATH = ibv_qp_attr_mask.IBV_QP_ALT_PATH
IBV_QP_PATH_MIG_STATE = ibv_qp_attr_mask.IBV_QP_PATH_MIG_STATE
IBV_QP_MIN_RNR_TIMER = ibv_qp_attr_mask.IBV_QP_MIN_RNR_TIMER
IBV_QP_SQ_PSN = ibv_qp_attr_mask.IBV_QP_SQ_PSN
IBV_QP_MAX_DEST_RD_ATOMIC = ibv_qp_attr_mask.IBV_QP_MAX_DEST_RD_ATOMIC
IBV_QP_DEST_QPN = ibv_qp_attr_mask.IBV_QP_DEST_QPN
IBV_EVENT_CQ_ERR = ibv_event_type.IBV_EVENT_CQ_ERR
IBV_EVENT_QP_FATAL = ibv_event_type.IBV_EVENT_QP_FATAL
IBV_EVENT_QP_REQ_ERR = ibv_event_type.IBV_EVENT_QP_REQ_ERR
IBV_EVENT_QP_ACCESS_ERR = ibv_event_type.IBV_EVENT_QP_ACCESS_ERR
IBV_EVENT_COMM_EST = ibv_event_type.IBV_EVENT_COMM_EST
IBV_EVENT_SQ_DRAINED = ibv_event_type.IBV_EVENT_SQ_DRAINED
IBV_EVENT_PATH_MIG = ibv_event_type.IBV_EVENT_PATH_MIG
IBV_EVENT_PATH_MIG_ERR = ibv_event_type.IBV_EVENT_PATH_MIG_ERR
IBV_EVENT_PKEY_CHANGE = ibv_event_type.IBV_EVENT_PKEY_CHANGE
IBV_EVENT_SRQ_LIMIT_REACHED = ibv_event_type.IBV_EVENT_SRQ_LIMIT_REACHED
IBV_EVENT_QP_LAST_WQE_REACHED = ibv_event_type.IBV_EVENT_QP_LAST_WQE_REACHED

__all__ = [
    "IBV_ACCESS_LOCAL_WRITE",
    "IBV_ACCESS_MW_BIND",
    "IBV_ACCESS_ON_DEMAND",
    "IBV_ACCESS_REMOTE_ATOMIC",
    "IBV_ACCESS_REMOTE_READ",
    "IBV_ACCESS_REMOTE_WRITE",
    "IBV_ACCESS_ZERO_BASED",
    "IBV_EVENT_COMM_EST",
    "IBV_EVENT_CQ_ERR",
    "IBV_EVENT_PATH_MIG",
    "IBV_EVENT_PATH_MIG_ERR",
    "IBV_EVENT_PKEY_CHANGE",
    "IBV_EVENT_QP_ACCESS_ERR",
    "IBV_EVENT_QP_FATAL",
    "IBV_EVENT_QP_LAST_WQE_REACHED",
    "IBV_EVENT_QP_REQ_ERR",
    "IBV_EVENT_SQ_DRAINED",
    "IBV_EVENT_SRQ_LIMIT_REACHED",
    "IBV_MTU_256",
    "IBV_MTU_512",
    "IBV_MTU_1024",
    "IBV_MTU_2048",
    "IBV_MTU_4096",
    "IBV_MW_TYPE_1",
    "IBV_MW_TYPE_2",
    "IBV_QPS_ERR",
    "IBV_QPS_INIT",
    "IBV_QPS_RESET",
    "IBV_QPS_RTR",
    "IBV_QPS_RTS",
    "IBV_QPS_SQD",
    "IBV_QPS_SQE",
    "IBV_QPT_RC",
    "IBV_QPT_UC",
    "IBV_QPT_UD",
    "IBV_QPT_XRC_RECV",
    "IBV_QPT_XRC_SEND",
    "IBV_QP_ACCESS_FLAGS",
    "IBV_QP_ALT_PATH",
    "IBV_QP_AV",
    "IBV_QP_CUR_STATE",
    "IBV_QP_DEST_QPN",
    "IBV_QP_EN_SQD_ASYNC_NOTIFY",
    "IBV_QP_MAX_DEST_RD_ATOMIC",
    "IBV_QP_MAX_QP_RD_ATOMIC",
    "IBV_QP_MIN_RNR_TIMER",
    "IBV_QP_PATH_MIG_STATE",
    "IBV_QP_PATH_MTU",
    "IBV_QP_PKEY_INDEX",
    "IBV_QP_PORT",
    "IBV_QP_QKEY",
    "IBV_QP_RETRY_CNT",
    "IBV_QP_RNR_RETRY",
    "IBV_QP_RQ_PSN",
    "IBV_QP_SQ_PSN",
    "IBV_QP_STATE",
    "IBV_QP_TIMEOUT",
    "IBV_SEND_FENCE",
    "IBV_SEND_INLINE",
    "IBV_SEND_SIGNALED",
    "IBV_SEND_SOLICITED",
    "IBV_WC_BAD_RESP_ERR",
    "IBV_WC_BIND_MW",
    "IBV_WC_COMP_SWAP",
    "IBV_WC_FATAL_ERR",
    "IBV_WC_FETCH_ADD",
    "IBV_WC_GENERAL_ERR",
    "IBV_WC_GRH",
    "IBV_WC_INV_EECN_ERR",
    "IBV_WC_INV_EEC_STATE_ERR",
    "IBV_WC_LOCAL_INV",
    "IBV_WC_LOC_ACCESS_ERR",
    "IBV_WC_LOC_EEC_OP_ERR",
    "IBV_WC_LOC_LEN_ERR",
    "IBV_WC_LOC_PROT_ERR",
    "IBV_WC_LOC_QP_OP_ERR",
    "IBV_WC_LOC_RDD_VIOL_ERR",
    "IBV_WC_MW_BIND_ERR",
    "IBV_WC_RDMA_READ",
    "IBV_WC_RDMA_WRITE",
    "IBV_WC_RECV",
    "IBV_WC_RECV_RDMA_WITH_IMM",
    "IBV_WC_REM_ABORT_ERR",
    "IBV_WC_REM_ACCESS_ERR",
    "IBV_WC_REM_INV_RD_REQ_ERR",
    "IBV_WC_REM_INV_REQ_ERR",
    "IBV_WC_REM_OP_ERR",
    "IBV_WC_RESP_TIMEOUT_ERR",
    "IBV_WC_RETRY_EXC_ERR",
    "IBV_WC_RNR_RETRY_EXC_ERR",
    "IBV_WC_SEND",
    "IBV_WC_SUCCESS",
    "IBV_WC_WITH_IMM",
    "IBV_WC_WITH_INV",
    "IBV_WC_WR_FLUSH_ERR",
    "IBV_WR_ATOMIC_CMP_AND_SWP",
    "IBV_WR_ATOMIC_FETCH_AND_ADD",
    "IBV_WR_BIND_MW",
    "IBV_WR_LOCAL_INV",
    "IBV_WR_RDMA_READ",
    "IBV_WR_RDMA_WRITE",
    "IBV_WR_RDMA_WRITE_WITH_IMM",
    "IBV_WR_SEND",
    "IBV_WR_SEND_WITH_IMM",
    "IBV_WR_SEND_WITH_INV",
    "ibv_access_flags",
    "ibv_event_type",
    "ibv_mtu",
    "ibv_qp_attr_mask",
    "ibv_qp_state",
    "ibv_qp_type",
    "ibv_send_flags",
    "ibv_wc_flags",
    "ibv_wc_opcode",
    "ibv_wc_status",
    "ibv_wr_opcode",
]
