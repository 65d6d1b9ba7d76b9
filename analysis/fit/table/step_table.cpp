#include "analysis/fit/table/step_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>

#include "analysis/fit/not_supported.hpp"
#include "analysis/fit/table/alone.hpp"
#include "analysis/fit/text.hpp"
#include "simulator/stats/normal.hpp"
#include "simulator/stats/random.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

enum Index : std::size_t {
  straggler,
  sharing,
  sharpness,
  hidden,
  inside,
  two_nodes,
  carried,
  growth,
  fixed_s,
  sample_s
};

// Growth of communication with N, a factor on `carried`; r is the parameter `growth`.
struct Form {
  const char* name;
  double growth_prior;
  double (*factor)(double n, double r);
};

double ring_share(double n) { return 2.0 * (n - 1.0) / n; }

// A ring on an ideal network has growth 0, which all forms except the last approach. No measured network was ideal.
constexpr std::array<Form, 4> known_forms = {{
    {"ring, bandwidth falling with log N", 0.1,
     [](double n, double r) { return ring_share(n) * (1.0 + r * std::log2(n)); }},
    {"ring, bandwidth falling as a power of N", 0.13,
     [](double n, double r) { return ring_share(n) * std::pow(n, r); }},
    {"ring, waiting for the slowest of N", 0.25,
     [](double n, double r) {
       return ring_share(n) * (1.0 + r * stats::blom_expected_max(static_cast<std::int64_t>(n)));
     }},
    {"levels, log N", 0.7, [](double n, double r) { return 1.0 + r * std::log2(n); }},
}};

constexpr double clipped_error = 0.3;       // a single bad point must not decide between forms
constexpr double judgement = 2.0;           // how steeply a form's weight falls with its squared held-out error
constexpr double least_row_sd = 0.03;       // of a measured step time
constexpr double drift_of_doubling = 0.05;  // for each doubling of N beyond what was measured

struct Terms {
  double compute_s, skew_s, sharing_s, communication_s, step_s;
};

Terms terms_of(const StepRow& row, const Form& form, double alone_s, std::span<const double> values) {
  const auto n = static_cast<double>(row.workers), rounds = static_cast<double>(row.accumulation);
  Terms terms{rounds * alone_s, 0.0, 0.0, 0.0, 0.0};
  const double late = 1.0 + values[straggler] * stats::blom_expected_max(row.workers);
  terms.skew_s = terms.compute_s * (late - 1.0);
  terms.sharing_s = terms.compute_s * late * values[sharing] * static_cast<double>(row.devices() - 1);
  const double busy_s = terms.compute_s + terms.skew_s + terms.sharing_s;
  if (row.workers == 1) {
    terms.step_s = busy_s;
    return terms;
  }
  if (row.nodes == 1) {
    terms.communication_s = values[inside] * (n - 1.0) / n;
  } else {
    terms.communication_s =
        values[carried] * form.factor(n, values[growth]) * (row.nodes == 2 ? values[two_nodes] : 1.0);
  }
  const double behind_s = values[hidden] * busy_s / rounds, power = values[sharpness];
  const double larger_s = std::max(behind_s, terms.communication_s);
  const double ratio = larger_s > 0.0 ? std::min(behind_s, terms.communication_s) / larger_s : 0.0;
  // (a^g + b^g)^(1/g) without leaving the range of numbers.
  terms.step_s = busy_s - behind_s + larger_s * std::pow(1.0 + std::pow(ratio, power), 1.0 / power);
  return terms;
}

void refuse(const std::string& reason, const std::string& advice) { throw NotSupported(reason, advice); }

// Time of one rank for one micro-batch; without rows of one worker, a line in the batch.
double compute_s(const Alone& alone, std::int64_t batch, std::span<const double> values) {
  if (alone.empty()) return values[fixed_s] + values[sample_s] * static_cast<double>(batch);
  return alone.compute_s(batch);
}

}  // namespace

