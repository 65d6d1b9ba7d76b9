#include "analysis/fit/table/placement_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <set>
#include <tuple>

#include "analysis/fit/not_supported.hpp"
#include "analysis/fit/posterior.hpp"
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
  two_nodes_shared,
  carried,
  early_growth,
  late_growth_off,
  fixed_s,
  sample_s
};

constexpr double least_row_sd = 0.03;   // of a measured step time
constexpr double two_sided_90 = 1.645;  // standard deviations to the ends of a 90 % interval
constexpr double far_row = 0.25;        // of ln(measured / fitted)
// All models from which the prior of the late growth was learned ran on one cluster. How much clusters differ is
// assumed: their libraries use other algorithms, and their links have another latency.
constexpr double other_clusters_sd = 0.15;
constexpr double least_late_growth = 0.0, most_late_growth = 0.8;

// max(x, 0) with a bend of this width in place of the corner, at which the solver does not converge.
double positive_part(double x) {
  constexpr double width = 0.02;
  if (std::abs(x) >= width) return std::max(0.0, x);
  return (x + width) * (x + width) / (4.0 * width);
}

double within_late_growth(double x) {
  return least_late_growth + positive_part(x - least_late_growth) - positive_part(x - most_late_growth);
}

struct Terms {
  double compute_s, skew_s, sharing_s, communication_s, step_s;
};

// Communication between nodes grows up to `most` ranks.
Terms terms_of(const StepRow& row, double alone_s, std::span<const double> values, double anchor, double late_growth,
               double most = std::numeric_limits<double>::infinity()) {
  const auto n = static_cast<double>(row.workers), rounds = static_cast<double>(row.accumulation);
  const auto devices = static_cast<double>(row.devices());
  Terms terms{rounds * alone_s, 0.0, 0.0, 0.0, 0.0};
  const double late = 1.0 + values[straggler] * stats::blom_expected_max(row.workers);
  terms.skew_s = terms.compute_s * (late - 1.0);
  terms.sharing_s = terms.compute_s * late * values[sharing] * (devices - 1.0) / devices;
  const double busy_s = terms.compute_s + terms.skew_s + terms.sharing_s;
  if (row.workers == 1) {
    terms.step_s = busy_s;
    return terms;
  }
  if (row.nodes == 1) {
    terms.communication_s = values[inside] * (n - 1.0) / n;
  } else {
    const double beyond = std::log(std::min(n, most) / anchor);
    terms.communication_s =
        values[carried] * std::exp(values[early_growth] * std::min(0.0, beyond) + late_growth * std::max(0.0, beyond));
    if (row.nodes == 2)
      terms.communication_s *= std::exp(values[two_nodes] + (devices > 1.0 ? values[two_nodes_shared] : 0.0));
  }
  const double behind_s = values[hidden] * busy_s / rounds, power = values[sharpness];
  const double larger_s = std::max(behind_s, terms.communication_s);
  const double ratio = larger_s > 0.0 ? std::min(behind_s, terms.communication_s) / larger_s : 0.0;
  // (a^g + b^g)^(1/g) without leaving the range of numbers.
  terms.step_s = busy_s - behind_s + larger_s * std::pow(1.0 + std::pow(ratio, power), 1.0 / power);
  return terms;
}

using Placement = std::array<std::int64_t, 3>;
Placement placement_of(const StepRow& row) { return {row.workers, row.nodes, row.devices()}; }

}  // namespace

bool PlacementModel::fits(const std::vector<StepRow>& rows) {
  std::map<Placement, std::set<std::int64_t>> batches;
  for (const StepRow& row : rows)
    if (row.nodes > 1) batches[placement_of(row)].insert(row.batch_per_worker);
  return std::ranges::count_if(batches, [](const auto& one) { return one.second.size() >= 2; }) >= 3;
}

