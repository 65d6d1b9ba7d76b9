#include "analysis/import/nsight/nvtx_marks.hpp"

#include <algorithm>
#include <optional>

#include "analysis/import/kineto/shapes.hpp"
#include "analysis/import/trace/backwards.hpp"

namespace ddpprof::import {

NvtxMeaning NvtxMarks::meaning(std::string_view name) {
  constexpr std::size_t most = 1 << 16;
  std::string key(name);
  if (const auto known = meanings_.find(key); known != meanings_.end()) return known->second;
  if (meanings_.size() >= most) meanings_.clear();
  return meanings_.emplace(std::move(key), meaning_of(name)).first->second;
}

void NvtxMarks::add(std::span<RankTrace* const> ranks, std::int64_t tid, std::string_view text, Span time) {
  const NvtxName name = parse_emitted(text);
  const NvtxMeaning meaning = this->meaning(name.name);
  const auto each = [&](auto member) {
    for (RankTrace* rank : ranks) (rank->*member).push_back(time);
  };
  if (meaning == NvtxMeaning::backward || meaning == NvtxMeaning::optimizer || meaning == NvtxMeaning::gradient ||
      meaning == NvtxMeaning::backward_op)
    steps_.add_training(time.start_ns);
  switch (meaning) {
    case NvtxMeaning::forward:
      return each(&RankTrace::forwards);
    case NvtxMeaning::backward:
      return each(&RankTrace::backwards);
    case NvtxMeaning::optimizer:
      for (RankTrace* rank : ranks) rank->saw_optimizer(name.name);
      return each(&RankTrace::optimizers);
    case NvtxMeaning::data:
      return each(&RankTrace::data_waits);
    case NvtxMeaning::gradient:
      for (RankTrace* rank : ranks) {
        GradientMark gradient;
        gradient.ready_ns = time.end_ns;
        if (const std::optional<TensorInput> input = first_input(name.sizes, {})) {
          gradient.numel = input->elements;
          gradient.shape = rank->names.intern(input->shape);
        }
        rank->gradients.push_back(gradient);
      }
      return;
    case NvtxMeaning::backward_op:
      for (RankTrace* rank : ranks) rank->backward_ops.push(time);
      return;
    case NvtxMeaning::none:
    case NvtxMeaning::step:
      break;
  }
  if (is_forward_operation(name.name)) {
    for (RankTrace* rank : ranks) rank->forward_ops.push(time);
  }
  if (is_matrix_operation(name.name))
    for (RankTrace* rank : ranks) ++rank->matrix_operations;
  steps_.add(tid, name.name, meaning, time);
  constexpr std::size_t most_batches = std::size_t{1} << 16;
  if (!name.sizes.empty() && name.name.starts_with("aten::") && batches_.size() < most_batches)
    if (const std::optional<std::int64_t> batch = batch_of(name.name, name.sizes))
      batches_.emplace_back(time.start_ns, *batch);
}

StepFinder::Found NvtxMarks::set_steps_and_batch(std::span<RankTrace* const> ranks) {
  const StepFinder::Found found = steps_.find({ranks.front()->first_ns, ranks.front()->last_ns});
  for (RankTrace* rank : ranks) {
    rank->steps = found.steps;
    rank->steps_advice =
        "name an NVTX range with each step's number for exact bounds (torch.cuda.nvtx.range_push(f\"step {i}\"))";
    std::int64_t from_ns = INT64_MAX;
    for (const Span& forward : rank->forwards) from_ns = std::min(from_ns, forward.start_ns);
    const auto batch = std::min_element(batches_.begin(), batches_.end(), [&](const auto& a, const auto& b) {
      return std::pair(a.first < from_ns && from_ns != INT64_MAX, a.first) <
             std::pair(b.first < from_ns && from_ns != INT64_MAX, b.first);
    });
    if (batch != batches_.end()) rank->batch = batch->second;
  }
  return found;
}

}  // namespace ddpprof::import
