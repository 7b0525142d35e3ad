"""Verbs in Python: programs that post work requests on simulated hosts, with the names of rdma-core and pyverbs.

```python
import fabricsim.verbs as v

def client(ctx): ...
def server(ctx): ...

run = v.run(None, {"H0": client, "H1": server})
```
"""

from fabricsim.programs import ProgramError, ProgramsBlockedError, ProgramsRun
from fabricsim.verbs import enums, migration
from fabricsim.verbs.addr import AH, GID, AHAttr, GlobalRoute, McastGroup
from fabricsim.verbs.completion import CQ, WC, CompChannel, Polled, wc_status_to_str
from fabricsim.verbs.context import PD, AsyncEvent, Context, PortAttr
from fabricsim.verbs.enums import *  # noqa: F403 - the constants of rdma-core
from fabricsim.verbs.errors import PyverbsError, PyverbsRDMAErrno, PyverbsRDMAError, PyverbsUserError
from fabricsim.verbs.memory import MR
from fabricsim.verbs.migration import *  # noqa: F403 - the constants of rdma-core
from fabricsim.verbs.mw import MW, MWBind, MWBindInfo, inc_rkey
from fabricsim.verbs.qp import QP, Drops, QPAttr, QPCap, QPInitAttr, connect
from fabricsim.verbs.run import Program, run
from fabricsim.verbs.srq import SRQ, XRCD, SrqAttr, SrqInitAttr
from fabricsim.verbs.wr import SGE, RecvWR, SendWR

__all__ = [
    "AH",
    "CQ",
    "GID",
    "MR",
    "MW",
    "PD",
    "QP",
    "SGE",
    "SRQ",
    "WC",
    "XRCD",
    "AHAttr",
    "AsyncEvent",
    "CompChannel",
    "Context",
    "Drops",
    "GlobalRoute",
    "MWBind",
    "MWBindInfo",
    "McastGroup",
    "Polled",
    "PortAttr",
    "Program",
    "ProgramError",
    "ProgramsBlockedError",
    "ProgramsRun",
    "PyverbsError",
    "PyverbsRDMAErrno",
    "PyverbsRDMAError",
    "PyverbsUserError",
    "QPAttr",
    "QPCap",
    "QPInitAttr",
    "RecvWR",
    "SendWR",
    "SrqAttr",
    "SrqInitAttr",
    "connect",
    "inc_rkey",
    "run",
    "wc_status_to_str",
]
__all__ += enums.__all__
__all__ += migration.__all__
