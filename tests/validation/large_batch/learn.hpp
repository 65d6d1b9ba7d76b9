// Learns the constants of predictions of samples to a target, and the exponents of tuned learning rates
// (simulator/learning_rate/learned_target.hpp).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "simulator/learning_rate/samples_to_target.hpp"
#include "simulator/learning_rate/tuned_rate.hpp"
#include "tests/validation/large_batch/trainings.hpp"

namespace ddpprof::validation {

// A question whose answer was measured: the first two or more batches of a series, and a later one.
struct BatchQuestion {
  const TrainingSeries* series = nullptr;
  std::vector<learning_rate::BatchSamples> given;
  learning_rate::BatchSamples asked;
  double weight = 1.0;   // a series has a weight of 1 in all
  bool largest = false;  // the largest batch, from all smaller ones

  double ratio() const { return asked.batch / given.back().batch; }
};

std::vector<BatchQuestion> questions_of(const std::vector<TrainingSeries>&);

// The constants that give the answers of the other benchmarks the largest likelihood, with a benchmark weighted by the
// square root of its number of series. Learning the likelihoods takes seconds; each call then takes little.
class TargetLearner {
 public:
  explicit TargetLearner(const std::vector<BatchQuestion>&);

  // Without the benchmark (""  leaves out none). The interval is widened so that nine tenths of the largest batches of
  // the others are covered, each with constants that were learned without its own benchmark.
  learning_rate::TargetConstants without(const std::string& benchmark) const;

 private:
  learning_rate::TargetConstants likeliest(const std::string& left_out, const std::string& also_left_out) const;

  const std::vector<BatchQuestion>* questions_;
  std::map<std::string, double> series_;  // their number, by benchmark
  std::vector<learning_rate::TargetConstants> choices_;
  std::vector<std::map<std::string, double>> likelihoods_;  // of each choice, by benchmark
};

// Exponent p of rate = base rate * (batch / base batch)^p over the whole series; series without rates have none.
struct RateSeries {
  std::string benchmark, optimizer, name;
  double batches = 1.0;   // largest batch over the smallest
  double exponent = 0.0;  // of the tuned rates at both
  double linear_until =
      0.0;  // the first batch over the smallest at which the rate is below 0.8 of the linear rule's; 0: none
  double samples_there = 0.0;  // samples at that batch over those at the smallest
};
std::vector<RateSeries> rates_of(const std::vector<TrainingSeries>&);

// Median of the benchmarks' exponents, a benchmark being the mean of its series. Benchmarks of one kind of optimizer.
double usual_exponent(const std::vector<RateSeries>&);
// Mean over the benchmarks of |ln(rate by the rule / tuned rate)| at the largest batch; `exponent_of` gives the rule's.
double mean_rate_error(const std::vector<RateSeries>&, const std::function<double(const RateSeries&)>& exponent_of);
// The usual exponent of all benchmarks but this one's.
double left_out_exponent(const std::vector<RateSeries>&, const RateSeries&);
// Exponents of all series of one kind. `mid` is the usual exponent if, learned without each benchmark, it has a smaller
// mean error there than no scaling, the square root and the linear rule; otherwise the published rule's.
learning_rate::TunedExponents learn_exponents(const std::vector<RateSeries>&, double published);
std::vector<RateSeries> of_kind(const std::vector<RateSeries>&, bool (*kind)(const std::string& optimizer));
// "sgd", or Adam and Adagrad; LARS and LAMB have rates for each layer and are neither.
bool is_sgd(const std::string& optimizer);
bool is_adaptive(const std::string& optimizer);

}  // namespace ddpprof::validation
