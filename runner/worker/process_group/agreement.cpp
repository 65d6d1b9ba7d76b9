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

std::vector<std::vector<double>> everyones(Group* group, const std::vector<double>& own) {
  if (!group || group->control->getSize() == 1) return {own};
  status::set(status::Activity::all_reduce);
  const auto count = static_cast<std::int64_t>(own.size());
  std::vector<at::Tensor> mine{torch::tensor(own, torch::kDouble)};
  std::vector<std::vector<at::Tensor>> all(1);
  for (int rank = 0; rank < group->control->getSize(); ++rank)
    all.front().push_back(torch::empty({count}, torch::kDouble));
  group->control->allgather(all, mine)->wait();
  std::vector<std::vector<double>> numbers;
  for (const at::Tensor& one : all.front())
    numbers.emplace_back(one.const_data_ptr<double>(), one.const_data_ptr<double>() + count);
  return numbers;
}

}  // namespace ddpprof::worker
