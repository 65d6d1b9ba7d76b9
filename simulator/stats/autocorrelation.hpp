// The autocorrelation of a series, and its effective number of independent samples.
#pragma once

#include <span>

namespace ddpprof::stats {

// 1 + 2 (rho_1 + rho_2 + …): the number of samples that equal one independent sample, at least 1. rho_k is the
// correlation of samples k apart, with the estimator that divides by n (Box and Jenkins). The sum is cut by
// Geyer's (1992) initial monotone sequence: sums of neighbouring pairs rho_2k + rho_(2k+1), as long as they are
// positive and not larger than the sum before; at most 1000 lags are used. For an AR(1) process with coefficient phi it
// is (1 + phi) / (1 - phi). It is 1 for fewer than 4 samples. A series that alternates is not given more than its own
// number of samples.
double integrated_autocorrelation_time(std::span<const double> samples);

// Samples / integrated_autocorrelation_time.
double effective_sample_size(std::span<const double> samples);

// Effective size for the median: that of the series "is at most the median" (Vehtari et al. 2021, section 4.3, for
// quantiles). A few extreme samples do not change it.
double median_effective_size(std::span<const double> samples);

}  // namespace ddpprof::stats