PlacementModel::PlacementModel(std::vector<StepRow> rows, std::shared_ptr<const Alone> alone,
                               const TableOptions& options)
    : alone_(std::move(alone)), options_(options), rows_(std::move(rows)) {
  for (const StepRow& row : rows_) {
    one_node_measured_ = one_node_measured_ || (row.nodes == 1 && row.workers > 1);
    largest_ = std::max(largest_, row.workers);
  }
  anchor_ = static_cast<double>(std::min(largest_, early_ranks));
  problem_ = problem();
  solution_ = solve(problem_);
  if (!solution_.converged)
    throw NotSupported("the model of these step times could not be fitted (" + solution_.message + ")",
                       "measure at more numbers of workers and batches");
  for (std::size_t point = 0; point < rows_.size(); ++point)
    if (rows_[point].workers > 1) scatter_.push_back(std::log(rows_[point].step_s / solution_.fitted[point]));
  stats::Random random(options_.seed);
  draws_ = posterior_draws(problem_, solution_, options_.draws, random);
}

double PlacementModel::compute_s(std::int64_t batch, std::span<const double> values) const {
  if (alone_->empty()) return values[fixed_s] + values[sample_s] * static_cast<double>(batch);
  return alone_->compute_s(batch);
}

Problem PlacementModel::problem() const {
  const PlacementConstants& learned = options_.constants.placement;
  Problem problem;
  // Rows of one placement were measured together, under the same conditions of the network, so they count as one row.
  std::map<Placement, double> together;
  for (const StepRow& row : rows_) together[placement_of(row)] += 1.0;
  std::vector<double> rounds_s;  // one micro-batch's part of a step
  double batch = 1.0, shortest_s = 0.0;
  for (const StepRow& row : rows_) {
    problem.measured.push_back(row.step_s);
    problem.sd.push_back(least_row_sd * std::sqrt(together[placement_of(row)]));
    batch = std::max(batch, static_cast<double>(row.batch_per_worker));
    if (row.workers == 1) continue;
    rounds_s.push_back(row.micro_s());
    shortest_s = shortest_s > 0.0 ? std::min(shortest_s, row.step_s) : row.step_s;
  }
  // The part that does not depend on the batch is at most the shortest step. A prior from a longer step would
  // contradict the data, and its width would be meaningless.
  const double round_s = stats::median(rounds_s), shortest_round_s = *std::ranges::min_element(rounds_s);
  problem.parameters = {
      {"straggler", "", std::log(0.03), 1.0, std::log(1e-4), std::log(0.5)},
      {"sharing", "", std::log(0.03), 1.0, std::log(1e-4), std::log(2.0)},
      {"sharpness", "", std::log(5.0), 0.7, 0.0, std::log(30.0)},
      {"hidden_share", "", 0.67, 0.1, 0.3, 1.0, false},
      {"inside", "s", std::log(0.1 * shortest_s), 2.0, std::log(1e-9), std::log(1e6)},
      {"two_nodes", "", learned.two_nodes, learned.two_nodes_sd, -2.0, 2.0, false},
      {"two_nodes_shared", "", learned.two_nodes_shared, learned.two_nodes_shared_sd, -2.0, 2.0, false},
      {"carried", "s", std::log(0.3 * shortest_s), 2.0, std::log(1e-9), std::log(1e6)},
      {"early_growth", "", learned.early_growth, learned.early_growth_sd, -1.0, 2.0, false},
      {"late_growth_off", "", 0.0, 1.0, -5.0, 5.0, false},
      {"compute_fixed", "s", std::log(0.2 * shortest_round_s), 1.5, std::log(1e-12), std::log(1e6), true,
       !alone_->empty()},
      {"compute_sample", "s", std::log(0.5 * round_s / batch), 1.5, std::log(1e-12), std::log(1e6), true,
       !alone_->empty()}};
  // After the steps: the time without waiting, if it was measured.
  std::vector<StepRow> own = rows_;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const StepRow& row = rows_[i];
    if (row.workers == 1 || row.sync_s < 0.0 || !(row.sync_s < row.step_s)) continue;
    own.push_back(row);
    problem.measured.push_back(row.step_s - row.sync_s);
    problem.sd.push_back(problem.sd[i]);
  }
  std::map<std::tuple<Placement, std::int64_t, std::int64_t, bool>, std::size_t> first;
  for (std::size_t point = 0; point < own.size(); ++point) {
    const StepRow& row = own[point];
    const auto key = std::tuple(placement_of(row), row.batch_per_worker, row.accumulation, point < rows_.size());
    problem.first_equal.push_back(first.try_emplace(key, point).first->second);
  }
  problem.model = [this, own = std::move(own)](std::span<const double> values, std::size_t point) {
    const StepRow& row = own[point];
    const Terms terms = terms_of(row, compute_s(row.batch_per_worker, values), values, anchor_, late_growth(values));
    return point < rows_.size() ? terms.step_s : terms.compute_s + terms.sharing_s;
  };
  return problem;
}

