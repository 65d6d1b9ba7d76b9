#include "runner/worker/process_group/process_group.hpp"

#ifdef USE_C10D_NCCL
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#else
#include <stdexcept>
#endif

namespace ddpprof::worker {

#ifdef USE_C10D_NCCL
c10::intrusive_ptr<c10d::Backend> make_nccl_backend(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                                    const GroupOptions& options) {
  auto nccl = c10d::ProcessGroupNCCL::Options::create();
  nccl->timeout = options.timeout;
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size, std::move(nccl));
}
#else
c10::intrusive_ptr<c10d::Backend> make_nccl_backend(const c10::intrusive_ptr<c10d::Store>&, int, int,
                                                    const GroupOptions&) {
  throw std::runtime_error("this build has no NCCL (configured with DDPPROF_CUDA=OFF or without its headers)");
}
#endif

}  // namespace ddpprof::worker
