#include "simulator/step/ddp_draws.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "simulator/step/ddp_draws_kernel.hpp"

namespace ddpprof::step {
namespace {

using namespace draws;

void simulate_block(const Plan& shared, const DrawnLink& kind, const Absent& absent, RunBlock run_some, Block& block) {
  const std::vector<DrawnBucket>& buckets = shared.buckets;
  Pass late;
  const double last_ready_s = buckets.empty() ? 0.0 : buckets.back().ready_s;
  for (std::size_t k = 0; k < width; ++k) {
    // Lateness grows evenly over forward and backward.
    const double compute_s = block.forward_s.lane[k] + block.backward_s.lane[k];
    const double lateness = compute_s > 0.0 ? block.straggler_s.lane[k] / compute_s : 0.0;
    late.slope.lane[k] = block.pace.lane[k] * (1.0 + lateness);
    late.offset.lane[k] = lateness * block.forward_s.lane[k];
    // The pass lasts as long as its last gradient.
    const double late_ready_s = buckets.empty() ? 0.0 : late.slope.lane[k] * last_ready_s + late.offset.lane[k];
    block.even_backward_s.lane[k] = std::max(block.backward_s.lane[k], block.pace.lane[k] * last_ready_s);
    late.length_s.lane[k] = std::max(block.backward_s.lane[k] + block.straggler_s.lane[k], late_ready_s);
  }
  run_some(shared, kind, absent, late, block);
}

void copy(const double* from, std::size_t count, double* to) {
  if (count == width) {
    std::memcpy(to, from, width * sizeof(double));  // of a size that the compiler knows
  } else {
    std::copy_n(from, count, to);
  }
}

void require(const std::vector<double>& values, std::size_t draws, const char* name) {
  if (values.size() != draws) {
    throw std::invalid_argument("simulate_draws: " + std::to_string(values.size()) + " values of " + name +
                                ", expected one for each of " + std::to_string(draws) + " draws");
  }
  bool fine = true;
  for (const double value : values) fine &= value >= 0.0 && value <= std::numeric_limits<double>::max();
  if (!fine) {
    throw std::invalid_argument("simulate_draws: a value of " + std::string(name) +
                                " is negative or not finite, expected 0 or more");
  }
}

}  // namespace

DrawnResults simulate_draws(const std::vector<DrawnBucket>& buckets, const DrawnLink& kind, const DrawnTimes& times) {
  const std::size_t draws = times.pace.size();
  struct Input {
    const std::vector<double>& values;
    Values Block::*place;
    const char* name;
  };
  const Input inputs[] = {{times.pace, &Block::pace, "pace"},
                          {times.forward_s, &Block::forward_s, "forward_s"},
                          {times.backward_s, &Block::backward_s, "backward_s"},
                          {times.straggler_s, &Block::straggler_s, "straggler_s"},
                          {times.hop_s, &Block::hop_s, "hop_s"},
                          {times.hop_s_per_byte, &Block::hop_s_per_byte, "hop_s_per_byte"},
                          {times.reduction_s_per_byte, &Block::reduction_s_per_byte, "reduction_s_per_byte"},
                          {times.turn_s, &Block::turn_s, "turn_s"},
                          {times.copy_s_per_byte, &Block::copy_s_per_byte, "copy_s_per_byte"}};
  for (const Input& input : inputs) require(input.values, draws, input.name);
  if (kind.lanes != 1 && kind.lanes != 2) {
    throw std::invalid_argument("simulate_draws: " + std::to_string(kind.lanes) + " lanes, expected 1 or 2");
  }
  std::vector<DrawnBucket> in_order = buckets;  // buckets launch in order
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    DrawnBucket& bucket = in_order[i];
    for (const double value : {bucket.ready_s, bucket.hops, bucket.hop_bytes, bucket.copied_bytes}) {
      if (!(value >= 0.0) || !std::isfinite(value))
        throw std::invalid_argument("simulate_draws: a bucket is negative or not finite, expected 0 or more");
    }
    if (i > 0) bucket.ready_s = std::max(bucket.ready_s, in_order[i - 1].ready_s);
  }

  DrawnResults results;
  struct Output {
    std::vector<double>& values;
    Values Block::*place;
  };
  const Output outputs[] = {{results.even_backward_s, &Block::even_backward_s},
                            {results.even_copy_s, &Block::even_copy_s},
                            {results.even_finish_s, &Block::even_finish_s},
                            {results.late_finish_s, &Block::late_finish_s},
                            {results.communication_s, &Block::communication_s},
                            {results.latency_s, &Block::latency_s},
                            {results.alone_s, &Block::alone_s}};
  for (const Output& output : outputs) output.values.resize(draws);
  static const RunBlock run_some = kernels().back();
  const auto all_zero = [](const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(), [](double value) { return value == 0.0; });
  };
  const Absent absent{all_zero(times.turn_s), all_zero(times.reduction_s_per_byte), all_zero(times.copy_s_per_byte)};
  const Plan shared = plan(std::move(in_order), kind);
  for (std::size_t first = 0; first < draws; first += width) {
    const std::size_t count = std::min(width, draws - first);
    Block block;
    block.draws = count;
    for (const Input& input : inputs) copy(&input.values[first], count, (block.*input.place).lane);
    simulate_block(shared, kind, absent, run_some, block);
    for (const Output& output : outputs) copy((block.*output.place).lane, count, &output.values[first]);
  }
  return results;
}

}  // namespace ddpprof::step
