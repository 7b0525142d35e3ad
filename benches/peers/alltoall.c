#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  int ranks, rank, rounds = atoi(argv[1]), bytes = atoi(argv[2]);
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char *out = calloc(ranks, bytes), *in = calloc(ranks, bytes);
  double begun = MPI_Wtime();
  for (int round = 0; round < rounds; round++)
    MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
  double took = MPI_Wtime() - begun, longest;
  MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("longest_s %.9g\n", longest);
  free(out);
  free(in);
  MPI_Finalize();
}
