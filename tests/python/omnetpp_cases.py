"""Simulations of the InfiniBand model for the tests of its import: a small one, and one as in a thesis."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path
from typing import Any

from fabricsim.importers import Imported

ROOT = Path(__file__).resolve().parents[2]
RUNS = ROOT / "experiments/thesis/omnetpp"

NED = """\
package small;
network FABRIC {
  submodules:
    H1: HCA; H2: HCA; H3: HCA; H4: HCA;
    SW1: Switch { numSwitchPorts = 3; gates: in[3]; out[3]; }
    SW2: Switch { numSwitchPorts = 3; gates: in[3]; out[3]; }
  connections:
    H1.out --> {delay=5ns;} --> SW1.in[0];  SW1.out[0] --> {delay=5ns;} --> H1.in;
    H2.out --> {delay=5ns;} --> SW1.in[1];  SW1.out[1] --> {delay=5ns;} --> H2.in;
    H3.out --> {delay=5ns;} --> SW2.in[0];  SW2.out[0] --> {delay=5ns;} --> H3.in;
    H4.out --> {delay=5ns;} --> SW2.in[1];  SW2.out[1] --> {delay=5ns;} --> H4.in;
    SW1.out[2] --> {delay=7ns;} --> SW2.in[2];  SW2.out[2] --> {delay=7ns;} --> SW1.in[2];
}
"""
FDBS = "0: 255 0 1 2 2\n1: 255 2 2 0 1\n"
INI = """\
[General]
network = small.FABRIC
sim-time-limit = 1ms
**.H1.gen.genStartTime = 0s
**.H2.gen.genStartTime = 10us
**.gen.genStartTime = 1000s
**.H1.gen.srcLid = 1
**.H2.gen.srcLid = 2
**.H3.gen.srcLid = 3
**.H4.gen.srcLid = 4
**.H1.gen.dstLid = 3
**.gen.dstLid = 4
**.gen.dstSeqMode = "dstLid"
**.H1.gen.dstSeqIndex = 0
**.gen.dstSeqIndex = 1
**.gen.dstSeqVecFile = "small.dstSeq"
**.gen.dstHotSpotPerc = 0.25
**.gen.trafficDist = "trfFlood"
**.gen.intraBurstDelay = 26
**.gen.msgLength = 5000
**.gen.msgLengthInMTUs = 32
**.gen.mtu = 34
**.gen.packetlength = 34
**.GenModel = 0
**.creditSize = 64
**.width = 4
**.SW*.port[2].obuf.speed = 10.0
**.speed = 2.5
**.SW*.port[2].ibuf.maxBeingSent = 2
**.ibuf.maxBeingSent = 1
**.ibuf.maxStatic* = 1000
**.ibuf.totalBufferSize = 1000
**.maxVL = 0
**.SW*.**.vlarb.coreFreq_MH = 800
**.H*.vlarb.coreFreq_MH = 250
**.sink.pciExpWidth = 8
**.sink.pciExpTransferRate = 5.0
**.sink.hiccupDuration_us = 0.0125
**.sink.hiccupDelay_us = 0.1
**.ISWDelay = 50
**.logInterval = 10us
**.SW1.fdbIndex = 0
**.SW2.fdbIndex = 1
**.SW*.fdbsVecFile = "small.fdbs"
"""
CC = """\
**.SW*.port[2].ccmgr.Victim_Mask = 0
**.Victim_Mask = 1
**.cc_enabled = true
**.cc_extended_ibuf_log = false
**.qp_level = ${qp=true}
**.cc_single_thr_per_outport = ${singleThr=true}
**.cc_single_thr_devide = ${singleThrDev=false}
**.Threshold = ${thr=2}
**.Reset_Threshold = ${thrlow=3} #Reset_Threshold
**.Marking_Rate = ${mr=1}
**.Packet_Size = 1
**.CCTI_Timer = ${cctitimer=20}us
**.CCTI_Limit = 128
**.CCTI_Min = 0
**.CCTI_Increase = ${cctiinc=1}
**.CCT_Algorithm = 0 # 1
**.CCT_Div = ${cctdiv=95}
**.num_nodes = ${nn=50} #..70 step 10
"""
"""The parameters of appendix B of Zeru's thesis, with the marking rate of its table 3.6."""


