"""P_Keys of queue pairs: at their other end, in switches, and from a subnet manager."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_verbs_paths import FABRIC, MIGRATION, PEER, _queue_pair, _write

import fabricsim as fs
import fabricsim.verbs as v
from fabricsim.captures import dissect

pytest.importorskip("greenlet")
pytestmark = pytest.mark.usefixtures("real")
PARTITIONS: dict[str, Any] = {
    "faults.plan": [],
    "partitions": [
        {"name": "blue", "key": 1, "members": ["H0", "H3"]},
        {"name": "red", "key": 2, "members": ["H0"], "limited": ["H3"]},
    ],
}


@pytest.mark.parametrize("partitions", [1, 2, 3])
@pytest.mark.parametrize(
    ("indices", "status", "key"),
    [
        ((1, 1), "IBV_WC_SUCCESS", 0x8001),
        ((2, 2), "IBV_WC_SUCCESS", 0x8002),
        ((0, 1), "IBV_WC_RETRY_EXC_ERR", 0xFFFF),
        ((1, 2), "IBV_WC_RETRY_EXC_ERR", 0x8001),
    ],
)
def test_queue_pairs_of_a_partition_hear_each_other_only(
    tmp_path: Path, indices: tuple[int, int], status: str, key: int, partitions: int
) -> None:
    def program(ctx: v.Context) -> tuple[str, list[int]]:
        keys = [ctx.query_pkey(index) for index in range(3)]
        index = indices[list(PEER).index(ctx.host)]
        return _write(ctx, v.QPAttr(pkey_index=index, timeout=1, retry_cnt=1)), keys

    file = tmp_path / "keys.pcapng"
    run = v.run(
        FABRIC, dict.fromkeys(PEER, program), set=PARTITIONS | {"run.partitions": partitions}, capture=file
    )
    assert run.values["H0"] == (status, [0xFFFF, 0x8001, 0x8002])
    assert run.values["H3"][1] == [0xFFFF, 0x8001, 0x0002]
    sent = {record["bth"]["p_key"] for record in dissect(file) if record["lrh"]["slid"] == 2}
    assert sent == {key}
    dropped = run.result.table("verbs_queue_pairs")["dropped"].tolist()
    # Three packets, twice.
    assert dropped == ([0, 0] if status == "IBV_WC_SUCCESS" else [0, 6])


@pytest.mark.parametrize(
    ("rule", "at_switch"), [("off", False), ("in", False), ("out", True), ("both", True)]
)
@pytest.mark.parametrize("partitions", [1, 3])
def test_switches_check_the_packets_of_programs(rule: str, at_switch: bool, partitions: int) -> None:
    """H3 is not of the third partition: its switch discards what it would drop, if it checks what leaves for hosts."""

    def program(ctx: v.Context) -> str:
        index = {"H0": 3, "H3": 1}[ctx.host]
        return _write(ctx, v.QPAttr(pkey_index=index, timeout=1, retry_cnt=1))

    given = [*PARTITIONS["partitions"], {"name": "green", "key": 3, "members": ["H0"]}]
    settings = {"faults.plan": [], "partitions": given, "run.partitions": partitions}
    settings["switch.partition_enforcement"] = rule
    run = v.run(FABRIC, dict.fromkeys(PEER, program), set=settings)
    assert run.values["H0"] == "IBV_WC_RETRY_EXC_ERR"
    # Three packets, twice.
    lost = 6 if at_switch else 0
    assert run.result.summary["invariants.lost.p_key_switch"] == lost
    assert run.result.table("verbs_queue_pairs")["dropped"].tolist() == [0, 6 - lost]
    # What a switch lets pass arrives with any rule.
    same = v.run(
        FABRIC,
        dict.fromkeys(PEER, lambda ctx: _write(ctx, v.QPAttr(pkey_index=2))),
        set=settings,
    )
    assert same.values["H0"] == "IBV_WC_SUCCESS"
    assert same.result.summary["invariants.lost.p_key_switch"] == 0


def test_a_subnet_manager_sets_the_table_of_a_program() -> None:
    """After power-on a port has the default partition alone."""

    def program(ctx: v.Context) -> list[Any]:
        with pytest.raises(v.PyverbsRDMAError, match="has one entry, with index 0"):
            ctx.query_pkey(1)
        event = ctx.get_async_event()
        keys = [ctx.query_pkey(index) for index in range(3)]
        ctx.sleep("1 ms")  # Until the other end has its table.
        return [event.event_type.name, keys, _write(ctx, v.QPAttr(pkey_index=1))]

    settings = PARTITIONS | {"subnet_manager.nodes": ["H1"]}
    one_path = MIGRATION["FABRIC"].replace('lmc = 1\npaths = "addressed"\n', "")
    values = v.run(fs.Experiment.from_text(one_path), dict.fromkeys(PEER, program), set=settings).values
    assert values["H0"] == ["IBV_EVENT_PKEY_CHANGE", [0xFFFF, 0x8001, 0x8002], "IBV_WC_SUCCESS"]
    assert values["H3"][:2] == ["IBV_EVENT_PKEY_CHANGE", [0xFFFF, 0x8001, 0x0002]]


def test_a_missing_index_is_refused() -> None:
    def program(ctx: v.Context) -> None:
        _, _, qp = _queue_pair(ctx)
        with pytest.raises(
            v.PyverbsRDMAError, match="pkey_index = 1: the port's table has one entry, with index 0"
        ):
            qp.to_init(v.QPAttr(pkey_index=1, qp_access_flags=v.ibv_access_flags(0)))
        with pytest.raises(v.PyverbsRDMAError, match="query_pkey: pkey_index = 1"):
            ctx.query_pkey(1)

    v.run(None, {"H0": program})


def test_what_is_due_at_the_beginning_happens() -> None:
    """A link that fails at time 0 does so before the first program has to wait for it."""

    def program(ctx: v.Context) -> str:
        return _write(ctx, v.QPAttr(timeout=1, retry_cnt=1))

    plan = [{"link": "H3-L1S1", "at": "0 ns"}]
    run = v.run(FABRIC, dict.fromkeys(PEER, program), set={"faults.plan": plan})
    assert run.values["H0"] == "IBV_WC_RETRY_EXC_ERR"
