/* What the worker asks of MPI: a table of functions, so that the one library that is linked with MPI is loaded only by
   ranks whose backend it is. All of them are called by one thread, the one that called begin(). */
#ifndef DDPPROF_RUNNER_WORKER_MPI_INTERFACE_H
#define DDPPROF_RUNNER_WORKER_MPI_INTERFACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ddpprof_mpi_interface = 1 }; /* changes with this file */

enum ddpprof_mpi_collective {
  ddpprof_mpi_all_reduce,
  ddpprof_mpi_broadcast,
  ddpprof_mpi_all_gather,
  ddpprof_mpi_reduce_scatter,
  ddpprof_mpi_barrier
};

enum ddpprof_mpi_type {
  ddpprof_mpi_uint8,
  ddpprof_mpi_int8,
  ddpprof_mpi_int16,
  ddpprof_mpi_int32,
  ddpprof_mpi_int64,
  ddpprof_mpi_half,
  ddpprof_mpi_bfloat16,
  ddpprof_mpi_float,
  ddpprof_mpi_double
};

enum ddpprof_mpi_operation { ddpprof_mpi_sum, ddpprof_mpi_product, ddpprof_mpi_minimum, ddpprof_mpi_maximum };

/* `input` and `output` stay valid and untouched until the call is done. `count` elements of `type`:
   all_reduce: `output`, in place. broadcast: `output`, from rank `root`. all_gather: `count` of `input` of each rank, one
   rank after another in `output`. reduce_scatter: size * count of `input`, of which rank r gets the r-th `count`, reduced,
   in `output`. barrier: none. */
struct ddpprof_mpi_call {
  enum ddpprof_mpi_collective collective;
  enum ddpprof_mpi_type type;
  enum ddpprof_mpi_operation operation;
  int root;
  const void* input;
  void* output;
  int count;
};

/* Each gives 0, or another number and in `error` what MPI says, cut to `error_bytes`. */
struct ddpprof_mpi_functions {
  int interface_number;
  const char* (*version)(void);
  /* Enters the job that mpirun made; `rank` and `size` as MPI counts them. Waits for the other ranks. */
  int (*begin)(int* rank, int* size, char* error, size_t error_bytes);
  /* Calls must start in the same order on every rank; any number may be under way. */
  int (*start)(const struct ddpprof_mpi_call*, void** request, char* error, size_t error_bytes);
  /* Moves all calls on; where this one is done, sets `done` and frees the request. */
  int (*test)(void* request, int* done, char* error, size_t error_bytes);
  /* Leaves the job. Waits for the other ranks, and must not be called with a call under way. */
  int (*end)(char* error, size_t error_bytes);
};

/* The library's one exported function. */
const struct ddpprof_mpi_functions* ddpprof_mpi(void);
typedef const struct ddpprof_mpi_functions* (*ddpprof_mpi_function)(void);

#ifdef __cplusplus
}
#endif

#endif
