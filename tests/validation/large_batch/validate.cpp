// Judges predictions of samples to a target at a larger batch, and rules for the learning rate, on MLPerf benchmarks
// that the constants were not learned from, beside trivial baselines.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <map>
#include <set>

#include "simulator/stats/summary.hpp"
#include "tests/validation/data.hpp"
#include "tests/validation/large_batch/learn.hpp"

namespace {

using namespace ddpprof;
using validation::BatchQuestion;
using validation::RateSeries;

constexpr double confidence = 0.9;

double constant(const BatchQuestion& one) { return one.given.back().samples; }
double power_law(const BatchQuestion& one) {
  const auto &last = one.given.back(), &before = one.given[one.given.size() - 2];
  const double slope = std::log(last.samples / before.samples) / std::log(last.batch / before.batch);
  return last.samples * std::pow(one.ratio(), slope);
}

struct Errors {
  std::vector<double> errors, weights;
  void add(double predicted, double measured, double weight) {
    errors.push_back(predicted / measured - 1.0);
    weights.push_back(weight);
  }
  double mean() const {
    double sum = 0.0, total = 0.0;
    for (std::size_t i = 0; i < errors.size(); ++i) sum += weights[i] * std::abs(errors[i]), total += weights[i];
    return sum / total;
  }
  double median(bool sizes) const {
    std::vector<std::pair<double, double>> sorted;
    double total = 0.0, below = 0.0;
    for (std::size_t i = 0; i < errors.size(); ++i) {
      sorted.emplace_back(sizes ? std::abs(errors[i]) : errors[i], weights[i]);
      total += weights[i];
    }
    std::ranges::sort(sorted);
    for (const auto& [error, weight] : sorted)
      if ((below += weight) >= 0.5 * total) return error;
    return 0.0;
  }
  std::string text() const { return fmt::format("{:.1f} / {:.1f}", 100 * median(true), 100 * mean()); }
};

struct Stratum {
  Errors own, constant, power;
  double covered = 0.0, weight = 0.0, width = 0.0;
  int count = 0, above = 0, below = 0;

