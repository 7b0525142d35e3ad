"""Required content of the manifest of a folder of results, by kind of folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Check = Callable[[Any], bool]


def _is(*kinds: type) -> Check:
    return lambda value: isinstance(value, kinds)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _mapping_of(check: Check) -> Check:
    return lambda value: isinstance(value, Mapping) and all(map(check, value.values()))


def _with(**checks: Check) -> Check:
    return lambda value: (
        isinstance(value, Mapping)
        and all(key in value and check(value[key]) for key, check in checks.items())
    )


_text, _mapping = _is(str), _is(Mapping)
_texts = _list_of(_text)
_pair: Check = lambda value: _texts(value) and len(value) == 2  # noqa: E731 - beside its like
_maybe_mapping = _is(Mapping, type(None))
_COMMON: dict[str, Check] = {"name": _text, "file": _text, "overrides": _list_of(_pair), "experiment": _text}
_REQUIRED: dict[str, dict[str, Check]] = {
    "run": {**_COMMON, "status": _text, "summary": _mapping},
    "sweep": {
        **_COMMON,
        "parameters": _texts,
        "size": _whole,
        "points": _list_of(_mapping_of(_text)),
    },
    "tune": {
        **_COMMON,
        "parameters": _texts,
        "objectives": _list_of(_with(name=_text, goal=_text)),
        "metrics": _texts,
        "scenarios": _texts,
        "size": _whole,
    },
}
_number_or_none: Check = lambda value: (  # noqa: E731 - beside its like
    value is None or (isinstance(value, int | float) and not isinstance(value, bool))
)
_numbers_or_none: Check = lambda value: value is None or _mapping_of(_number_or_none)(value)  # noqa: E731
_SUMMARY: dict[str, Check] = {
    **dict.fromkeys(
        (
            "accepted_gbps",
            "accepted_load",
            "flow_count",
            "job_time_ns",
            "measured_from_ns",
            "measured_ns",
            "offered_gbps",
            "offered_load",
            "packet_hops",
            "packets",
            "simulated_s",
        ),
        _number_or_none,
    ),
    **dict.fromkeys(("hops", "latency_ns", "network_latency_ns"), _numbers_or_none),
    **dict.fromkeys(("congestion", "congestion_trees", "invariants", "latency_confidence"), _maybe_mapping),
}
"""Keys of the summary of a run, if it has them."""
_OPTIONAL: dict[str, dict[str, Check]] = {
    "run": {"wall_s": _is(int, float), "stopped": _text, "capture": _mapping},
    "sweep": {
        "base": _mapping,
        "numeric": _mapping_of(_is(str, type(None))),
        "axes": _list_of(_with(kind=_text, keys=_texts)),
        "inputs": _mapping,
        "schedule": _maybe_mapping,
    },
    "tune": {
        "complete": _is(bool),
        "done": _whole,
        "failed": _whole,
        "problem": _text,
        "best": _maybe_mapping,
        "baseline": _maybe_mapping,
        "least_broken": _maybe_mapping,
        "holds": _mapping,
        "fresh_seeds": _list_of(_whole),
        "confidence": _is(int, float),
        "precision": _is(int, float, type(None)),
        "opensm": _is(str, type(None)),
    },
}


def problem(manifest: Mapping[str, Any]) -> str | None:
    """The first key whose value is not what Fabricsim writes; None if there is none. Other kinds are not checked."""
    kind = manifest.get("kind")
    if not isinstance(kind, str):
        return "kind"
    for key, check in _REQUIRED.get(kind, {}).items():
        if key not in manifest or not check(manifest[key]):
            return key
    for key, check in _OPTIONAL.get(kind, {}).items():
        if key in manifest and not check(manifest[key]):
            return key
    if kind == "run":
        for key, check in _SUMMARY.items():
            if key in manifest["summary"] and not check(manifest["summary"][key]):
                return f"summary.{key}"
    if kind == "sweep" and manifest["size"] != len(manifest["points"]):
        return "size"
    return None
