"""States of path migration, by the names and numbers of rdma-core."""

from __future__ import annotations

from enum import IntEnum


class ibv_mig_state(IntEnum):
    """State of path migration."""

    IBV_MIG_MIGRATED = 0
    IBV_MIG_REARM = 1
    IBV_MIG_ARMED = 2


IBV_MIG_MIGRATED = ibv_mig_state.IBV_MIG_MIGRATED
IBV_MIG_REARM = ibv_mig_state.IBV_MIG_REARM
IBV_MIG_ARMED = ibv_mig_state.IBV_MIG_ARMED

__all__ = ["IBV_MIG_ARMED", "IBV_MIG_MIGRATED", "IBV_MIG_REARM", "ibv_mig_state"]