PlacementModel::Fitted PlacementModel::fitted() const {
  const std::vector<double>& values = solution_.values;
  return {values[carried], values[early_growth], late_growth(values), values[two_nodes], values[two_nodes_shared]};
}

double PlacementModel::late_growth(std::span<const double> values) const {
  const PlacementConstants& learned = options_.constants.placement;
  const double x = std::log(values[carried]), off = x - learned.late_growth_centre;
  const double of_line =
      learned.late_growth_sd * std::sqrt(1.0 + 1.0 / learned.models + off * off / learned.late_growth_squares);
  const double sd = std::hypot(of_line, learned.late_growth_log_s * outside_models(values[carried]), other_clusters_sd);
  return within_late_growth(learned.late_growth + learned.late_growth_log_s * x + sd * values[late_growth_off]);
}

// By how much ln(k) is above or below that of all models from which the line was learned; 0 inside.
double PlacementModel::outside_models(double carried_s) const {
  const PlacementConstants& learned = options_.constants.placement;
  const double x = std::log(carried_s);
  return x - std::clamp(x, learned.late_growth_from, learned.late_growth_to);
}

// True if two nodes were measured, but no more, with one rank each or with several.
bool PlacementModel::only_two_nodes(bool several_ranks) const {
  std::int64_t most = 1;
  for (const StepRow& row : rows_)
    if (row.nodes > 1 && (row.devices() > 1) == several_ranks) most = std::max(most, row.nodes);
  return most == 2;
}

std::string PlacementModel::doubt() const {
  std::size_t worst = 0;
  const auto off = [&](std::size_t point) { return std::log(rows_[point].step_s / solution_.fitted[point]); };
  for (std::size_t point = 0; point < rows_.size(); ++point)
    if (std::abs(off(point)) > std::abs(off(worst))) worst = point;
  if (std::abs(off(worst)) < far_row) return "";
  const StepRow& row = rows_[worst];
  return "the fitted model does not describe a row: N = " + std::to_string(row.workers) + " on " +
         std::to_string(row.nodes) + (row.nodes == 1 ? " node" : " nodes") + " with a batch of " +
         std::to_string(row.batch_per_worker) + " takes " + time_text(row.step_s) + ", the model has " +
         time_text(solution_.fitted[worst]);
}

