#include "analysis/fit/table/scaling_series.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <set>
#include <tuple>

#include "analysis/fit/batch_fit.hpp"
#include "simulator/stats/random.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

// A step cannot take less time per sample on more ranks; beyond rounding, such a table has a mistake.
constexpr double impossible = 1.02;
constexpr double normal_90 = 1.645;  // standard deviations to the ends of the normal distribution's 90 % interval

double log2_ratio(std::int64_t to, std::int64_t from) {
  return std::log2(static_cast<double>(to) / static_cast<double>(from));
}

// Weighted by 1 / time², so relative errors are minimised. Neither part is negative.
std::pair<double, double> line_through(const std::vector<std::pair<double, double>>& points) {
  double ff = 0.0, fs = 0.0, ss = 0.0, f = 0.0, s = 0.0;
  for (const auto& [batch, time_s] : points) {
    const double one = 1.0 / time_s, per = batch / time_s;
    ff += one * one, fs += one * per, ss += per * per, f += one, s += per;
  }
  const double determinant = ff * ss - fs * fs;
  const double fixed_s = determinant > 0.0 ? (f * ss - s * fs) / determinant : 0.0;
  const double sample_s = determinant > 0.0 ? (s * ff - f * fs) / determinant : s / ss;
  if (fixed_s < 0.0) return {0.0, s / ss};
  if (sample_s < 0.0) return {f / ff, 0.0};
  return {fixed_s, sample_s};
}

}  // namespace

void TablePrediction::name_bound() {
  const std::array<std::pair<const char*, double>, 4> parts = {
      {{"compute", compute_s}, {"skew", skew_s}, {"sharing", sharing_s}, {"communication", exposed_s}}};
  bound = std::ranges::max_element(parts, {}, &std::pair<const char*, double>::second)->first;
}

ScalingSeries::ScalingSeries(const std::vector<StepRow>& rows, std::shared_ptr<const Alone> alone,
                             const TableConstants& constants)
    : alone_(std::move(alone)), constants_(constants) {
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>, std::vector<StepRow>>
      equal;
  std::set<std::int64_t> accumulations;
  for (const StepRow& row : rows) {
    equal[{row.workers, row.nodes, row.devices(), row.batch_per_worker, row.accumulation}].push_back(row);
    accumulations.insert(row.accumulation);
  }
  one_accumulation_ = accumulations.size() == 1;
  double squares = 0.0, freedom = 0.0;
  for (const auto& [key, same] : equal) {
    Point point{same.front(), 0.0, -1.0};
    std::vector<double> times, shares;
    for (const StepRow& row : same) {
      times.push_back(row.micro_s());
      if (row.sync_s >= 0.0) shares.push_back(row.sync_s / row.step_s);
    }
    point.micro_s = stats::median(times);
    if (!shares.empty()) point.sync_share = stats::median(shares);
    for (const double time : times) squares += std::pow(std::log(time / point.micro_s), 2);
    freedom += static_cast<double>(times.size() - 1);
    points_.push_back(point);
  }
  if (freedom > 0.0) scatter_ = std::sqrt(squares / freedom);
  fit_line();
}

// Compute as a line in the batch. With rows of one rank at one batch only, rows of more ranks determine the slope.
void ScalingSeries::fit_line() {
  std::set<std::int64_t> batches;
  std::map<std::int64_t, std::set<std::int64_t>> batches_at;
  std::int64_t largest = 1;
  for (const Point& point : points_) {
    batches.insert(point.row.batch_per_worker);
    batches_at[point.row.workers].insert(point.row.batch_per_worker);
    largest = std::max(largest, point.row.workers);
  }
  if (batches.size() < 2) return;
  batch_follows_ranks_ = std::ranges::all_of(batches_at, [](const auto& one) { return one.second.size() == 1; });
  std::vector<std::pair<double, double>> at_largest;
  for (const Point& point : points_)
    at_largest.emplace_back(
        static_cast<double>(point.row.batch_per_worker),
        point.micro_s * std::exp(constants_.growth.between * log2_ratio(largest, point.row.workers)));
  std::tie(fixed_s_, sample_s_) = line_through(at_largest);
  line_ = true;
}

