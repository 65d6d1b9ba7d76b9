// What the Learning rate page shows for one N and for a list of them: curves, tables and words. Without widgets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/fit/predict.hpp"
#include "analysis/report/report.hpp"
#include "gui/models/jobs.hpp"
#include "gui/models/opened_file.hpp"
#include "runner/questions/rates.hpp"

namespace ddpprof::gui {

// The question that `ddpprof lr` asks, as it can be edited; the options' workers are the list.
struct RateInputs : questions::RateQuestion {
  std::int64_t workers = 8;  // N of the plot and the words

  void set_batch(std::int64_t batch_per_worker, std::int64_t micro_batches);
  // Another batch than the rate was tuned with: the base batch stays what it was.
  void ask_batch(std::int64_t batch_per_worker, std::int64_t micro_batches);
  fit::LearningRateOptions at(std::int64_t one_worker_count) const;  // the options for that N alone
  fit::LearningRateOptions asked() const;  // … for the list and `workers`: what the tables are of
};

enum class ScheduleAxis { steps, epochs };

// Straight between its points.
struct ScheduleCurve {
  learning_rate::Rule rule = learning_rate::Rule::linear;
  std::vector<double> x, rate;
};
// Linear, square root and the base rate as it is; then the scenario's rule where it is another. A rule that has no
// answer at this N has no curve.
std::vector<ScheduleCurve> schedule_curves(const RateInputs&, ScheduleAxis);

// The tables of `ddpprof lr`, in its order; times are slower than the rest.
struct RateTables {
  report::Table rates, warmup, rules, schedules, batches;
};
RateTables rate_tables(const RateInputs&);
// … of the file alone, whatever is edited.
struct RecordedTables {
  report::Table noise, trained;
};
RecordedTables recorded_tables(const OpenedFile&);
struct TimeTables {
  report::Table training, target, cost;
  // What the table of the target says of the N asked about, in sentences, with what bounds assume; else what would be
  // needed.
  std::string target_text;
  std::optional<double> default_target;  // nothing where no loss was recorded
};
TimeTables time_tables(const OpenedFile&, const RateInputs&, const Cancelled&);  // stops early when cancelled

// The same question for a shell: "ddpprof lr run.db --workers 8,64 --epochs 30"; `stored`: the scenario's own.
std::string command_line(const std::string& path, const RateInputs&, const RateInputs& stored);

// The largest N whose global batch the linear rule was shown for; 0 when one worker's is beyond it already.
std::int64_t largest_validated_workers(const RateInputs&);

// In sentences: what the rules give at this N; where the linear rule is expected to stop holding, and why.
std::string answer_text(const RateInputs&);
std::string limits_text(const RateInputs&);

// "8, 16,64" as worker counts, ascending and without doubles; otherwise nothing, and `why` says what was expected.
std::optional<std::vector<std::int64_t>> parse_workers(const std::string& text, std::string& why);
std::string workers_text(const std::vector<std::int64_t>&);

inline constexpr std::int64_t most_rate_workers = 1'000'000;

}  // namespace ddpprof::gui
