"""The reader of OMNeT++ configuration files: sections, wildcards, variables, units, and what was read."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricsim import InputError
from fabricsim.importers.ini import Entry, Ini, quantity
from fabricsim.importers.wildcards import matcher


@pytest.fixture
def ini(tmp_path: Path) -> Path:
    return tmp_path / "omnetpp.ini"


@pytest.mark.parametrize(
    ("key", "path", "expected"),
    [
        ("**.SW*.port[2..5].obuf.width", "FABRIC.SW11.port[5].obuf.width", True),
        ("**.SW*.port[2..5].obuf.width", "FABRIC.SW11.port[1].obuf.width", False),
        ("**.SW*.port[2..].obuf", "FABRIC.SW11.port[25].obuf", True),
        ("*.width", "FABRIC.SW11.width", False),
        ("**ibuf.maxStatic*", "FABRIC.H111.ibuf.maxStatic0", True),
        ("**.port[2].obuf", "FABRIC.SW11.port[2].obuf", True),
        ("**.H{1..3}1.gen", "FABRIC.H21.gen", True),
        ("**.H{1..3}1.gen", "FABRIC.H41.gen", False),
        ("**.H{a-c}.gen", "FABRIC.Hb.gen", True),
        ("**.H{^a-c}.gen", "FABRIC.Hb.gen", False),
        ("**.H?.gen", "FABRIC.H1.gen", True),
        ("**.H?.gen", "FABRIC.H11.gen", False),
        ("**.speed", "FABRICxspeed", False),
        ("network", "network", True),
        ("**", "FABRIC.H1.gen", True),
    ],
)
def test_wildcards(key: str, path: str, expected: bool) -> None:
    assert matcher(key)(path) is expected


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("**.H[1..1000000000].gen", r"x: \[1\.\.1000000000\]: the largest number of a range is 9999"),
        ("**a**b**c**d**e**f**g", "x: .* has more than 6 wildcards"),
    ],
)
def test_keys_that_would_take_long_are_refused(key: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        matcher(key, "x")


def test_sections_variables_and_includes(tmp_path: Path, ini: Path) -> None:
    (tmp_path / "more.ini").write_text("**.included = 7\n")
    ini.write_text(
        """[General]
sim-time-limit = ${simtime=0.1}s # max seconds
**.width = ${width=4, 8, 12}
**.file = "a#b;c" # a comment
**.log = run-${simtime}-${configname}
**.long = 1 \\
  2   # and
