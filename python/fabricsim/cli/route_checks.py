"""Options of the command `route` that would do nothing: each is refused with what it belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fabricsim.errors import InputError
from fabricsim.subnets import ENGINES, FABRIC_FORMS, TABLE_FORMS
from fabricsim.subnets.engine_options import READERS, readers, reads

PICTURES = (".png", ".svg", ".pdf")

_NEEDS = {
    "--table-path-sls": "--tables",
    "--table-sl2vl": "--tables",
    "--lfts-form": "--lfts",
    "--fabric-form": "--fabric-out",
    "--load": "--simulate",
    "--duration": "--simulate",
}
"""Options that belong to another one."""


def check(fabric: Path, given: Mapping[str, Any]) -> None:
    """Refuses options of the command for a fabric.

    Args:
        fabric: the fabric.
        given: options by name; what was not given is None, False, or empty.

    Raises:
        InputError: a name that is not known, an option without the one that it belongs to, or one that none of the
            engines reads.
    """
    _check_names(given)
    _check_effect(fabric, given)
    _check_outputs(given)


def _check_outputs(given: Mapping[str, Any]) -> None:
    """Refuses one file for two outputs."""
    seen: dict[Path, str] = {}
    for option in ("--lfts", "--fabric-out", "--sl2vl", "--path-sls", "--opensm-conf", "--loads", "--plot"):
        if given[option] is None:
            continue
        other = seen.setdefault(Path(given[option]).resolve(), option)
        if other != option:
            raise InputError(f"{other} and {option} name the same file, {given[option]}: choose two")


def check_lmc(fabric: Path, given: int | None, found: int, tables: Path | None) -> None:
    """Refuses `--lmc` for tables of LIDs that have another mask control: given tables keep the LIDs of the fabric.

    Args:
        fabric: the fabric.
        given: value of `--lmc`.
        found: largest mask control of the fabric's ports.
        tables: file of the tables, if there is one.
    """
    if tables is not None and given is not None and given != found:
        raise InputError(
            f"--lmc {given}: the LIDs of {fabric} have LMC {found}, and the entries of {tables} are for them: "
            "omit --lmc, or name an engine in place of --tables"
        )


def _check_names(given: Mapping[str, Any]) -> None:
    """Refuses names that are not known."""
    plot, engine = given["--plot"], given["--engine"]
    if plot is not None and Path(plot).suffix not in PICTURES:
        raise InputError(f"--plot: {plot}: expected a name that ends in one of {', '.join(PICTURES)}")
    if engine is not None and not is_engine(engine):
        raise InputError(f"--engine: no engine {engine!r}: expected one of {', '.join(ENGINES)}")
    for option, forms in (("--lfts-form", TABLE_FORMS), ("--fabric-form", FABRIC_FORMS)):
        if given[option] not in {None, *forms}:
            raise InputError(f"{option}: no form {given[option]!r}: expected one of {', '.join(forms)}")


def _check_effect(fabric: Path, given: Mapping[str, Any]) -> None:
    """Refuses options that nothing would read."""
    for option, needed in _NEEDS.items():
        if _is_given(given[option]) and not _is_given(given[needed]):
            raise InputError(f"{option}: only with {needed}")
    if given["--set"] and fabric.suffix != ".toml":
        raise InputError(f"--set: only for an experiment (.toml), not for {fabric}")
    if given["--engine"] is not None and given["--tables"] is not None:
        raise InputError("--engine and --tables exclude each other: give one of them")
    engines = _engines(given)
    for option in READERS:
        if _is_given(given[option]) and option != "--path-sls":
            _check_readers(option, engines)
    if not engines and given["--vls"] is not None:
        raise InputError("--vls: only for an engine, not for --tables: --table-sl2vl has their lanes")
    _check_lanes(given)
    _check_levels(given)


def is_engine(name: str) -> bool:
    """True for the name of an engine, in any case of letters."""
    return name.lower() in {engine.lower() for engine in ENGINES}


def _engines(given: Mapping[str, Any]) -> list[str]:
    """Engines of both answers."""
    first = None if given["--tables"] is not None else (given["--engine"] or ENGINES[0])
    return [name for name in (first, given["--against"]) if name is not None and is_engine(name)]


def _check_readers(option: str, engines: Sequence[str]) -> None:
    if not any(reads(engine, option) for engine in engines):
        asked = f"the engine {' and '.join(engines)}" if engines else "--tables"
        raise InputError(f"{option}: only for {readers(option)}; {asked} does not read it")


def _check_lanes(given: Mapping[str, Any]) -> None:
    nue, all_lanes = given["--nue-vls"], given["--vls"] or 8
    if nue is not None and nue > all_lanes:
        raise InputError(f"--nue-vls {nue}: must be at most the {all_lanes} of --vls, or 0 for all")


def _check_levels(given: Mapping[str, Any]) -> None:
    """Refuses to write levels of paths that have none."""
    if given["--path-sls"] is None:
        return
    if given["--tables"] is not None:
        if given["--table-path-sls"] is None:
            raise InputError("--path-sls: tables have no service levels: name them with --table-path-sls")
        return
    engine = given["--engine"] or ENGINES[0]
    if not reads(engine, "--path-sls"):
        raise InputError(f"--path-sls: {engine} gives paths no service levels; {readers('--path-sls')} do")


def _is_given(value: Any) -> bool:
    return value is not None and value is not False and value not in ((), [])
