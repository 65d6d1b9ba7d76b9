#include "analysis/fit/table/growth.hpp"

#include <algorithm>
#include <cmath>

namespace ddpprof::fit {
namespace {

// Quantile of Student's t with 4 degrees of freedom, in closed form (Shaw 2006, "Sampling Student's T distribution").
double student4_quantile(double probability) {
  const double a = 4.0 * probability * (1.0 - probability), root = std::sqrt(a);
  const double q = std::cos(std::acos(root) / 3.0) / root;
  return std::copysign(2.0 * std::sqrt(std::max(0.0, q - 1.0)), probability - 0.5);
}

double mean_of(const GrowthQuestion& question, const GrowthConstants& constants) {
  switch (question.region) {
    case Region::one_node:
      return question.doublings *
             (constants.inside + constants.inside_loss * std::min(question.loss, hidden_loss_limit));
    case Region::several_nodes:
      return question.doublings *
             (constants.between + constants.between_loss * std::max(0.0, question.loss - hidden_loss_limit));
    case Region::fewer_ranks:
      return question.doublings > 0.0 ? -(constants.fewer + constants.fewer_doubling * question.doublings) : 0.0;
    case Region::interpolated:
      return 0.0;
    case Region::first_crossing:
      break;
  }
  return constants.crossing + constants.crossing_doubling * question.doublings;
}

const GrowthSpread& spread_of(const GrowthQuestion& question, const GrowthConstants& constants) {
  if (question.other_batch) return constants.other_batch;
  switch (question.region) {
    case Region::one_node:
      return constants.one_node;
    case Region::several_nodes:
      return constants.several_nodes;
    case Region::fewer_ranks:
      return constants.fewer_ranks;
    case Region::interpolated:
      return constants.interpolated;
    case Region::first_crossing:
      break;
  }
  return constants.first_crossing;
}

}  // namespace

double interval_ratio(double confidence) { return student4_quantile(0.5 + confidence / 2.0) / student4_quantile(0.95); }

Growth growth_of(const GrowthQuestion& question, const GrowthConstants& constants, double confidence) {
  const GrowthSpread& spread = spread_of(question, constants);
  const double loss = spread.loss_weight * question.loss;
  const double scale = interval_ratio(confidence) * std::sqrt(1.0 + question.doublings * (1.0 + loss * loss));
  const double mean = mean_of(question, constants);
  return {mean, mean - spread.low * scale, mean + spread.high * scale};
}

}  // namespace ddpprof::fit
