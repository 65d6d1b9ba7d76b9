#include "simulator/learning_rate/layerwise.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace ddpprof::learning_rate {
namespace {

void not_negative(double value, const char* name) {
  if (!(value >= 0.0) || !std::isfinite(value))
    throw std::invalid_argument("layerwise rate: " + std::string(name) + " is " + std::to_string(value) +
                                ", expected 0 or more");
}

}  // namespace

double lars_local_rate(double weight_norm, double gradient_norm, const LarsSettings& settings) {
  not_negative(weight_norm, "the weights' norm");
  not_negative(gradient_norm, "the gradient's norm");
  not_negative(settings.trust, "the trust coefficient");
  not_negative(settings.weight_decay, "the weight decay");
  if (weight_norm == 0.0 || gradient_norm == 0.0) return 1.0;
  return settings.trust * weight_norm / (gradient_norm + settings.weight_decay * weight_norm);
}

double lamb_trust_ratio(double weight_norm, double update_norm, const LambSettings& settings) {
  not_negative(weight_norm, "the weights' norm");
  not_negative(update_norm, "the update's norm");
  not_negative(settings.least_norm, "the norm's lower bound");
  not_negative(settings.most_norm, "the norm's upper bound");
  if (settings.least_norm > settings.most_norm)
    throw std::invalid_argument("layerwise rate: the norm's lower bound " + std::to_string(settings.least_norm) +
                                " is above its upper bound " + std::to_string(settings.most_norm));
  if (weight_norm == 0.0 || update_norm == 0.0) return 1.0;
  return std::clamp(weight_norm, settings.least_norm, settings.most_norm) / update_norm;
}

}  // namespace ddpprof::learning_rate
