// The functions of interface.h over Open MPI.
#include <fcntl.h>
#include <mpi.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include "runner/worker/mpi/interface.h"

namespace {

MPI_Comm job = MPI_COMM_NULL;
// For types that MPI does not support: [half, bfloat16] by enum ddpprof_mpi_operation.
MPI_Op half_operations[4], bfloat16_operations[4];

int refuse(int code, char* error, std::size_t error_bytes) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  std::snprintf(error, error_bytes, "%s", text);
  return code;
}

template <typename Type, ddpprof_mpi_operation operation>
void reduce(void* from, void* into, int* count, MPI_Datatype*) {
  const Type* a = static_cast<const Type*>(from);
  Type* b = static_cast<Type*>(into);
  for (int i = 0; i < *count; ++i) {
    const auto x = static_cast<float>(a[i]), y = static_cast<float>(b[i]);
    if constexpr (operation == ddpprof_mpi_sum) b[i] = static_cast<Type>(x + y);
    if constexpr (operation == ddpprof_mpi_product) b[i] = static_cast<Type>(x * y);
    if constexpr (operation == ddpprof_mpi_minimum) b[i] = static_cast<Type>(std::min(x, y));
    if constexpr (operation == ddpprof_mpi_maximum) b[i] = static_cast<Type>(std::max(x, y));
  }
}

template <typename Type>
int make_operations(MPI_Op* into) {
  MPI_User_function* const functions[] = {reduce<Type, ddpprof_mpi_sum>, reduce<Type, ddpprof_mpi_product>,
                                          reduce<Type, ddpprof_mpi_minimum>, reduce<Type, ddpprof_mpi_maximum>};
  for (int i = 0; i < 4; ++i)
    if (const int code = MPI_Op_create(functions[i], /*commute=*/1, &into[i]); code != MPI_SUCCESS) return code;
  return MPI_SUCCESS;
}

MPI_Datatype type_of(ddpprof_mpi_type type) {
  switch (type) {
    case ddpprof_mpi_uint8:
      return MPI_UINT8_T;
    case ddpprof_mpi_int8:
      return MPI_INT8_T;
    case ddpprof_mpi_int16:
      return MPI_INT16_T;
    case ddpprof_mpi_int32:
      return MPI_INT32_T;
    case ddpprof_mpi_int64:
      return MPI_INT64_T;
    case ddpprof_mpi_half:
    case ddpprof_mpi_bfloat16:
      return MPI_UINT16_T;
    case ddpprof_mpi_float:
      return MPI_FLOAT;
    case ddpprof_mpi_double:
      return MPI_DOUBLE;
  }
  return MPI_DATATYPE_NULL;
}

MPI_Op operation_of(const ddpprof_mpi_call& call) {
  constexpr ddpprof_mpi_operation last = ddpprof_mpi_maximum;
  if (call.operation < 0 || call.operation > last) return MPI_OP_NULL;
  if (call.type == ddpprof_mpi_half) return half_operations[call.operation];
  if (call.type == ddpprof_mpi_bfloat16) return bfloat16_operations[call.operation];
  const MPI_Op operations[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
  return operations[call.operation];
}

// Returns true if a process may read another process's memory. Open MPI assumes this; containers often forbid it.
bool can_read_other_processes() {
  char byte = 1, copy = 0;
  const iovec here{&copy, 1}, there{&byte, 1};
  if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != 1) return false;
  // Yama's value 1 allows only descendants, and ranks are siblings.
  int scope = 0;
  if (std::FILE* file = std::fopen("/proc/sys/kernel/yama/ptrace_scope", "re")) {
    if (std::fscanf(file, "%d", &scope) != 1) scope = 0;
    std::fclose(file);
  }
  return scope == 0 || geteuid() == 0;
}

void prefer() {
  // The default for the nonblocking in-place all-reduce is a binomial tree, which moves N times a ring's bytes through
  // one rank. 1 selects the ring. A value that the user has set is kept.
  setenv("OMPI_MCA_coll_libnbc_iallreduce_algorithm", "1", /*overwrite=*/0);
  if (!can_read_other_processes()) setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", /*overwrite=*/0);
}

const char* version() {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  // "Open MPI v4.1.4, package: …": the part before the comma.
  for (char* at = text; *at != '\0'; ++at)
    if (*at == ',' || *at == '\n') *at = '\0';
  return text;
}

int begin(int* rank, int* size, char* error, std::size_t error_bytes) {
  if (job != MPI_COMM_NULL) {
    std::snprintf(error, error_bytes, "this process is in its MPI job already");
    return 1;
  }
  prefer();
  int provided = 0;
  int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  // A separate communicator, so that other MPI calls of the job cannot match these calls.
  if (code == MPI_SUCCESS) code = MPI_Comm_dup(MPI_COMM_WORLD, &job);
  if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(job, MPI_ERRORS_RETURN);
  if (code == MPI_SUCCESS) code = MPI_Comm_rank(job, rank);
  if (code == MPI_SUCCESS) code = MPI_Comm_size(job, size);
  if (code == MPI_SUCCESS) code = make_operations<c10::Half>(half_operations);
  if (code == MPI_SUCCESS) code = make_operations<c10::BFloat16>(bfloat16_operations);
  return code == MPI_SUCCESS ? 0 : refuse(code, error, error_bytes);
}

int start(const ddpprof_mpi_call* call, void** request, char* error, std::size_t error_bytes) {
  auto* made = new (std::nothrow) MPI_Request(MPI_REQUEST_NULL);
  if (made == nullptr) {
    std::snprintf(error, error_bytes, "no memory for a request");
    return 1;
  }
  const MPI_Datatype type = type_of(call->type);
  int code = MPI_ERR_ARG;
  switch (call->collective) {
    case ddpprof_mpi_all_reduce:
      code = MPI_Iallreduce(MPI_IN_PLACE, call->output, call->count, type, operation_of(*call), job, made);
      break;
    case ddpprof_mpi_broadcast:
      code = MPI_Ibcast(call->output, call->count, type, call->root, job, made);
      break;
    case ddpprof_mpi_all_gather:
      code = MPI_Iallgather(call->input, call->count, type, call->output, call->count, type, job, made);
      break;
    case ddpprof_mpi_reduce_scatter:
      code = MPI_Ireduce_scatter_block(call->input, call->output, call->count, type, operation_of(*call), job, made);
      break;
    case ddpprof_mpi_barrier:
      code = MPI_Ibarrier(job, made);
      break;
  }
  if (code != MPI_SUCCESS) {
    delete made;
    return refuse(code, error, error_bytes);
  }
  *request = made;
  return 0;
}

int test(void* request, int* done, char* error, std::size_t error_bytes) {
  auto* made = static_cast<MPI_Request*>(request);
  const int code = MPI_Test(made, done, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) return refuse(code, error, error_bytes);
  if (*done != 0) delete made;
  return 0;
}

int end(char* error, std::size_t error_bytes) {
  for (MPI_Op* operations : {half_operations, bfloat16_operations})
    for (int i = 0; i < 4; ++i) MPI_Op_free(&operations[i]);
  const int code = MPI_Finalize();
  return code == MPI_SUCCESS ? 0 : refuse(code, error, error_bytes);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const ddpprof_mpi_functions* ddpprof_mpi(void) {
  static const ddpprof_mpi_functions functions{ddpprof_mpi_interface, version, begin, start, test, end};
  return &functions;
}
