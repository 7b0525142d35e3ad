"""Experiments from the input files of other simulators."""

from fabricsim.importers.omnetpp import import_omnetpp

__all__ = ["import_omnetpp"]