double ScalingSeries::compute_s(std::int64_t batch) const {
  if (alone_->batches() >= 2 || (alone_->batches() == 1 && !line_)) return alone_->compute_s(batch);
  if (!line_) return std::numeric_limits<double>::quiet_NaN();
  return fixed_s_ + sample_s_ * static_cast<double>(batch);
}

ScalingSeries::Value ScalingSeries::value_of(const Point& point, const StepRow& asked) const {
  Value value{point.micro_s, point.sync_share, point.row.nodes, false};
  if (point.row.batch_per_worker != asked.batch_per_worker) {
    const double from_s = compute_s(point.row.batch_per_worker), to_s = compute_s(asked.batch_per_worker);
    // What is not compute stays. A line through noise may leave less than compute; then the step scales with compute.
    value.micro_s = std::max(point.micro_s + to_s - from_s, std::min(to_s, point.micro_s * to_s / from_s));
    value.other_batch = batch_follows_ranks_ && alone_->batches() < 2;
  }
  if (point.row.accumulation != asked.accumulation && !alone_->empty()) {
    // Exposed communication happens once a step. Tables whose accumulation falls as N grows show less than that: as
    // the square root.
    const double alone_s = compute_s(asked.batch_per_worker);
    const double exposed_s = std::max(0.0, value.micro_s - alone_s);
    const double rounds = static_cast<double>(point.row.accumulation) / static_cast<double>(asked.accumulation);
    value.micro_s += exposed_s * ((one_accumulation_ ? rounds : std::sqrt(rounds)) - 1.0);
  }
  return value;
}

// For each measured number of ranks, the row that is nearest to the question: in its batch, then in its devices per
// node, then in its accumulation.
ScalingSeries::Curve ScalingSeries::curve(const StepRow& asked, bool several_nodes) const {
  std::map<std::int64_t, std::pair<std::tuple<double, std::int64_t, double>, const Point*>> nearest;
  for (const Point& point : points_) {
    if ((point.row.nodes > 1) != several_nodes) continue;
    const std::tuple distance(std::abs(log2_ratio(point.row.batch_per_worker, asked.batch_per_worker)),
                              point.row.workers == 1 ? 0 : std::abs(point.row.devices() - asked.devices()),
                              std::abs(log2_ratio(point.row.accumulation, asked.accumulation)));
    const auto [found, added] = nearest.try_emplace(point.row.workers, distance, &point);
    if (!added && distance < found->second.first) found->second = {distance, &point};
  }
  Curve curve;
  for (const auto& [workers, chosen] : nearest) curve[workers] = value_of(*chosen.second, asked);
  return curve;
}

ScalingSeries::Carried ScalingSeries::carry(const StepRow& asked) const {
  const Curve one_node = curve(asked, false), several = curve(asked, true);
  Carried carried;
  carried.question.region = asked.nodes == 1 ? Region::one_node : Region::several_nodes;
  const Curve* curve = asked.nodes == 1 ? &one_node : &several;
  if (asked.nodes == 1 && one_node.empty()) {
    curve = &several;
  } else if (curve->empty()) {
    curve = &one_node;
    carried.question.region = Region::first_crossing;
  }
  const auto above = curve->lower_bound(asked.workers);
  Value base;
  if (above == curve->end()) {
    const auto& [workers, value] = *curve->rbegin();
    base = value;
    carried.question.doublings = log2_ratio(asked.workers, workers);
  } else if (above == curve->begin() || above->first == asked.workers) {
    base = above->second;
  } else {
    const auto below = std::prev(above);
    const double share = log2_ratio(asked.workers, below->first) / log2_ratio(above->first, below->first);
    base = share < 0.5 ? below->second : above->second;
    base.micro_s = std::exp((1.0 - share) * std::log(below->second.micro_s) + share * std::log(above->second.micro_s));
  }
  // The share of the step that was lost since one rank, or since the most ranks of one node.
  std::optional<double> reference_s;
  if (carried.question.region == Region::several_nodes && !one_node.empty())
    reference_s = one_node.rbegin()->second.micro_s;
  if (carried.question.region == Region::one_node && one_node.contains(1)) reference_s = one_node.at(1).micro_s;
  if (reference_s) carried.question.loss = std::max(0.0, 1.0 - *reference_s / base.micro_s);
  carried.question.other_batch = base.other_batch;
  carried.base_s = base.micro_s;
  carried.base_nodes = base.nodes;
  carried.sync_share = base.sync_share;
  return carried;
}

