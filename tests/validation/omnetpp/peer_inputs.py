"""The cases of `peer` as simulations of the InfiniBand model for OMNeT++, and what they measured."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

from .peer import (
    CASES,
    CORE_MHZ,
    CREDIT_TIME_US,
    INTERVAL_NS,
    MEASURED,
    PACKET,
    SETTLED_MS,
    SPEED,
    Case,
)

NED = """\
package case;
import ibm.HCA;
import ibm.Switch;
network FABRIC {
  parameters:
    int hosts;
  submodules:
    H[hosts]: HCA;
    SW: Switch { numSwitchPorts = parent.hosts; gates: in[parent.hosts]; out[parent.hosts]; }
  connections:
    for i=0..hosts-1 {
      H[i].out --> {delay=5ns;} --> SW.in[i];
      SW.out[i] --> {delay=5ns;} --> H[i].in;
    }
}
"""

INI = f"""\
[General]
network = case.FABRIC
cmdenv-express-mode = true
print-undisposed = false
num-rngs = 1
**.vector-recording = false
**.scalar-recording = false
**.logInterval = {SETTLED_MS}ms
**.iswMode = 0
**.ISWDelay = {INTERVAL_NS}
**.VSWDelay = 50
**.width = 4
**.speed = {SPEED}
**.creditSize = 64
**.maxVL = 0
**.recordVectors = 0
**.GenModel = 0
**.fdbIndex = 0
**.fdbsVecFile = "switch.fdbs"
**.vlarb.coreFreq_MH = {CORE_MHZ}
**.vlarb.vlHighLimit = 16
**.vlarb.*VLArbEntries = "0:1"
**.obuf.size = 78
**.obuf.credMinTime = {CREDIT_TIME_US}
**.ibuf.maxStatic0 = 1000
**.ibuf.maxStatic* = 0
**.ibuf.totalBufferSize = 1000
**.sink.pciExpWidth = 8
**.sink.pciExpTransferRate = 5.0
**.sink.hiccupDuration_us = 0.0125
**.sink.hiccupDelay_us = 0.1
**.gen.trafficDist = "trfFlood"
**.gen.floodVLs = "0"
**.gen.intraBurstDelay = 10
**.gen.interBurstDelay = 0
**.gen.burstLength = 50
**.gen.burstNumber = 128
**.gen.mtu = {PACKET // 64}
**.gen.msgLengthInMTUs = 1
**.gen.msgLength = {PACKET}
**.gen.packetlength = {PACKET // 64}
**.gen.packetlengthbytes = {PACKET}
**.gen.PktLenDist = "{PACKET}"
**.gen.PktLenProb = "100"
**.gen.VL = 0
**.gen.SL = 0
**.gen.dstLid = 1
**.gen.dstSeqVecFile = "destinations.vec"
**.gen.sizeSeqVecFile = ""
**.gen.dstHotSpotPerc = 0
**.gen.dstBurstHS*Del = 0.5
"""


def write(folder: Path) -> list[Path]:
    """Writes a folder for each case and seed, with all that the model reads. LID 1 is H0."""
    return [_write(folder / f"{case.name}-{seed}", case, seed) for case in CASES for seed in case.seeds]


def _write(folder: Path, case: Case, seed: int) -> Path:
    (folder / "case").mkdir(parents=True, exist_ok=True)
    (folder / "case/FABRIC.ned").write_text(NED, encoding="utf-8")
    ports = " ".join(str(port) for port in range(case.hosts))
    (folder / "switch.fdbs").write_text(f"0: 255 {ports}\n", encoding="utf-8")
    lids = [" ".join(str(host + 1) for host in destinations or (0,)) for destinations in case.destinations]
    vectors = "".join(f"{host}: {row}\n" for host, row in enumerate(lids))
    (folder / "destinations.vec").write_text(vectors, encoding="utf-8")
    lines = [
        f"sim-time-limit = {case.duration_ms}ms",
        f"seed-0-mt = {seed}",
        f"**.hosts = {case.hosts}",
        f"**.ibuf.maxBeingSent = {case.reads}",
        f'**.gen.dstSeqMode = "{"dstRandom" if case.drawn else "dstSeqLoop"}"',
    ]
    for host, destinations in enumerate(case.destinations):
        start = "0s" if destinations else "1000s"
        lines += [
            f"**.H[{host}].gen.srcLid = {host + 1}",
            f"**.H[{host}].gen.dstSeqIndex = {host}",
            f"**.H[{host}].gen.genStartTime = {start}",
        ]
    (folder / "omnetpp.ini").write_text(INI + "\n".join(lines) + "\n", encoding="utf-8")
    return folder


HEADER = f"""\
# InfiniBand model of 2004 (public copy meemx/ib_macro_model) on OMNeT++ 6.0.3; see docs/validation/omnetpp.md.
# MB/s of generators and sinks, means from {SETTLED_MS} ms on: to 3 ms, or to 11 ms where destinations are drawn.
"""


def collect(folder: Path) -> None:
    """Writes `measured.csv` from the log in each folder: `t_s`, `module`, `vector` and `bytes_per_s` of an interval."""
    with MEASURED.open("w", encoding="utf-8", newline="") as file:
        file.write(HEADER)
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["case", "seed", "host", "verb", "mb_per_s"])
        for case in CASES:
            for seed in case.seeds:
                for (host, verb), mean in _means(folder / f"{case.name}-{seed}/throughput.csv").items():
                    rows.writerow([case.name, seed, host, verb, f"{mean:.2f}"])


def _means(log: Path) -> dict[tuple[str, str], float]:
    """Throughput of each generator and sink that has any, once buffers are full, MB/s."""
    values: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    with log.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            _, host, part = row["module"].split(".")
            if float(row["t_s"]) > SETTLED_MS * 1e-3 + 1e-9:
                key = (host.replace("[", "").replace("]", ""), {"gen": "sends", "sink": "receives"}[part])
                values[key].append(float(row["bytes_per_s"]) / 1e6)
    means = {key: sum(found) / len(found) for key, found in values.items()}
    return {key: mean for key, mean in sorted(means.items()) if mean > 0}