def sections(imported: Imported) -> dict[str, Any]:
    """The experiment as a tree."""
    return tomllib.loads(imported.text)


def reason(imported: Imported, key: str) -> str:
    """Why a key is not read."""
    (found,) = [one.why for one in imported.not_read if one.key == key]
    return found


def small(folder: Path, ini: str = INI, sequences: str = "0: 2 3,4\n1: 1 3 4\n") -> Path:
    """Writes the small simulation."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "FABRIC.ned").write_text(NED)
    (folder / "small.fdbs").write_text(FDBS)
    (folder / "small.dstSeq").write_text(sequences)
    (folder / "omnetpp.ini").write_text(ini)
    return folder


def changed(old: str, new: str, ini: str = INI) -> str:
    """The configuration with a line replaced."""
    assert ini.count(old) == 1, old
    return ini.replace(old, new)


def with_congestion_control(folder: Path) -> Path:
    """Experiment A of the thesis, with its time axis divided by 20, and with congestion control."""
    shutil.copytree(RUNS / "expA_nocc_fast", folder)
    ini = folder / "omnetpp.ini"
    ini.write_text(ini.read_text() + CC.replace("port[2].ccmgr", "port[2..5].ccmgr"))
    return folder


def thesis(folder: Path) -> Path:
    """A simulation with the parameters, sections and includes of appendix B of the thesis, on a 5x5 mesh."""
    (folder / "networks/mesh").mkdir(parents=True)
    (folder / "src").mkdir()
    home = folder / "networks/mesh"
    shutil.copy(RUNS / "single5x5/FABRIC.ned", home)
    shutil.copy(RUNS / "single5x5/mesh.fdbs", home / "TwoDMeshTopo.fdbs")
    rows, parts = range(1, 6), (1, 2)
    hosts = [f"H{row}{column}{part}" for row in rows for column in rows for part in parts]
    switches = [f"SW{row}{column}" for row in rows for column in rows]
    (home / "srcID.ini").write_text(
        "".join(f"**.{host}.gen.srcLid = {lid}\n" for lid, host in enumerate(hosts, 1))
    )
    (home / "TwoDMeshTopo.dstSeq.ini").write_text(
        "".join(f"**.{host}.gen.dstSeqIndex = {index}\n" for index, host in enumerate(hosts))
    )
    (home / "TwoDMeshTopo.dstSeq").write_text(
        "".join(f"{index}: {(index + 9) % 50 + 1} {(index + 19) % 50 + 1}\n" for index in range(50))
    )
    (home / "TwoDMeshTopo.fdbs.ini").write_text(
        "".join(f"**.{switch}.fdbIndex = {index}\n" for index, switch in enumerate(switches))
    )
    (folder / "src/modules.ini").write_text(MODULES)
    (home / "TwoDMeshTopo.ini").write_text(GENERAL + FLOOD)
    return home / "TwoDMeshTopo.ini"


MODULES = """\
[General]
**creditSize = 64
**recordVectors = 0
**GenModel = 0
**maxVL = 0
**.gen.dstBurstHSDel = 0.5
**.gen.dstBurstHSInterDel = 0.5
**gen**.VL = 0
**gen.SL = 0
**obuf.credMinTime = 0.256
**SW**obuf.size = 78
**H**obuf.size = 28
**.ISWDelay = 50
**.VSWDelay = 50
**vlarb.width = 4
**vlarb.vlHighLimit = 16
**vlarb.highVLArbEntries = "0:1"
**vlarb.lowVLArbEntries = "0:1"
"""
GENERAL = """\
[General]
sim-time-limit = ${simtime=0.1}s # max number of simulation seconds to run
network = FABRIC #This line is for Cmdenv
print-undisposed = false
debug-on-errors = true
cmdenv-express-mode = true
num-rngs = 3 # Static seed
seed-0-mt = 12
seed-1-mt = 9
seed-2-mt = 7
**.creditSize = 64 # number of bytes in one credit
**.width = ${width=4} # link width 4x, 8x, or 12x
**.speed = ${speed=2.5} # link speed 2.5, 5.0, or 10.0
**SW**vlarb.coreFreq_MH = 800
**H**vlarb.coreFreq_MH = 250
**.gen.floodVLs = "0"
**.gen.dstHotSpotPerc = 0
**.H111.gen.genStartTime = 0s
**.H511.gen.genStartTime = 1s
**.H112.gen.genStartTime = 10s
**.H121.gen.genStartTime = 10s
include srcID.ini # source LIDs for the HCAs
**H**.gen.dstSeqVecFile = "TwoDMeshTopo.dstSeq"
include TwoDMeshTopo.dstSeq.ini
**H**.gen.sizeSeqVecFile = ""
**.gen.dstLid = 1
**.gen.dstSeqMode = "dstSeqLoop"
**.gen.trafficDist = "trfFlood"
**.SW**.fdbsVecFile = "TwoDMeshTopo.fdbs"
include TwoDMeshTopo.fdbs.ini
**gen.burstLength = intuniform(20,100)
**gen.burstNumber = 128
**gen**.interBurstDelay = 0
**H**.ibuf.maxStatic* = ${hibuf=1000}
**H**.ibuf.totalBufferSize = ${hibuf}
**ibuf.maxStatic* = ${sibuf=1000}
**ibuf.totalBufferSize = ${sibuf} # in credits
**ibuf.maxBeingSent = 1
**.Victim_Mask = 1
**.scalar-recording = true
**.recordVectors = 1
**.logInterval = ${logint=5}ms
include ../../src/modules.ini
"""
FLOOD = """\
[Config flood]
**gen**.trafficDist = "trfFlood"
description = "Simple_Run"
**SW**.port[2].obuf.width = 4
**SW**.port[2].obuf.speed = 10.0
**SW**.port[2].ibuf.maxBeingSent = 2
**SW**.port[2].ccmgr.Victim_Mask = 0
**SW**.port[3].obuf.width = 4
**SW**.port[3].obuf.speed = 10.0
**SW**.port[3].ibuf.maxBeingSent = 2
**SW**.port[3].ccmgr.Victim_Mask = 0
**SW**.port[4].obuf.width = 4
**SW**.port[4].obuf.speed = 10.0
**SW**.port[4].ibuf.maxBeingSent = 2
**SW**.port[4].ccmgr.Victim_Mask = 0
**SW**.port[5].obuf.width = 4
**SW**.port[5].obuf.speed = 10.0
**SW**.port[5].ibuf.maxBeingSent = 2
**SW**.port[5].ccmgr.Victim_Mask = 0
**SW**.vlarb.coreFreq_MH = 800
**.H551.gen.genStartTime = 0.0s
**.H541.gen.genStartTime = 0.01s
**.H511.gen.genStartTime = 0.02s
**.gen.genStartTime = 10s
**gen**.interBurstDelay = 0 # Update this one to slow down a sender...
**gen**.intraBurstDelay = ${intrabd=26}
**gen**.dstHotSpotPerc = 0
**sink.pciExpWidth = 8
**sink.pciExpTransferRate = 5 # 2.5 equals PCI 1.1
**sink.hiccupDuration_us = ${hdur=0.0125}
**sink.hiccupDelay_us = 0.1
**gen**.msgLength = 65536
**gen**.msgLengthInMTUs = 32
**.mtu = 34 # number of credits in one mtu
**gen**.packetlengthbytes = 2176
**gen**.packetlength = 34
**gen**.floodVLs = "0"
**gen**.PktLenDist = "2176"
**gen**.PktLenProb = "100"
**.cc_enabled = true
**.cc_extended_ibuf_log = false
**.qp_level = ${qp=true}
**.cc_single_thr_per_outport = ${singleThr=true}
**.cc_single_thr_devide = ${singleThrDev=false}
**.Threshold = ${thr=2}
**.Reset_Threshold = ${thrlow=3} #Reset_Threshold needs to be HIGHER than Threshold
**.Marking_Rate = ${mr=40}
**.Packet_Size = 1
**.CCTI_Timer = ${cctitimer=20}us
**.CCTI_Limit = 128
**.CCTI_Min = 0
**.CCTI_Increase = ${cctiinc=1}
**.CCT_Algorithm = 0 # 1
**.CCT_Div = ${cctdiv=95}
**.num_nodes = ${nn=50} #..70 step 10
output-vector-file = results/${resultdir}/${configname}-simt${simtime}.vec
output-scalar-file = results/${resultdir}/${configname}-simt${simtime}.sca
"""
