"""Jobs."""

from __future__ import annotations

from fabricsim.tune.metrics.run import Measured, Which


def job_time(run: Measured, which: Which) -> float:
    """From the begin of the first job to the end of the last, ns; none if one is incomplete."""
    del which
    found = run.result.manifest["summary"].get("job_time_ns")
    return float("nan") if found is None else float(found)
