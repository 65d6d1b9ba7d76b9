// Rows of the tables of results: fits, predictions, learning rates. Fields are in the schema's column order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace ddpprof::store {

struct FitRow {
  static constexpr std::string_view table = "fit";
  std::optional<std::int64_t> id;
  std::string name, strategy, form;
  std::int64_t usable = 0;
  std::string status;
  std::int64_t points = 0;
  double median_relative_error = 0.0;
  std::string parameters = "{}", covariance = "[]", residuals = "[]";
  auto fields() const {
    return std::tie(id, name, strategy, form, usable, status, points, median_relative_error, parameters, covariance,
                    residuals);
  }
};

struct PredictionRow {
  static constexpr std::string_view table = "prediction";
  std::string strategy;
  std::int64_t world_size = 1, gpus_per_node = 0;
  double step_s = 0, step_low_s = 0, step_high_s = 0, confidence = 0;
  double compute_s = 0, communication_s = 0, exposed_s = 0, latency_s = 0, bandwidth_s = 0, skew_s = 0, other_s = 0;
  double throughput = 0, efficiency = 0;
  std::string bound;
  double extrapolation = 0;
  std::string note;
  double host_s = 0;
  auto fields() const {
    return std::tie(strategy, world_size, gpus_per_node, step_s, step_low_s, step_high_s, confidence, compute_s,
                    communication_s, exposed_s, latency_s, bandwidth_s, skew_s, other_s, throughput, efficiency, bound,
                    extrapolation, note, host_s);
  }
};

struct LearningRateRow {
  static constexpr std::string_view table = "learning_rate";
  std::int64_t world_size = 1;
  std::string rule;
  std::int64_t global_batch = 0;
  double base_lr = 0, target_lr = 0;
  std::int64_t warmup_steps = 0;
  std::string note;
  auto fields() const { return std::tie(world_size, rule, global_batch, base_lr, target_lr, warmup_steps, note); }
};

}  // namespace ddpprof::store
