#include "runner/worker/process_group/agreement.hpp"

#include "runner/worker/status.hpp"

namespace ddpprof::worker {

void meet(Group* group) {
  if (!group) return;
  status::set(status::Activity::all_reduce);
  group->control->barrier()->wait();
}

bool agree(Group* group, bool own) {
  if (!group) return own;
  status::set(status::Activity::all_reduce);
  std::vector<at::Tensor> flag{torch::full({1}, own ? 1 : 0, torch::kLong)};
  group->control->broadcast(flag)->wait();
  return flag.front().item<std::int64_t>() != 0;
}

}  // namespace ddpprof::worker
