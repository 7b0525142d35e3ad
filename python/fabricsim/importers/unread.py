"""Entries of a configuration that an import does not express, each with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from fabricsim.importers.ini import GENERAL, Entry
from fabricsim.importers.model import Model


@dataclass(frozen=True)
class NotRead:
    """An entry that the experiment does not express, or not as it stands."""

    file: str
    line: int
    key: str
    value: str
    why: str
    altered: bool = False
    """True if the entry is imported, but not as it stands."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


FLOOD = "a generator that floods does not use it"
SEQUENCE = "only generators with a sequence of destinations use it"
RECORDING = "it says what the model records; an experiment records by [measure]"
NO_CC = "congestion control is off: cc_enabled is not true"
PARAMETERS = {
    "recordVectors|recordScalars|cc_extended_ibuf_log": RECORDING,
    "burstLength|burstNumber|interBurstDelay": FLOOD,
    "packetlengthbytes": FLOOD,
    "PktLenDist|PktLenProb": "only generators of kind trfLengthMix use it",
    "sizeSeqVecFile": "only generators of kind trfApp use it",
    "VL": "a generator that floods sends on the virtual lanes of floodVLs",
    "SL": "the model's arbiters look at virtual lanes, not at service levels",
    "dstHotSpotPerc": "only generators of kind dstHotSpot use it",
    "dstBurstHSDel|dstBurstHSInterDel": "only generators of kind dstBurstHotSpot use it",
    "dstSeqVecFile|dstSeqIndex": SEQUENCE,
    "dstLid": "only hosts that start before the end and send to it use it",
    "msgLength": "messages have the length msgLengthInMTUs, since GenModel is 0",
    "msgLengthInMTUs|packetlength": "messages have the length msgLength in packets of an mtu, since GenModel is 1",
    "vlHighLimit|highVLArbEntries|lowVLArbEntries": (
        "there are no arbitration tables: virtual lanes take turns (with one lane that is the same)"
    ),
    "size": "there is no output buffer: a packet goes from its input buffer to the link",
    "credMinTime": "flow control costs 8 bytes for each data packet (links.packet_overhead)",
    "VSWDelay": "the model does not use it: ISWDelay is the time of a packet in a switch",
    "dFdbsVecFile": "forwarding tables do not change",
    "Threshold|Reset_Threshold|Marking_Rate|Packet_Size|Victim_Mask": NO_CC,
    "CCTI_\\w+|CCT_\\w+|num_nodes|qp_level|cc_single_\\w+": NO_CC,
}
"""Parameters of modules, by the end of their key."""
INTERFACE = "it is for OMNeT++'s user interface and files, without effect on the network"
OPTIONS = {
    "seed-.*|num-rngs|rng-class|.*-mt": "random numbers are drawn differently: set the experiment's seed",
    "repeat|seed-set": "an experiment is one run: vary its seed with `fabricsim sweep`",
    "description": "it describes the configuration, without effect on the network",
    "cpu-time-limit|real-time-limit|simtime-.*|sim-time-resolution|scheduler-class|parallel-simulation": (
        "it is for OMNeT++'s scheduler, without effect on the network"
    ),
    (
        "cmdenv-.*|tkenv-.*|qtenv-.*|print-undisposed|debug-on-errors|debug-.*|record-eventlog|eventlog-.*|output-.*|"
        "snapshot-file|fingerprint.*|ned-path|image-path|preload-ned-files|load-libs|express-mode|runs-to-execute|"
        "status-frequency|.*-recording|.*-recording-.*|user-interface|result-dir"
    ): INTERFACE,
}
"""Options of OMNeT++."""
NO_MODULE = (
    "the import needs this parameter, but the module path before its name matches no host, switch, port or buffer of "
    "the network that has it"
)
OVERRIDDEN = "an entry that comes first gives the value"
UNKNOWN = "the import knows no such parameter"
KNOWN = {
    *(
        "creditSize",
        "width",
        "speed",
        "totalBufferSize",
        "maxBeingSent",
        "maxVL",
        "coreFreq_MH",
        "ISWDelay",
        "iswMode",
    ),
    *(
        "srcLid",
        "genStartTime",
        "trafficDist",
        "dstSeqMode",
        "floodVLs",
        "intraBurstDelay",
        "mtu",
        "GenModel",
    ),
    *(
        "pciExpWidth",
        "pciExpTransferRate",
        "hiccupDuration_us",
        "hiccupDelay_us",
        "logInterval",
        "cc_enabled",
    ),
    *("fdbIndex", "fdbsVecFile", "maxStatic*"),
    *(f"maxStatic{lane}" for lane in range(16)),
}
"""Parameters that are read wherever a module has them."""


def not_read(model: Model, *, congestion: bool) -> list[NotRead]:
    """All entries that gave the experiment nothing, or not as they stand, in the order of files and lines."""
    noted = [_of(entry, why, altered) for entry, why, altered in model.notes]
    several = [
        _of(
            entry,
            f"it has {count} values or more: only the first is imported; vary it with `fabricsim sweep`",
            altered=True,
        )
        for entry, count in model.ini.several.items()
    ]
    others = [
        _of(entry, f"it is in [{_heading(entry.section)}], which was not chosen: choose it with --config")
        for entry in model.ini.others
    ]
    found = [*noted, *several, *others, *_unread(model, congestion)]
    return sorted(dict.fromkeys(found), key=lambda one: (one.file, one.line))


def by_reason(entries: list[NotRead]) -> list[str]:
    """A message for each reason and file, with the lines and keys that it holds for."""
    groups: dict[tuple[str, str, bool], list[NotRead]] = {}
    for one in entries:
        why = OVERRIDDEN if one.why.startswith(OVERRIDDEN) else one.why
        groups.setdefault((one.file, why, one.altered), []).append(one)
    messages = []
    for (file, why, altered), group in groups.items():
        lines = ",".join(dict.fromkeys(str(one.line) for one in group))
        keys = list(dict.fromkeys(one.key for one in group))
        fate = "imported, but not as it stands" if altered else "not read"
        verb = "is" if len(keys) == 1 else "are"
        messages.append(f"{file}:{lines}: {', '.join(keys)} {verb} {fate}: {why}")
    return messages


def _unread(model: Model, congestion: bool) -> Iterator[NotRead]:
    for entry in model.ini.entries:
        if model.ini.was_read(entry):
            continue
        if before := model.ini.overridden_by(entry):
            yield _of(entry, f"{OVERRIDDEN}: {before.place}")
        else:
            yield _of(entry, _why(entry.key, congestion))


def _why(key: str, congestion: bool) -> str:
    name = key.rpartition(".")[2].lstrip("*") or key
    for names, why in (PARAMETERS | OPTIONS).items():
        if re.fullmatch(names, name) and not (why == NO_CC and congestion):
            return why
    known = name in KNOWN or any(re.fullmatch(names, name) for names in PARAMETERS)
    return NO_MODULE if known else UNKNOWN


def _heading(section: str) -> str:
    return section if section == GENERAL else f"Config {section}"


def _of(entry: Entry, why: str, altered: bool = False) -> NotRead:
    return NotRead(entry.file, entry.line, entry.key, entry.value, why, altered)
