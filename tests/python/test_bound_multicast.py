"""The bound of packets for multicast groups: closed forms, and a run."""

from __future__ import annotations

import pytest

import fabricsim as fs
from fabricsim.bound import bound

SATURATING = 'injection = "saturating"\nmessage = "2 KiB"\n'
CLOSE = 1e-6


def experiment(topology: str, traffic: str, rest: str) -> fs.Experiment:
    return fs.Experiment.from_text(
        f'[topology]\n{topology}\n[[traffic]]\n{traffic}\n{SATURATING}[run]\nduration = "1 ms"\n{rest}'
    )


@pytest.mark.usefixtures("real")
class TestMulticast:
    def test_a_group_takes_a_link_once(self) -> None:
        group = '[[multicast_groups]]\nname = "all"\nmembers = ["*"]\n[links.all]\nrate = "40 Gb/s"\n'
        traffic = 'sources = ["H(0).0"]\npattern = { multicast = "all" }'
        mesh = experiment(
            "mesh = { dimensions = [2], hosts_per_switch = 2 }",
            traffic,
            group + '[links.hosts]\nrate = "100 Gb/s"',
        )
        found = bound(mesh)
        # Each of three members gets 40 Gb/s, although two share the link between the switches.
        for total in (found.total_gbps, found.fair_total_gbps, found.sender_total_gbps):
            assert total == pytest.approx(120, rel=CLOSE)
        assert found.flows["fair_gbps"].tolist() == pytest.approx([40, 40, 40], rel=CLOSE)
        assert set(found.flows["bottleneck"]) == {"S(0)->S(1)"}
        links = found.links.set_index("link")["fair_gbps"].to_dict()
        crossed = ["H(0).0->S(0)", "S(0)->H(0).1", "S(0)->S(1)", "S(1)->H(1).0", "S(1)->H(1).1"]
        assert links == pytest.approx(dict.fromkeys(crossed, 40), rel=CLOSE)
        several = {"links.all.reads": 4, "run.duration": "200 us", "run.warmup": "50 us"}
        run = fs.run(mesh, set=several)
        assert found.fraction(run.summary["accepted_gbps"]) == pytest.approx(1.0, abs=0.02)

    def test_a_group_shares_a_link_with_a_flow(self) -> None:
        groups = '[[multicast_groups]]\nname = "three"\nmembers = ["H1", "H2", "H3"]\n'
        one = '[[traffic]]\nsources = ["H1"]\npattern = { to = "H2" }\n' + SATURATING
        traffic = 'sources = ["H0"]\npattern = { multicast = "three" }'
        found = bound(experiment("single-switch = { hosts = 4 }", traffic, groups + one))
        # Largest total: the group alone, whose packets count at each member. Fair: both have half of the link of H2.
        assert found.total_gbps == pytest.approx(300, rel=CLOSE)
        assert found.sender_total_gbps == pytest.approx(300, rel=CLOSE)
        assert found.flows["fair_gbps"].tolist() == pytest.approx([50] * 4, rel=CLOSE)
        assert found.flows["sender_fair_gbps"].tolist() == pytest.approx([50] * 4, rel=CLOSE)
        assert set(found.flows["bottleneck"]) == {"S0->H2"}