Problem StepTable::problem_for(std::size_t number, const std::vector<StepRow>& rows) const {
  const Form& form = known_forms[number];
  Problem problem;
  double longest = 0.0, batch = 1.0;
  std::vector<double> many;
  // Rows of one placement were measured together, under the same conditions of the network, so they count as one row.
  std::map<std::array<std::int64_t, 3>, double> together;
  for (const StepRow& row : rows) together[{row.workers, row.nodes, row.devices()}] += 1.0;
  std::vector<double> rounds_s;  // one micro-batch's part of a step
  for (const StepRow& row : rows) {
    problem.measured.push_back(row.step_s);
    problem.sd.push_back(least_row_sd * std::sqrt(together[{row.workers, row.nodes, row.devices()}]));
    if (row.workers > 1) many.push_back(row.step_s);
    if (row.workers > 1) rounds_s.push_back(row.step_s / static_cast<double>(row.accumulation));
    longest = std::max(longest, row.step_s);
    batch = std::max(batch, static_cast<double>(row.batch_per_worker));
  }
  const double round_s = many.empty() ? longest : stats::median(rounds_s);
  // The part that does not depend on the batch is at most the shortest step. A prior from a longer step would
  // contradict the data, and its width would be meaningless.
  const double shortest = many.empty() ? longest : *std::min_element(many.begin(), many.end());
  const double shortest_round_s = many.empty() ? longest : *std::min_element(rounds_s.begin(), rounds_s.end());
  // With one batch, the two parts of the line cannot be separated, so one of them is used.
  const bool one_batch = batches_.size() == 1;
  problem.parameters = {{"straggler", "", std::log(0.03), 1.0, std::log(1e-4), std::log(0.5)},
                        {"sharing", "", std::log(0.01), 1.0, std::log(1e-4), std::log(1.0)},
                        {"sharpness", "", std::log(5.0), 0.7, 0.0, std::log(30.0)},
                        {"hidden_share", "", 0.67, 0.1, 0.3, 1.0, false},
                        {"inside", "s", std::log(0.1 * shortest), 2.0, std::log(1e-9), std::log(1e6), true, false},
                        {"two_nodes", "", 0.0, 0.4, std::log(0.2), std::log(5.0)},
                        {"carried", "s", std::log(0.3 * shortest), 2.0, std::log(1e-9), std::log(1e6)},
                        {"growth", "", std::log(form.growth_prior), 1.2, std::log(1e-6), std::log(2.0)},
                        {"compute_fixed", "s", std::log((one_batch ? 1e-6 : 0.2) * shortest_round_s), 1.5,
                         std::log(1e-12), std::log(1e6), true, one_batch || !alone_->empty()},
                        {"compute_sample", "s", std::log(0.5 * round_s / batch), 1.5, std::log(1e-12), std::log(1e6),
                         true, !alone_->empty()}};
  // After the steps: the time without waiting, if it was measured.
  std::vector<StepRow> own = rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const StepRow& row = rows[i];
    if (row.workers == 1 || row.sync_s < 0.0 || !(row.sync_s < row.step_s)) continue;
    own.push_back(row);
    problem.measured.push_back(row.step_s - row.sync_s);
    problem.sd.push_back(problem.sd[i]);
  }
  problem.model = [alone = *alone_, own = std::move(own), steps = rows.size(), &form](std::span<const double> values,
                                                                                      std::size_t point) {
    const StepRow& row = own[point];
    const Terms terms = terms_of(row, form, compute_s(alone, row.batch_per_worker, values), values);
    return point < steps ? terms.step_s : terms.compute_s + terms.sharing_s;
  };
  return problem;
}