TablePrediction PlacementModel::predict(const StepRow& asked) const {
  const auto terms_with = [&](std::span<const double> values, double factor) {
    return terms_of(asked, factor * compute_s(asked.batch_per_worker, values), values, anchor_, late_growth(values));
  };
  const Terms terms = terms_with(solution_.values, 1.0);
  TablePrediction prediction;
  prediction.alone_s = prediction.compute_s = terms.compute_s;
  prediction.skew_s = terms.skew_s;
  prediction.sharing_s = terms.sharing_s;
  prediction.communication_s = terms.communication_s;
  prediction.step_s = terms.step_s;
  if (asked.workers > 1)
    prediction.exposed_s = std::max(0.0, terms.step_s - terms.compute_s - terms.skew_s - terms.sharing_s);

  stats::Random random(options_.seed + 1);
  stats::Random of_law(options_.seed ^ 0x9e3779b97f4a7c15U);  // so that the other draws do not depend on it
  const double doublings = std::max(0.0, std::log2(static_cast<double>(asked.workers) / static_cast<double>(largest_)));
  const double drift_sd = options_.constants.placement.drift_sd * std::sqrt(doublings);
  std::vector<double> steps;
  for (const std::vector<double>& values : draws_) {
    const double factor = (alone_->empty() ? 1.0 : std::exp(random.normal() * least_row_sd)) *
                          alone_->drawn_factor(asked.batch_per_worker, of_law);
    const Terms drawn = terms_with(values, factor);
    // Difference of a measurement from any smooth law: this table's own scatter, and what appears beyond its largest N,
    // which does not make a step shorter than compute.
    const double scatter = std::exp(scatter_[random.below(scatter_.size())]);
    steps.push_back(scatter * std::max(drawn.compute_s, drawn.step_s * std::exp(random.normal() * drift_sd)));
  }
  prediction.low_s = std::min(prediction.step_s, stats::quantile(steps, (1.0 - options_.confidence) / 2.0));
  prediction.high_s = std::max(prediction.step_s, stats::quantile(steps, (1.0 + options_.confidence) / 2.0));
  // Some jobs lose nothing more beyond the largest measured N.
  const double equal_s = terms_of(asked, compute_s(asked.batch_per_worker, solution_.values), solution_.values, anchor_,
                                  late_growth(solution_.values), static_cast<double>(largest_))
                             .step_s;
  prediction.low_s = std::min(prediction.low_s, equal_s * std::exp(-two_sided_90 * least_row_sd));
  const bool special_two = asked.nodes > 2 && only_two_nodes(asked.devices() > 1);
  if (special_two) {
    // On the cluster from which f was learned, two nodes take longer than more nodes. On others they may not.
    StepRow as_two = asked;
    as_two.devices_per_node = asked.devices();
    as_two.nodes = 2;
    const Terms two = terms_of(as_two, compute_s(asked.batch_per_worker, solution_.values), solution_.values, anchor_,
                               late_growth(solution_.values));
    prediction.high_s = std::max(prediction.high_s, two.step_s * std::exp(two_sided_90 * least_row_sd));
  }
  for (const StepRow& row : rows_)  // a further measurement may be equal to a measured one
    if (placement_of(row) == placement_of(asked) && row.batch_per_worker == asked.batch_per_worker &&
        row.accumulation == asked.accumulation) {
      prediction.low_s = std::min(prediction.low_s, row.step_s);
      prediction.high_s = std::max(prediction.high_s, row.step_s);
    }
  if (asked.nodes == 1 && asked.workers > 1 && !one_node_measured_) {
    // One node takes at most the step of several with as many ranks.
    for (const StepRow& row : rows_)
      if (row.nodes > 1 && row.workers >= asked.workers && row.batch_per_worker == asked.batch_per_worker &&
          row.accumulation == asked.accumulation)
        prediction.high_s = std::min(prediction.high_s, row.step_s * std::exp(2.0 * least_row_sd));
    prediction.high_s = std::max(prediction.high_s, prediction.step_s);
  }
  prediction.name_bound();
  if (asked.workers > largest_ && std::abs(outside_models(solution_.values[carried])) > std::numbers::ln2)
    prediction.add_note("communication takes " + time_text(solution_.values[carried]) +
                        ", far from the models from which its growth was learned: measure at more nodes to narrow the "
                        "interval");
  if (asked.nodes == 1 && asked.workers > 1 && !one_node_measured_)
    prediction.add_note("communication inside a node was not measured: it is assumed to be about 10 % of a step");
  if (alone_->empty())
    prediction.add_note(
        "one rank was not measured at several batches: compute is a line in the batch through all rows");
  if (special_two)
    prediction.add_note(
        "of several nodes, only two were measured with as full nodes, and collective libraries treat two specially: "
        "on the cluster that this was learned from, more nodes took less time; the interval contains that they do not, "
        "and a measurement of three nodes would narrow the interval most");
  return prediction;
}

}  // namespace ddpprof::fit