// Lower and upper half of the interval of ln(step) that the batch adds: 0 between measured batches; beyond them the
// uncertainty of the law of compute, or without a law that of its exponent.
std::pair<double, double> ScalingSeries::batch_spread(std::int64_t batch, const TableOptions& options) const {
  if (alone_->beyond(batch) && alone_->law().usable) {
    stats::Random random(options.seed);
    std::vector<double> factors;
    for (int i = 0; i < options.draws; ++i) factors.push_back(std::log(alone_->drawn_factor(batch, random)));
    const auto [low, high] =
        stats::quantiles(factors, (1.0 - options.confidence) / 2.0, (1.0 + options.confidence) / 2.0);
    return {std::max(0.0, -low), std::max(0.0, high)};
  }
  const auto [least, most] =
      std::ranges::minmax_element(points_, {}, [](const Point& point) { return point.row.batch_per_worker; });
  const double beyond = std::numbers::ln2 * std::max({0.0, log2_ratio(batch, most->row.batch_per_worker),
                                                      log2_ratio(least->row.batch_per_worker, batch)});
  const double half = normal_90 * interval_ratio(options.confidence) * batch_exponent_sd * beyond;
  return {half, half};
}

TablePrediction ScalingSeries::predict(const StepRow& asked, const TableOptions& options) const {
  const Carried carried = carry(asked);
  const Growth growth = growth_of(carried.question, constants_.growth, options.confidence);
  const auto rounds = static_cast<double>(asked.accumulation);
  TablePrediction prediction;
  prediction.step_s = rounds * carried.base_s * std::exp(growth.mean);
  const double own = normal_90 * scatter_ * interval_ratio(options.confidence);
  const auto [batch_low, batch_high] = batch_spread(asked.batch_per_worker, options);
  const double low = std::max(growth.mean - growth.low, own), high = std::max(growth.high - growth.mean, own);
  prediction.low_s = prediction.step_s * std::exp(-std::hypot(low, batch_low));
  prediction.high_s = prediction.step_s * std::exp(std::hypot(high, batch_high));

  if (carried.base_nodes == 2 && asked.nodes > 2 && carried.question.loss > kept_loss) {
    // Collective libraries treat two nodes specially: on more nodes what is lost may be this much less.
    const double special = constants_.placement.two_nodes + constants_.placement.two_nodes_shared;
    prediction.low_s *= 1.0 - carried.question.loss * (1.0 - std::exp(-special));
    prediction.add_note(
        "the largest N was measured on two nodes, which collective libraries treat specially: a "
        "measurement of three nodes would narrow the interval most");
  }

  const Curve one_node = curve(asked, false), several = curve(asked, true);
  const auto& [fewest, alone] = one_node.empty() ? *several.begin() : *one_node.begin();
  prediction.compute_s = std::min(prediction.step_s, rounds * alone.micro_s);
  const double lost_s = prediction.step_s - prediction.compute_s;
  prediction.exposed_s = lost_s;
  if (carried.sync_share >= 0.0 && asked.workers > 1) {
    prediction.exposed_s = std::min(lost_s, carried.sync_share * prediction.step_s);
    prediction.sharing_s = lost_s - prediction.exposed_s;
  }
  prediction.communication_s = prediction.exposed_s;
  prediction.name_bound();

  if (carried.question.region == Region::first_crossing)
    prediction.add_note(
        "only one node was measured, so the links between nodes are those of published clusters: "
        "measure two and three nodes to narrow the interval");
  if (fewest > 1)
    prediction.add_note("one rank was not measured: compute and efficiency are relative to N = " +
                        std::to_string(fewest));
  if (carried.base_s * impossible < alone.micro_s)
    prediction.add_note("a measured N takes less time per sample than N = " + std::to_string(fewest) +
                        ", which cannot be for the same work: check the table");
  if (batch_follows_ranks_)
    prediction.add_note("the batch per worker changes with N: compute is a line in the batch through all rows");
  return prediction;
}

}  // namespace ddpprof::fit
