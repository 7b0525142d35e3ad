"""The points of a sweep: every combination of the values of its keys."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from fabricsim.errors import InputError
from fabricsim.spec import Experiment, toml_value

Point = dict[str, str]
"""Keys of the experiment and their values as TOML."""


def grid(experiment: Experiment, vary: Mapping[str, Sequence[Any]] | None = None) -> list[Point]:
    """All points: the keys of the file's `[sweep]`, replaced and extended by `vary`. The last key runs fastest.

    Texts in `vary` are values as they would be written in the file.

    Raises:
        InputError: there is nothing to vary, a key has no values, or the experiment is wrong.
    """
    axes = {
        key: [toml_value(v) for v in values] for key, values in experiment.check().get("sweep", {}).items()
    }
    for key, values in (vary or {}).items():
        axes[key] = [value if isinstance(value, str) else toml_value(value) for value in values]
    if not axes:
        raise InputError(
            f"{experiment.file}: there is nothing to sweep over: give --vary KEY=VALUE,VALUE "
            "or a [sweep] table in the file"
        )
    for key, texts in axes.items():
        if not texts:
            raise InputError(f"{experiment.file}: sweep over {key}: it has no values")
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def plain_value(text: str) -> Any:
    """A point's value as Python would have it; texts and lists stay texts."""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return value if isinstance(value, bool | int | float | str) else text
