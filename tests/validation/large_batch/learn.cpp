#include "tests/validation/large_batch/learn.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "simulator/stats/summary.hpp"

namespace ddpprof::validation {
namespace {

using learning_rate::BatchSamples;
using learning_rate::SamplesLaw;
using learning_rate::TargetConstants;

constexpr double confidence = 0.9;

double weighted_quantile(std::vector<std::pair<double, double>> values, double share) {
  std::ranges::sort(values);
  double total = 0.0, below = 0.0;
  for (const auto& [value, weight] : values) total += weight;
  for (const auto& [value, weight] : values)
    if ((below += weight) >= share * total) return value;
  return values.back().first;
}

}  // namespace

std::vector<BatchQuestion> questions_of(const std::vector<TrainingSeries>& all) {
  std::vector<BatchQuestion> questions;
  for (const TrainingSeries& series : all) {
    const std::vector<BatchSamples> samples = series.samples();
    const std::size_t first = questions.size();
    for (std::size_t given = 2; given < samples.size(); ++given)
      for (std::size_t asked = given; asked < samples.size(); ++asked) {
        BatchQuestion one;
        one.series = &series;
        one.given.assign(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(given));
        one.asked = samples[asked];
        one.largest = given + 1 == samples.size();
        questions.push_back(std::move(one));
      }
    for (std::size_t i = first; i < questions.size(); ++i)
      questions[i].weight = 1.0 / static_cast<double>(questions.size() - first);
  }
  return questions;
}

TargetLearner::TargetLearner(const std::vector<BatchQuestion>& questions) : questions_(&questions) {
  for (const BatchQuestion& one : questions)
    if (one.largest) series_[one.series->benchmark] += 1.0;
  for (const double scatter : {0.005, 0.01, 0.02, 0.03})
    for (const double drift : {0.03, 0.045, 0.06, 0.08, 0.1, 0.15}) {
      const std::size_t first = choices_.size();
      for (const double centre : {0.0, 0.5, 1.0, 1.5, 2.0})
        for (const double scale : {0.35, 0.5, 0.75, 1.0, 1.5})
          for (const double freedom : {2.0, 4.0}) choices_.push_back({centre, scale, scatter, drift, freedom, 1.0});
      likelihoods_.resize(choices_.size());
      for (const BatchQuestion& one : questions) {
        const SamplesLaw law(one.given, one.asked.batch, scatter, drift);
        const std::string& benchmark = one.series->benchmark;
        const double weight = one.weight / std::sqrt(series_[benchmark]);
        for (std::size_t i = first; i < choices_.size(); ++i)
          likelihoods_[i][benchmark] +=
              weight * std::log(std::max(1e-9, law.density(std::log(one.asked.samples), choices_[i])));
      }
    }
}

TargetConstants TargetLearner::likeliest(const std::string& left_out, const std::string& also_left_out) const {
  std::size_t best = 0;
  double most = -INFINITY;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    double sum = 0.0;
    for (const auto& [benchmark, likelihood] : likelihoods_[i])
      if (benchmark != left_out && benchmark != also_left_out) sum += likelihood;
    if (sum > most) most = sum, best = i;
  }
  return choices_[best];
}

TargetConstants TargetLearner::without(const std::string& left_out) const {
  TargetConstants constants = likeliest(left_out, "");
  std::vector<std::pair<double, double>> needed;  // widening that covers the answer, with its weight
  for (const BatchQuestion& one : *questions_) {
    const std::string& benchmark = one.series->benchmark;
    if (!one.largest || benchmark == left_out) continue;
    const TargetConstants others = likeliest(left_out, benchmark);
    const stats::Interval interval = samples_to_target(one.given, one.asked.batch, others, confidence);
    const double off = std::log(one.asked.samples / interval.mid);
    const double side = off > 0.0 ? std::log(interval.high / interval.mid) : std::log(interval.low / interval.mid);
    needed.emplace_back(off / side, 1.0 / std::sqrt(series_.at(benchmark)));
  }
  constants.widening = std::max(1.0, weighted_quantile(needed, confidence));
  return constants;
}

std::vector<RateSeries> rates_of(const std::vector<TrainingSeries>& all) {
  std::vector<RateSeries> found;
  for (const TrainingSeries& series : all) {
    std::vector<Training> known;
    for (const Training& one : series.trainings)
      if (one.rate > 0.0) known.push_back(one);
    if (known.size() < 3) continue;
    const Training &base = known.front(), &last = known.back();
    RateSeries one{series.benchmark, series.optimizer, series.name, last.batch / base.batch, 0.0, 0.0, 0.0};
    one.exponent = std::log(last.rate / base.rate) / std::log(one.batches);
    for (const Training& training : known) {
      const double kappa = training.batch / base.batch;
      if (training.rate >= 0.8 * kappa * base.rate) continue;
      one.linear_until = kappa;
      one.samples_there = training.samples / base.samples;
      break;
    }
    found.push_back(one);
  }
  return found;
}

bool is_sgd(const std::string& optimizer) { return optimizer == "sgd"; }
bool is_adaptive(const std::string& optimizer) { return optimizer.starts_with("ada"); }

std::vector<RateSeries> of_kind(const std::vector<RateSeries>& all, bool (*kind)(const std::string&)) {
  std::vector<RateSeries> found;
  std::ranges::copy_if(all, std::back_inserter(found), [&](const RateSeries& one) { return kind(one.optimizer); });
  return found;
}

double usual_exponent(const std::vector<RateSeries>& all) {
  std::map<std::string, std::vector<double>> exponents;
  for (const RateSeries& one : all) exponents[one.benchmark].push_back(one.exponent);
  std::vector<double> means;
  for (const auto& [benchmark, values] : exponents) means.push_back(stats::mean(values));
  return stats::median(means);
}

double left_out_exponent(const std::vector<RateSeries>& all, const RateSeries& of) {
  std::vector<RateSeries> others;
  for (const RateSeries& one : all)
    if (one.benchmark != of.benchmark) others.push_back(one);
  return others.empty() ? NAN : usual_exponent(others);
}

double mean_rate_error(const std::vector<RateSeries>& all,
                       const std::function<double(const RateSeries&)>& exponent_of) {
  std::map<std::string, std::vector<double>> errors;
  for (const RateSeries& one : all)
    errors[one.benchmark].push_back(std::abs(exponent_of(one) - one.exponent) * std::log(one.batches));
  std::vector<double> means;
  for (const auto& [benchmark, values] : errors) means.push_back(stats::mean(values));
  return stats::mean(means);
}

learning_rate::TunedExponents learn_exponents(const std::vector<RateSeries>& all, double published) {
  learning_rate::TunedExponents found{published, published, published};
  for (const RateSeries& one : all) {
    found.low = std::min(found.low, one.exponent);
    found.high = std::max(found.high, one.exponent);
  }
  const double learned = mean_rate_error(all, [&](const RateSeries& one) { return left_out_exponent(all, one); });
  const auto closer_than = [&](double rule) {
    return learned < mean_rate_error(
                         all, [rule](const RateSeries&) { return rule; });
  };
  if (closer_than(0.0) && closer_than(0.5) && closer_than(1.0)) found.mid = usual_exponent(all);
  return found;
}

}  // namespace ddpprof::validation
