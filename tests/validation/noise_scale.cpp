// Steps to a metric at larger batches, predicted from the noise scale that the smallest batch's training recorded,
// beside those that were taken (pollux/<model>/validation-<batch>.csv: whole trainings whose rate followed AdaScale).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <optional>

#include "simulator/learning_rate/large_batch.hpp"
#include "simulator/stats/summary.hpp"
#include "tests/validation/data.hpp"

namespace {

using namespace ddpprof::learning_rate;

struct Evaluation {
  double steps = 0.0, metric = 0.0, gradient_sqr = 0.0, trace = 0.0;
};
using Training = std::vector<Evaluation>;

std::map<double, Training> trainings_of(const std::filesystem::path& folder) {
  std::map<double, Training> trainings;
  const std::string begins = "validation-";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().stem().string();
    if (!name.starts_with(begins)) continue;
    Training& training = trainings[std::stod(name.substr(begins.size()))];
    for (const auto& row : ddpprof::validation::read_csv(entry.path()))
      training.push_back({std::stod(row.at(1)), std::stod(row.at(2)), std::stod(row.at(3)), std::stod(row.at(4))});
  }
  return trainings;
}

// The evaluation that first reached the target; nothing where none did.
std::optional<std::size_t> reached(const Training& training, double target) {
  const auto first =
      std::find_if(training.begin(), training.end(), [&](const Evaluation& one) { return one.metric >= target; });
  if (first == training.end()) return std::nullopt;
  return static_cast<std::size_t>(first - training.begin());
}

// A part of a training during which the noise scale is constant.
struct Stretch {
  double base_steps = 0.0;  // of this part, at the base batch
  double noise_scale_samples = 0.0;
};

// The training up to an evaluation, `share` times its noise scale for the critical batch. grad_var is a base batch's.
std::vector<Stretch> stretches(const Training& training, std::size_t last, double base_batch, double share) {
  std::vector<Stretch> all;
  double before = 0.0;
  for (std::size_t i = 0; i <= last; ++i) {
    const Evaluation& one = training[i];
    all.push_back({one.steps - before, share * one.trace * base_batch / one.gradient_sqr});
    before = one.steps;
  }
  return all;
}

// Returns the steps of the whole training at another batch: the sum over its stretches.
double total_steps(const std::vector<Stretch>& training, double base_batch, double batch) {
  double steps = 0.0;
  for (const Stretch& stretch : training)
    if (stretch.base_steps != 0.0)
      steps += steps_at_batch(stretch.base_steps, stretch.noise_scale_samples, base_batch, batch);
  return steps;
}

}  // namespace

int main() {
  const auto folder = ddpprof::validation::data_folder("pollux");
  if (!folder) return ddpprof::validation::skipped;
  // The evaluations are an epoch of the base batch apart, and the metric's own noise moves the first that reaches it.
  constexpr double slack = 1.1;
  constexpr double least_covered = 0.8, most_median = 0.15;
  std::cout << fmt::format(
      "Steps to a share of the metric that every batch reached. Critical batch: {:.0f} to {:.0f} times the recorded "
      "noise "
      "scale, middle {:.2f}. Within: the steps taken lie between those predictions; nearly: at most {:.0f} % "
      "outside.\n\n"
      "| model | target | batch | base batches | taken | predicted | middle off by | within |\n"
      "|---|---|---|---|---|---|---|---|\n",
      least_critical_share, most_critical_share, middle_critical_share, 100 * (slack - 1));
  ddpprof::validation::Coverage coverage;
  std::int64_t strict = 0;
  std::vector<double> errors, noise_alone;
  for (const char* model : {"bert", "cifar10", "imagenet"}) {
    const std::map<double, Training> trainings = trainings_of(*folder / model);
    const auto& [base_batch, base] = *trainings.begin();
    double shared = INFINITY;
    for (const auto& [batch, training] : trainings) {
      const auto best = std::ranges::max_element(training, {}, &Evaluation::metric);
      shared = std::min(shared, best->metric);
    }
    for (const double share : {0.9, 0.97, 1.0}) {
      const auto at_base = reached(base, share * shared);
      for (const auto& [batch, training] : trainings) {
        const auto at = reached(training, share * shared);
        if (batch == base_batch || !at || !at_base) continue;
        const double taken = training[*at].steps;
        const auto predicted = [&, base_batch = base_batch, batch = batch, &base = base](double critical_share) {
          return total_steps(stretches(base, *at_base, base_batch, critical_share), base_batch, batch);
        };
        const double few = predicted(most_critical_share), middle = predicted(middle_critical_share),
                     many = predicted(least_critical_share);
        const bool strictly = few <= taken && taken <= many;
        const bool within = few / slack <= taken && taken <= many * slack;
        strict += strictly;
        coverage.covered += within;
        ++coverage.asked;
        errors.push_back(std::abs(middle / taken - 1.0));
        noise_alone.push_back(std::abs(many / taken - 1.0));
        std::cout << fmt::format("| {} | {:.0f} % | {:.0f} | {:.0f} | {:.0f} | {:.0f} to {:.0f} | {:+.0f} % | {} |\n",
                                 model, 100 * share, batch, batch / base_batch, taken, few, many,
                                 100 * (middle / taken - 1.0),
                                 strictly ? "yes"
                                 : within ? "nearly"
                                          : "no");
      }
    }
  }
  using ddpprof::stats::median;
  std::cout << fmt::format(
      "| together | | {} trainings' targets | | | | median {:.0f} %, with the noise scale alone {:.0f} "
      "% | {} within, {} more nearly |\n",
      errors.size(), 100 * median(errors), 100 * median(noise_alone), strict, coverage.covered - strict);
  const bool good = coverage.asked >= 40 && coverage.share() >= least_covered && median(errors) <= most_median;
  if (!good) std::cout << "\nworse than accepted\n";
  return good ? 0 : 1;
}
