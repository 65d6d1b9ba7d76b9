// Only constructs ProcessGroupGloo: libtorch_cpu has its own gloo, whose classes have other layouts than the installed
// headers. A test asserts that no gloo class is emitted into the worker.
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "runner/worker/process_group/process_group.hpp"

namespace ddpprof::worker {

c10::intrusive_ptr<c10d::Backend> make_gloo_backend(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                                    const std::string& address, const GroupOptions& options) {
  auto gloo = c10d::ProcessGroupGloo::Options::create(options.timeout);
  gloo->threads = options.gloo_threads;
  gloo->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(address));
  return c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, size, std::move(gloo));
}

}  // namespace ddpprof::worker
