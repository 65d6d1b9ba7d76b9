#include "analysis/import/trace/backwards.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

#include "analysis/import/trace/training_steps.hpp"

namespace ddpprof::import {
namespace {

const HostStep* step_at(const std::vector<HostStep>& steps, std::int64_t time_ns) {
  const auto after = std::upper_bound(steps.begin(), steps.end(), time_ns,
                                      [](std::int64_t t, const HostStep& step) { return t < step.time.start_ns; });
  if (after == steps.begin()) return nullptr;
  const HostStep& step = *std::prev(after);
  return time_ns < step.time.end_ns ? &step : nullptr;
}

// A run of autograd functions without an operation of a layer between them.
struct Part {
  Span time;
  const HostStep* step = nullptr;
  std::size_t forward = 0;     // number of annotated forwards that began before it
  std::int64_t gradients = 0;  // gradients accumulated in it
};

std::vector<Part> parts_of(const RankTrace& rank, const std::vector<Span>& forwards,
                           const std::vector<HostStep>& steps) {
  std::vector<Part> parts;
  auto operations = rank.forward_ops.cursor();
  const Span* operation = operations.next();
  std::size_t forward = 0;
  rank.backward_ops.for_each([&](const Span& op) {
    bool between = false;
    for (; operation && operation->start_ns < op.start_ns; operation = operations.next())
      between = between || parts.empty() || operation->start_ns >= parts.back().time.end_ns;
    while (forward < forwards.size() && forwards[forward].start_ns <= op.start_ns) ++forward;
    const HostStep* step = step_at(steps, op.start_ns);
    if (!step) return;
    if (parts.empty() || between || step != parts.back().step || forward != parts.back().forward)
      parts.push_back({op, step, forward, 0});
    else
      parts.back().time.end_ns = std::max(parts.back().time.end_ns, op.end_ns);
  });
  auto mark = rank.gradients.begin();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::int64_t until_ns = i + 1 < parts.size() && parts[i + 1].step == parts[i].step
                                      ? parts[i + 1].time.start_ns
                                      : parts[i].step->time.end_ns;
    while (mark != rank.gradients.end() && mark->ready_ns < parts[i].time.start_ns) ++mark;
    for (; mark != rank.gradients.end() && mark->ready_ns < until_ns; ++mark) ++parts[i].gradients;
  }
  return parts;
}

}  // namespace

bool is_forward_operation(std::string_view name) {
  constexpr std::string_view prefix = "aten::";
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  constexpr std::array<std::string_view, 9> known = {"linear", "addmm",     "matmul", "conv1d",     "conv2d",
                                                     "conv3d", "embedding", "lstm",   "convolution"};
  return std::find(known.begin(), known.end(), name) != known.end();
}

bool is_matrix_operation(std::string_view name) {
  constexpr std::string_view prefix = "aten::";
  if (is_forward_operation(name)) return true;
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  constexpr std::array<std::string_view, 5> known = {"mm", "bmm", "baddbmm", "_scaled_mm",
                                                     "scaled_dot_product_attention"};
  return std::find(known.begin(), known.end(), name) != known.end();
}

std::vector<Span> find_backwards(const RankTrace& rank, const std::vector<Span>& forwards,
                                 const std::vector<HostStep>& steps) {
  const std::vector<Part> parts = parts_of(rank, forwards, steps);
  std::vector<Span> result;
  if (rank.gradients.empty()) {
    for (const Part& part : parts) result.push_back(part.time);
    return result;
  }
  for (std::size_t begin = 0, end = 0; begin < parts.size(); begin = end) {
    const auto same = [&](const Part& part) {
      return part.step == parts[begin].step && part.forward == parts[begin].forward;
    };
    while (end < parts.size() && same(parts[end])) ++end;
    // A part without a gradient belongs to the next part with one: it computes a penalty's own gradients.
    std::vector<Part> whole;
    for (std::size_t i = begin; i < end; ++i) {
      if (whole.empty() || whole.back().gradients > 0)
        whole.push_back(parts[i]);
      else {
        whole.back().time.end_ns = parts[i].time.end_ns;
        whole.back().gradients = parts[i].gradients;
      }
    }
    if (whole.size() > 1 && whole.back().gradients == 0) {
      whole[whole.size() - 2].time.end_ns = whole.back().time.end_ns;
      whole.pop_back();
    }
    const bool alike = std::all_of(whole.begin(), whole.end(),
                                   [&](const Part& part) { return part.gradients == whole.front().gradients; });
    if (alike)
      for (const Part& part : whole) result.push_back(part.time);
    else
      result.push_back({whole.front().time.start_ns, whole.back().time.end_ns});
  }
  return result;
}

}  // namespace ddpprof::import
