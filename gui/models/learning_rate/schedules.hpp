// What the Learning rate page shows for one N and for a list of them: curves, tables and words. Without widgets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/fit/predictor.hpp"
#include "analysis/report/learning_rate_tables.hpp"
#include "analysis/report/report.hpp"
#include "gui/models/jobs.hpp"

namespace ddpprof::gui {

// What can be edited. `options` has the rest of the scenario's; its workers are the list that tables show.
struct RateInputs {
  fit::LearningRateOptions options;
  std::int64_t batch = 32, accumulation = 1;  // their product is options.samples_per_worker
  std::int64_t workers = 8;                   // N of the plot and the words

  void set_batch(std::int64_t batch_per_worker, std::int64_t micro_batches);
  fit::LearningRateOptions at(std::int64_t one_worker_count) const;  // the options for that N alone
};

enum class RateRule { linear, square_root, unscaled };
const char* to_string(RateRule);
enum class ScheduleAxis { steps, epochs };

// Straight between its points.
struct ScheduleCurve {
  RateRule rule = RateRule::linear;
  std::vector<double> x, rate;
};
std::vector<ScheduleCurve> schedule_curves(const RateInputs&, ScheduleAxis);

// As `ddpprof lr --workers` prints them.
report::Table rate_table(const RateInputs&);
report::Table warmup_table(const RateInputs&);

// The largest N whose global batch the linear rule was shown for; 0 when one worker's is beyond it already.
std::int64_t largest_validated_workers(const RateInputs&);

// In sentences: what the rules give at this N; where the linear rule is expected to stop holding, and why.
std::string answer_text(const RateInputs&);
std::string limits_text(const RateInputs&);

// Time of the training at each N of the list and at `workers`, for every strategy that was measured: the prediction's
// throughput where batch and accumulation are as measured, under a change of them else. Stops early when cancelled.
std::vector<report::TrainingTime> training_times(const fit::Models&, const fit::PredictOptions&, const RateInputs&,
                                                 const Cancelled&);

// "8, 16,64" as worker counts, ascending and without doubles; otherwise nothing, and `why` says what was expected.
std::optional<std::vector<std::int64_t>> parse_workers(const std::string& text, std::string& why);
std::string workers_text(const std::vector<std::int64_t>&);

inline constexpr std::int64_t most_rate_workers = 1'000'000;

}  // namespace ddpprof::gui
