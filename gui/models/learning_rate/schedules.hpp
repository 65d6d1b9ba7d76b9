// The contents of the Learning rate page, without widgets: curves, tables and sentences for one N and for a list of N.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/predict/predict.hpp"
#include "analysis/report/report.hpp"
#include "gui/models/jobs.hpp"
#include "gui/models/opened_file.hpp"
#include "runner/scenario_queries/rates.hpp"

namespace ddpprof::gui {

// The question of `ddpprof lr` in an editable form. options.workers is the list of N for the tables.
struct RateInputs : scenario_queries::RateQuestion {
  std::int64_t workers = 8;  // N of the plot and the sentences

  void set_batch(std::int64_t batch_per_worker, std::int64_t micro_batches);
  // Asks about a batch other than the one that the rate was tuned with; the base batch does not change.
  void ask_batch(std::int64_t batch_per_worker, std::int64_t micro_batches);
  // Asks about another kind of optimizer. `stored` holds the scenario's values, whose optimizer has a name.
  void set_adaptive(bool value, const RateInputs& stored);
  fit::LearningRateOptions at(std::int64_t one_worker_count) const;  // the options for this N alone
  fit::LearningRateOptions asked() const;  // the options for the list and `workers`: the tables use them
};

enum class ScheduleAxis { steps, epochs };

// Straight lines between the points.
struct ScheduleCurve {
  learning_rate::Rule rule = learning_rate::Rule::linear;
  std::vector<double> x, rate;
};
// Curves of the linear rule, the square-root rule, the unscaled base rate, and the scenario's rule if it is another
// one. A rule without a rate at this N has no curve.
std::vector<ScheduleCurve> schedule_curves(const RateInputs&, ScheduleAxis);

// The tables of `ddpprof lr`, in its order. Times are apart because they take longer to compute.
struct RateTables {
  report::Table rates, warmup, rules, schedules, batches;
  report::Table choice;  // by the rule for the optimizer; `lr` prints it if the scenario names another rule
};
RateTables rate_tables(const RateInputs&);
// Tables of the recorded data. They do not depend on the inputs.
struct RecordedTables {
  report::Table noise, trained;
};
RecordedTables recorded_tables(const OpenedFile&);
struct TimeTables {
  report::Table training, target, cost;
  // Sentences about the target loss at inputs.workers, with the assumptions of the bounds, or what is missing.
  std::string target_text;
  std::optional<double> default_target;  // empty if no loss was recorded
};
TimeTables time_tables(const OpenedFile&, const RateInputs&, const Cancelled&);  // stops early when cancelled

// The same question as a shell command: "ddpprof lr run.db --workers 8,64 --epochs 30". `stored` holds the scenario's
// values.
std::string command_line(const std::string& path, const RateInputs&, const RateInputs& stored);

// The largest N whose global batch is within the validated range of the linear rule; 0 if one worker already exceeds
// it.
std::int64_t largest_validated_workers(const RateInputs&);

// Sentences: the rates of all rules at this N; and the range in which the linear rule is expected to hold, with the
// reason.
std::string answer_text(const RateInputs&);
std::string limits_text(const RateInputs&);

// Reads "8, 16,64" as worker counts, ascending, without duplicates. Returns nothing if the text is wrong; `why` then
// says what was expected.
std::optional<std::vector<std::int64_t>> parse_workers(const std::string& text, std::string& why);
std::string workers_text(const std::vector<std::int64_t>&);

inline constexpr std::int64_t most_rate_workers = 1'000'000;

}  // namespace ddpprof::gui
