"""Experiments from the input files of other simulators."""

from fabricsim.importers.omnetpp import Imported, import_omnetpp
from fabricsim.importers.unread import NotRead, by_reason

__all__ = ["Imported", "NotRead", "by_reason", "import_omnetpp"]
