"""Algorithms of collectives: functions over messages of their own, which wait by yielding requests."""