StepTable::StepTable(std::vector<StepRow> rows, const TableOptions& options)
    : options_(options), rows_(std::move(rows)), alone_(std::make_unique<Alone>(rows_)) {
  std::set<std::int64_t> counts;
  for (const StepRow& row : rows_) {
    if (!(row.step_s > 0.0) || !std::isfinite(row.step_s))
      refuse("a step time of " + number_text(row.step_s) + " s", "a step takes more than 0 s");
    if (row.workers < 1 || row.nodes < 1 || row.nodes > row.workers || row.batch_per_worker < 1 || row.accumulation < 1)
      refuse("a row has " + std::to_string(row.workers) + " workers on " + std::to_string(row.nodes) + " nodes, " +
                 std::to_string(row.accumulation) + " micro-batches per step and " +
                 std::to_string(row.batch_per_worker) + " samples per micro-batch",
             "every number must be at least 1, and every node needs a worker");
    counts.insert(row.workers);
    batches_.insert(row.batch_per_worker);
    largest_ = std::max(largest_, row.workers);
    most_nodes_ = std::max(most_nodes_, row.nodes);
  }
  if (counts.size() < 2)
    refuse(counts.empty() ? "no step time was given"
                          : "all steps were measured at " + std::to_string(largest_) +
                                " workers, and one worker count does not show how a step grows",
           "measure at two or more worker counts, best at 1 worker and at 2 and more");
  // One worker was measured with one batch, and other rows have other batches: the line has to come from all rows.
  if (alone_->batches() == 1 && batches_.size() > 1) alone_->clear();
  for (std::size_t form = 0; form < known_forms.size(); ++form) {
    TableForm made;
    made.name = known_forms[form].name;
    made.problem = problem_for(form, rows_);
    made.solution = solve(made.problem);
    forms_.push_back(std::move(made));
  }
  weigh();
  for (std::size_t point = 0; point < rows_.size(); ++point) {
    if (rows_[point].workers == 1) continue;
    double fitted = 0.0;
    for (const TableForm& form : forms_) fitted += form.weight * std::log(form.solution.fitted[point]);
    scatter_.push_back(std::log(rows_[point].step_s) - fitted);
  }
}

// Each form is fitted to at most half of the largest N, and judged above it.
void StepTable::weigh() {
  std::vector<StepRow> small, large;
  std::set<std::int64_t> several;
  for (const StepRow& row : rows_) {
    const bool above = 2 * row.workers > largest_ && row.workers > 2;
    if (!above) small.push_back(row);
    if (above && (row.nodes > 1 || most_nodes_ == 1)) large.push_back(row);
    if (!above && row.workers > 1) several.insert(row.workers);
  }
  judged_ = !several.empty() && large.size() >= 3;
  double best = 0.0;
  for (std::size_t number = 0; judged_ && number < forms_.size(); ++number) {
    const Problem problem = problem_for(number, small);
    const Solution solution = solve(problem);
    double sum = 0.0;
    for (const StepRow& row : large) {
      const double fitted =
          terms_of(row, known_forms[number], compute_s(*alone_, row.batch_per_worker, solution.values), solution.values)
              .step_s;
      const double error = std::min(clipped_error, std::abs(std::log(fitted / row.step_s)));
      sum += error * error;
    }
    forms_[number].held_out_error = std::max(0.005, std::sqrt(sum / static_cast<double>(large.size())));
    best = number == 0 ? forms_[0].held_out_error : std::min(best, forms_[number].held_out_error);
  }
  double total = 0.0;
  for (TableForm& form : forms_) {
    const double ratio = judged_ ? form.held_out_error / best : 1.0;
    // Without a covariance, the interval would have no width.
    form.weight = form.solution.converged ? std::exp(-judgement * (ratio * ratio - 1.0)) : 0.0;
    total += form.weight;
  }
  if (!(total > 0.0))
    refuse("no form of communication could be fitted (" + forms_.front().solution.message + ")",
           "measure at more numbers of workers and batches");
  for (TableForm& form : forms_) form.weight /= total;
}

StepTable::~StepTable() = default;
StepTable::StepTable(StepTable&&) noexcept = default;

const BatchFit& StepTable::batch_law() const { return alone_->law(); }

void StepTable::check(const StepRow& asked) const {
  if (asked.workers < 1 || asked.nodes < 1 || asked.nodes > asked.workers || asked.batch_per_worker < 1 ||
      asked.accumulation < 1)
    throw std::invalid_argument("step table: cannot predict " + std::to_string(asked.workers) + " workers on " +
                                std::to_string(asked.nodes) + " nodes, " + std::to_string(asked.accumulation) +
                                " micro-batches per step and " + std::to_string(asked.batch_per_worker) +
                                " samples per micro-batch: every number must be at least 1, and every node needs a "
                                "worker");
  if (asked.nodes > 1 && most_nodes_ == 1)
    refuse("only one node was measured, and " + std::to_string(asked.nodes) + " are asked about",
           "measure two and three nodes: one node does not show the links between nodes");
  if (batches_.size() == 1 && *batches_.begin() != asked.batch_per_worker)
    refuse("only a batch of " + std::to_string(*batches_.begin()) + " per worker was measured",
           "measure a second batch, best at one worker, to ask about " + std::to_string(asked.batch_per_worker));
  if (alone_->beyond(asked.batch_per_worker) && alone_->law().refused())
    refuse("a batch of " + std::to_string(asked.batch_per_worker) +
               " is outside the batches measured at one worker, and their law is " + alone_->law().status,
           "measure these batches again, or ask about a batch between them");
}

