"""Networks of ranks: LogGP, and the simulated fabric."""
