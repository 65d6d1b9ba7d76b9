// Layerwise rates: what LARS and LAMB make of the global rate for one layer, from that layer's norms.
//
// LARS (You, Gitman, Ginsburg 2017, section 4): the layer's update is momentum over
//   rate * eta |w| / (|g| + lambda |w|) * (g + lambda w),
// so that a layer moves by at most eta times its own size, whatever the size of its gradient.
// LAMB (You et al. 2020, algorithm 2): Adam's step u = m_hat / (sqrt(v_hat) + epsilon) + lambda w, and
//   w -= rate * phi(|w|) / |u| * u, with phi(z) = min(max(z, gamma_low), gamma_high).
#pragma once

namespace ddpprof::learning_rate {

struct LarsSettings {
  double trust = 0.001;          // eta
  double weight_decay = 0.0005;  // lambda
};
// eta |w| / (|g| + lambda |w|). 1 where either norm is 0, so that a layer that begins at zero (a bias) can leave it.
// Norms are Euclidean, of one layer. Throws std::invalid_argument on a norm, trust or decay that is negative or not
// finite.
double lars_local_rate(double weight_norm, double gradient_norm, const LarsSettings&);

struct LambSettings {
  double least_norm = 0.0, most_norm = 10.0;  // gamma; the paper leaves them open, 10 is widely used
};
// phi(|w|) / |u|, where u has the weight decay in it. 1 where |w| or |u| is 0. Throws as lars_local_rate, and where the
// bounds are the wrong way round.
double lamb_trust_ratio(double weight_norm, double update_norm, const LambSettings&);

}  // namespace ddpprof::learning_rate
