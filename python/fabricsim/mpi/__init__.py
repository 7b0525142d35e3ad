"""MPI of simulated ranks: programs in Python with the names of mpi4py."""
