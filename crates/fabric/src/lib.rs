//! Switches, links, buffers, credits and arbiters.