include more.ini
; a comment of OMNeT++ 3
**.old = 64;
[Config flood]
**.SW**.width = 1
"""
    )
    general = Ini.read(ini)
    assert general.seconds("sim-time-limit") == pytest.approx(0.1)
    assert general.number("F.SW1.width") == 4
    assert general.text("F.file") == "a#b;c"
    assert general.text("F.log") == "run-0.1-${configname}"
    assert general.text("F.long") == "1  2"
    assert general.number("F.included") == 7
    assert general.number("F.old") == 64
    assert [(entry.key, count) for entry, count in general.several.items()] == [("**.width", 3)]
    assert [entry.key for entry in general.others] == ["**.SW**.width"]
    flood = Ini.read(ini, "flood")
    assert flood.number("F.SW1.width") == 1
    assert flood.number("F.H1.width") == 4
    assert flood.others == []
    with pytest.raises(InputError, match="there is no configuration storm; there are: General, flood"):
        Ini.read(ini, "storm")


def test_configurations_extend_others(ini: Path) -> None:
    ini.write_text(
        "**.a = 0\n**.b = 0\n**.c = 0\n**.d = 0\n[Config A]\n**.a = 1\n[Config B]\nextends = A\n**.a = 2\n**.b = 2\n"
        "[Config C]\nextends = B, D\n**.c = 3\n[Config D]\n**.b = 4\n**.d = 4\n[Config E]\nextends = F\n[Config F]\n"
        "extends = E\n[Config G]\nextends = nothing\n"
    )
    chosen = Ini.read(ini, "C")
    assert [chosen.number(f"N.{name}") for name in "abcd"] == [2, 2, 3, 4]
    assert {entry.section for entry in chosen.others} == {"E", "F", "G"}
    with pytest.raises(InputError, match="configurations extend each other: E -> F -> E"):
        Ini.read(ini, "E")
    with pytest.raises(InputError, match="G extends nothing, which is not there"):
        Ini.read(ini, "G")


def test_sections_of_older_versions(ini: Path) -> None:
    ini.write_text(
        "[General]\nnetwork=F\n[Cmdenv]\nexpress-mode=yes\n[Parameters]\n**.a = 1\n[Run 1]\n**.a = 2\n"
    )
    assert Ini.read(ini).number("F.a") == 1
    assert Ini.read(ini).text("express-mode") == "yes"
    assert Ini.read(ini, "Run 1").number("F.a") == 2


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("5ms", "s", 0.005),
        ("20 us", "ns", 20_000),
        ("0.1", "s", 0.1),
        ("1e-3s", "ms", 1),
        ("64B", "B", 64),
        ("2KiB", "B", 2048),
        ("50", "ns", 50),
        ("5ms", None, None),
        ("5ms", "B", None),
        ("5 parsec", "s", None),
        ("nan", None, None),
        ("1e999", None, None),
        ("1.2.3", None, None),
        ("intuniform(20,100)", None, None),
        ("", None, None),
    ],
)
def test_numbers_and_units(text: str, unit: str | None, expected: float | None) -> None:
    assert quantity(text, unit) == (None if expected is None else pytest.approx(expected))


def test_it_keeps_account_of_what_was_read(ini: Path) -> None:
    ini.write_text("**.H1.a = 1\n**.a = 2\n**.b = 3\n**.H*.a = 4\n")
    one = Ini.read(ini)
    assert (one.number("N.H1.a"), one.number("N.S.a")) == (1, 2)
    first, second, third, fourth = one.entries
    assert [one.was_read(entry) for entry in one.entries] == [True, True, False, False]
    assert one.overridden_by(fourth) == first
    assert one.overridden_by(second) is None
    assert one.overridden_by(third) is None


PATHS = ["a", "N.a", "N.H1.a", "N.H1.ab", "N.H12.gen.a", "N.H1.gen.b", "N.S[2].gen.b"]
PARTS = st.sampled_from(["**", "*", "?", ".", "N", "H1", "H", "gen", "a", "b", "S[2]", "{1..2}", "[1..3]"])


@settings(deadline=None)
@given(st.lists(st.lists(PARTS, min_size=1, max_size=6).map("".join), max_size=8))
def test_the_first_entry_that_matches_gives_the_value(keys: list[str]) -> None:
    """Against a plain search through all entries."""
    few = [key for key in keys if key.count("*") <= 6]
    entries = [Entry(key, str(number), "x.ini", number) for number, key in enumerate(few)]
    ini = Ini(entries, "x.ini")
    for path in PATHS:
        expected = next((entry for entry in entries if matcher(entry.key)(path)), None)
        assert ini.entry(path) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense\n", ":1: this is neither a section nor `key = value`: nonsense"),
        ("a = 1\n\ninclude omnetpp.ini\n", "files include each other"),
        ("include missing.ini\n", "missing.ini: it cannot be read"),
        ("include \0\n", "it cannot be read"),
    ],
)
def test_what_cannot_be_read_is_named(ini: Path, text: str, message: str) -> None:
    ini.write_text(text)
    with pytest.raises(InputError, match=message):
        Ini.read(ini)


def test_includes_that_multiply_end(ini: Path) -> None:
    ini.write_text("include omnetpp.ini\n" * 50)
    with pytest.raises(InputError, match="files include each other"):
        Ini.read(ini)


KEYS = st.text(st.sampled_from("*?.[]{}^-0129aH=\\$ "), max_size=12)
LINES = st.one_of(
    st.text(max_size=40),
    st.builds("{} = {}".format, KEYS, st.text(st.sampled_from('${}=,.!"#;\\ab1 '), max_size=20)),
    st.sampled_from(["[General]", "[Config A]", "extends = A", "[Config B]", "include x", "\\", "[", "="]),
)


@settings(deadline=None)
@given(
    st.one_of(
        st.binary(max_size=300), st.lists(LINES, max_size=12).map(lambda lines: "\n".join(lines).encode())
    )
)
def test_any_bytes_give_values_or_a_message(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "any.ini"
    file.write_bytes(content)
    for config in ("General", "A", "B"):
        with contextlib.suppress(InputError):
            ini = Ini.read(file, config)
            for read in (ini.text, ini.number, ini.seconds, ini.whole, ini.flag):
                for path in ("a", "H1.a", "N.H[12].a0"):
                    with contextlib.suppress(InputError):
                        read(path)
            assert all(ini.was_read(entry) in (True, False) for entry in ini.entries)