  void add(const BatchQuestion& one, const stats::Interval& predicted, double weight_of_one) {
    const double measured = one.asked.samples;
    own.add(predicted.mid, measured, weight_of_one);
    constant.add(::constant(one), measured, weight_of_one);
    power.add(power_law(one), measured, weight_of_one);
    above += measured > predicted.high;
    below += measured < predicted.low;
    if (measured >= predicted.low && measured <= predicted.high) covered += weight_of_one;
    weight += weight_of_one;
    width += weight_of_one * std::log(predicted.high / predicted.low);
    ++count;
  }
  void print(const std::string& name) const {
    std::cout << fmt::format("| {} | {} | {} | {:+.1f} % | {} | {} | {:.0f} % | {:.2f} | {}, {} |\n", name, count,
                             own.text(), 100 * own.median(false), constant.text(), power.text(), 100 * covered / weight,
                             width / weight, above, below);
  }
};

void print_header(const std::string& title, const char* first) {
  std::cout
      << "\n### " << title << "\n\n| " << first
      << " | predictions | error | median off by | constant | power law | covered | width | measured above, below "
         "|\n|---|---|---|---|---|---|---|---|---|\n";
}

constexpr std::array distances = {std::pair{1.3, "up to 1.3 times the batch"}, std::pair{2.1, "up to 2.1 times"},
                                  std::pair{4.1, "up to 4.1 times"}, std::pair{8.1, "up to 8.1 times"},
                                  std::pair{1e9, "more than 8.1 times"}};
bool judge_samples(const std::vector<BatchQuestion>& questions) {
  const validation::TargetLearner learner(questions);
  std::map<std::string, learning_rate::TargetConstants> constants;
  for (const BatchQuestion& one : questions)
    if (!constants.contains(one.series->benchmark))
      constants[one.series->benchmark] = learner.without(one.series->benchmark);
  Stratum largest, all;
  std::map<std::string, Stratum> by_benchmark;
  std::array<Stratum, distances.size()> by_distance;
  std::cout
      << "\n### The largest batch of each series from all smaller ones, its benchmark left out\n\n| series | batches "
         "| largest / last | measured / last | predicted | 90 % interval | covered | error | constant | power law "
         "|\n|---|---|---|---|---|---|---|---|---|---|\n";
  for (const BatchQuestion& one : questions) {
    const stats::Interval predicted =
        learning_rate::samples_to_target(one.given, one.asked.batch, constants.at(one.series->benchmark), confidence);
    all.add(one, predicted, one.weight);
    by_benchmark[one.series->benchmark].add(one, predicted, one.weight);
    const auto* distance = std::ranges::find_if(distances, [&](const auto& to) { return one.ratio() <= to.first; });
    by_distance[static_cast<std::size_t>(distance - distances.begin())].add(one, predicted, one.weight);
    if (!one.largest) continue;
    largest.add(one, predicted, 1.0);
    const double last = one.given.back().samples, measured = one.asked.samples;
    std::cout << fmt::format(
        "| {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} to {:.2f} | {} | {:+.1f} % | {:+.1f} % | "
        "{:+.1f} % |\n",
        one.series->name, one.given.size(), one.ratio(), measured / last, predicted.mid / last, predicted.low / last,
        predicted.high / last, measured >= predicted.low && measured <= predicted.high ? "yes" : "no",
        100 * (predicted.mid / measured - 1), 100 * (last / measured - 1), 100 * (power_law(one) / measured - 1));
  }
  print_header("Samples to the target, the benchmark left out", "questions");
  largest.print("largest batch of a series");
  all.print("every larger batch; a series has a weight of 1");
  for (std::size_t i = 0; i < distances.size(); ++i) by_distance[i].print(distances[i].second);
  print_header("Each benchmark", "benchmark");
  for (const auto& [name, one] : by_benchmark) one.print(name);
  bool met = true;
  const auto check = [&](const std::string& what, bool holds) {
    if (!holds) std::cout << "\nNot met: " << what << '\n';
    met = met && holds;
  };
  for (const auto& [of, one] : {std::pair{"largest batch", &largest}, std::pair{"every batch", &all}}) {
    for (const auto& [name, baseline] : {std::pair{"constant", &one->constant}, std::pair{"power law", &one->power}}) {
      check(fmt::format("{}: median below {}", of, name), one->own.median(true) < baseline->median(true));
      // Far beyond the measured batches the middle is as wrong as a constant; there only the interval counts.
      if (one == &largest) check(fmt::format("{}: mean below {}", of, name), one->own.mean() < baseline->mean());
    }
    check(fmt::format("{}: at least 85 % covered", of), one->covered / one->weight >= 0.85);
  }
  return met;
}

std::string rule_error(const std::vector<RateSeries>& all, double exponent) {
  return fmt::format("{:.2f}", std::exp(validation::mean_rate_error(all, [&](const RateSeries&) { return exponent; })));
}

void judge_rates(const std::vector<RateSeries>& all) {
  std::cout
      << "\n### The exponent of tuned learning rates\n\n| series | optimizer | largest / smallest batch | exponent | "
         "below 0.8 of the linear rule from | samples there |\n|---|---|---|---|---|---|\n";
  std::vector<RateSeries> sorted = all;
  std::ranges::sort(sorted, {}, [](const RateSeries& one) { return std::pair(one.optimizer, one.name); });
  std::set<std::string> optimizers;
  for (const RateSeries& one : sorted) {
    optimizers.insert(one.optimizer);
    std::cout << fmt::format("| {} | {} | {:.1f} | {:.2f} | {} | {} |\n", one.name, one.optimizer, one.batches,
                             one.exponent, one.linear_until > 0.0 ? fmt::format("{:.1f} times", one.linear_until) : "–",
                             one.linear_until > 0.0 ? fmt::format("× {:.2f}", one.samples_there) : "–");
  }
  std::cout << "\n| optimizer | benchmarks | linear | square root | unscaled | exponent of the other benchmarks "
               "|\n|---|---|---|---|---|---|\n";
  const auto print = [&](const std::string& name, const std::vector<RateSeries>& some) {
    std::set<std::string> benchmarks;
    for (const RateSeries& one : some) benchmarks.insert(one.benchmark);
    std::cout << fmt::format(
        "| {} | {} | {} | {} | {} | {} |\n", name, benchmarks.size(), rule_error(some, 1.0), rule_error(some, 0.5),
        rule_error(some, 0.0),
        benchmarks.size() < 2 ? "–"
                              : fmt::format("{:.2f}", std::exp(validation::mean_rate_error(some, [&](const auto& one) {
                                              return validation::left_out_exponent(some, one);
                                            }))));
  };
  for (const std::string& optimizer : optimizers) {
    std::vector<RateSeries> some;
    for (const RateSeries& one : all)
      if (one.optimizer == optimizer) some.push_back(one);
    print(optimizer, some);
  }
  print("adam and adagrad", validation::of_kind(all, validation::is_adaptive));
}

}  // namespace

int main() {
  const auto folder = validation::data_folder("large_batch");
  if (!folder) return validation::skipped;
  const auto trainings = validation::read_trainings(*folder);
  const bool met = judge_samples(validation::questions_of(trainings));
  judge_rates(validation::rates_of(trainings));
  return met ? 0 : 1;
}
