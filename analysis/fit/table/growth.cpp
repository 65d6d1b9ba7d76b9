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

const GrowthSpread& spread_of(Region region, const GrowthConstants& constants) {
  switch (region) {
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

GrowthSpread spread_of(const GrowthQuestion& question, const GrowthConstants& constants) {
  const GrowthSpread& own = spread_of(question.region, constants);
  if (!question.other_batch) return own;
  GrowthSpread spread = constants.other_batch;
  if (question.region == Region::first_crossing) {  // links that were not measured are unknown besides
    spread.low = std::hypot(spread.low, own.low);
    spread.high = std::hypot(spread.high, own.high);
  }
  return spread;
}

}  // namespace

double interval_ratio(double confidence) { return student4_quantile(0.5 + confidence / 2.0) / student4_quantile(0.95); }

Growth growth_of(const GrowthQuestion& question, const GrowthConstants& constants, double confidence) {
  const GrowthSpread spread = spread_of(question, constants);
  const double loss = spread.loss_weight * question.loss;
  const double ratio = interval_ratio(confidence);
  // Links that were not measured are as unknown for two nodes as for many.
  const double doublings = question.region == Region::first_crossing ? 0.0 : question.doublings;
  const double scale = ratio * std::sqrt(1.0 + doublings * (1.0 + loss * loss));
  const double mean = mean_of(question, constants);
  // Some jobs lose nothing more: their step is a further measurement of an equal one.
  return {mean, std::min(mean - spread.low * scale, -spread.low * ratio),
          std::max(mean + spread.high * scale, spread.high * ratio)};
}

}  // namespace ddpprof::fit
