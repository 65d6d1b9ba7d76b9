#include "simulator/learning_rate/decay.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

namespace ddpprof::learning_rate {
namespace {

[[noreturn]] void refuse(const std::string& field, double value, const char* expected) {
  throw std::invalid_argument("decay: " + field + " is " + std::to_string(value) + ", expected " + expected);
}

}  // namespace

const char* to_string(DecayKind kind) {
  switch (kind) {
    case DecayKind::constant:
      return "constant";
    case DecayKind::step:
      return "step";
    case DecayKind::cosine:
      return "cosine";
    case DecayKind::polynomial:
      return "polynomial";
  }
  return "?";
}

void check(const Decay& decay) {
  if (decay.kind == DecayKind::step) {
    double before = 0.0;
    for (const double epoch : decay.at_epochs) {
      if (!std::isfinite(epoch) || !(epoch >= 0.0)) refuse("an epoch of at_epochs", epoch, "0 or more");
      if (epoch < before) refuse("an epoch of at_epochs", epoch, "no less than the one before it");
      before = epoch;
    }
    if (!(decay.factor >= 0.0 && decay.factor <= 1.0)) refuse("factor", decay.factor, "0 to 1");
  }
  if (decay.kind == DecayKind::polynomial && (!(decay.power > 0.0) || !std::isfinite(decay.power)))
    refuse("power", decay.power, "more than 0");
  if (!(decay.least_share >= 0.0 && decay.least_share <= 1.0)) refuse("least_share", decay.least_share, "0 to 1");
}

double decay_factor(const Decay& decay, const Progress& at) {
  if (decay.kind == DecayKind::constant || at.step < at.warmup_steps) return 1.0;
  if (decay.kind == DecayKind::step) {
    double product = 1.0;
    for (const double epoch : decay.at_epochs)
      if (static_cast<double>(at.step) >= std::round(epoch * at.epoch_steps)) product *= decay.factor;
    return product;
  }
  const std::int64_t falling = at.total_steps - at.warmup_steps;
  const double p =
      falling > 0 ? std::min(1.0, static_cast<double>(at.step - at.warmup_steps) / static_cast<double>(falling)) : 1.0;
  const double shape =
      decay.kind == DecayKind::cosine ? 0.5 * (1.0 + std::cos(std::numbers::pi * p)) : std::pow(1.0 - p, decay.power);
  return decay.least_share + (1.0 - decay.least_share) * shape;
}

}  // namespace ddpprof::learning_rate
