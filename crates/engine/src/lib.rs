//! Event queue, clock, partitions and the assembly of a run.