TablePrediction StepTable::predict(const StepRow& asked) const {
  check(asked);
  TablePrediction prediction;
  double log_step = 0.0;
  for (std::size_t number = 0; number < forms_.size(); ++number) {
    const TableForm& form = forms_[number];
    const Terms terms =
        terms_of(asked, known_forms[number], compute_s(*alone_, asked.batch_per_worker, form.solution.values),
                 form.solution.values);
    log_step += form.weight * std::log(terms.step_s);
    prediction.compute_s += form.weight * terms.compute_s;
    prediction.skew_s += form.weight * terms.skew_s;
    prediction.sharing_s += form.weight * terms.sharing_s;
    prediction.communication_s += form.weight * terms.communication_s;
  }
  prediction.step_s = std::exp(log_step);
  if (asked.workers > 1)
    prediction.exposed_s =
        std::max(0.0, prediction.step_s - prediction.compute_s - prediction.skew_s - prediction.sharing_s);

  stats::Random random(options_.seed);
  const double doublings = std::max(0.0, std::log2(static_cast<double>(asked.workers) / static_cast<double>(largest_)));
  const auto batch = static_cast<double>(asked.batch_per_worker);
  const double batch_doublings = std::max({0.0, std::log2(batch / static_cast<double>(*batches_.rbegin())),
                                           std::log2(static_cast<double>(*batches_.begin()) / batch)});
  const bool by_law = alone_->beyond(asked.batch_per_worker) && alone_->law().usable;
  const double drift = drift_of_doubling * std::hypot(doublings, by_law ? 0.0 : batch_doublings);
  stats::Random of_law(options_.seed ^
                       0x9e3779b97f4a7c15U);  // numbers of its own, so that the other draws do not depend on it
  std::vector<double> steps;
  for (int i = 0; i < options_.draws; ++i) {
    double share = random.uniform();
    std::size_t number = 0;
    while (number + 1 < forms_.size() && (share -= forms_[number].weight) > 0.0) ++number;
    const TableForm& form = forms_[number];
    std::vector<double> normals(form.problem.parameters.size());
    for (double& normal : normals) normal = random.normal();
    const std::vector<double> values = draw(form.problem, form.solution, normals);
    const double alone_s = compute_s(*alone_, asked.batch_per_worker, values) *
                           (alone_->empty() ? 1.0 : std::exp(random.normal() * least_row_sd)) *
                           alone_->drawn_factor(asked.batch_per_worker, of_law);
    const double step_s = terms_of(asked, known_forms[number], alone_s, values).step_s;
    // Difference of a measurement from any smooth law: this table's own scatter, and the unknown beyond its largest N.
    const double own = scatter_[random.below(scatter_.size())];
    steps.push_back(step_s * std::exp(own + random.normal() * drift));
  }
  prediction.low_s = std::min(prediction.step_s, stats::quantile(steps, (1.0 - options_.confidence) / 2.0));
  prediction.high_s = std::max(prediction.step_s, stats::quantile(steps, (1.0 + options_.confidence) / 2.0));

  const std::array<std::pair<const char*, double>, 4> parts = {{{"compute", prediction.compute_s},
                                                                {"skew", prediction.skew_s},
                                                                {"sharing", prediction.sharing_s},
                                                                {"communication", prediction.exposed_s}}};
  prediction.bound = std::max_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
                       return a.second < b.second;
                     })->first;
  const auto add = [&](const std::string& text) { prediction.note += (prediction.note.empty() ? "" : "; ") + text; };
  if (asked.nodes > 2 && most_nodes_ == 2)
    add("only two nodes were measured, which collective libraries treat specially: a measurement of three nodes would "
        "narrow the interval most");
  if (asked.workers > 4 * largest_) add("far beyond the largest measured N = " + std::to_string(largest_));
  if (batch_doublings > 1.0) add("the batch is far from the measured batches");
  if (by_law) add("compute of this batch: " + alone_->law().status);
  return prediction;
}

}  // namespace ddpprof::fit
