// One number for many samples: medians, quantiles, spread. interval.hpp has their confidence intervals.
//
// Every function copies what it must sort; none changes its input. An empty input throws std::invalid_argument.
#pragma once

#include <span>
#include <utility>

namespace ddpprof::stats {

double mean(std::span<const double> samples);
double median(std::span<const double> samples);

// Linear interpolation between order statistics (Hyndman and Fan's type 7); `probability` in [0, 1].
double quantile(std::span<const double> samples, double probability);
// Two of them, sorted half as much; low <= high.
std::pair<double, double> quantiles(std::span<const double> samples, double low, double high);

// Sample standard deviation (n - 1); 0 for one sample.
double standard_deviation(std::span<const double> samples);

// Median absolute deviation from the median. `mad_sigma` scales it by 1.4826 so that it estimates the standard
// deviation of normal data while a few wild samples leave it alone.
double mad(std::span<const double> samples);
double mad_sigma(std::span<const double> samples);

}  // namespace ddpprof::stats
