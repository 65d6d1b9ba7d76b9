#include "simulator/stats/outliers.hpp"

#include <algorithm>
#include <cmath>

#include "simulator/stats/summary.hpp"

namespace ddpprof::stats {
namespace {

constexpr std::size_t fewest_for_a_place = 4;

std::size_t runs_of(const std::vector<std::size_t>& indices) {
  std::size_t runs = indices.empty() ? 0 : 1;
  for (std::size_t i = 1; i < indices.size(); ++i) runs += indices[i] != indices[i - 1] + 1 ? 1 : 0;
  return runs;
}

// Equal distances within a tenth, over most of the series.
std::size_t period_of(const std::vector<std::size_t>& indices, std::size_t samples) {
  std::vector<double> gaps;
  for (std::size_t i = 1; i < indices.size(); ++i) gaps.push_back(static_cast<double>(indices[i] - indices[i - 1]));
  const double typical = median(gaps);
  const bool even = std::all_of(gaps.begin(), gaps.end(),
                                [&](double gap) { return std::abs(gap - typical) <= std::max(1.0, 0.1 * typical); });
  const bool wide = 2 * (indices.back() - indices.front()) > samples;
  return even && wide && typical >= 3.0 ? static_cast<std::size_t>(std::lround(typical)) : 0;
}

}  // namespace

Outliers find_outliers(std::span<const double> samples, double sigmas) {
  Outliers found;
  const double spread = mad_sigma(samples);
  found.limit = median(samples) + sigmas * spread;
  if (!(spread > 0.0)) return found;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples[i] > found.limit) found.indices.push_back(i);
  }
  if (found.indices.empty()) return found;
  found.place = Place::scattered;
  const std::size_t count = found.indices.size();
  if (count < fewest_for_a_place) return found;
  const auto share = [&](auto&& holds) {
    return static_cast<double>(std::count_if(found.indices.begin(), found.indices.end(), holds)) /
           static_cast<double>(count);
  };
  const std::size_t fifth = samples.size() / 5;
  if (share([&](std::size_t i) { return i < fifth; }) >= 0.8) {
    found.place = Place::beginning;
  } else if (share([&](std::size_t i) { return i >= samples.size() - fifth; }) >= 0.8) {
    found.place = Place::end;
  } else if (3 * runs_of(found.indices) <= count) {
    found.place = Place::together;
  } else if ((found.period = period_of(found.indices, samples.size())) > 0) {
    found.place = Place::periodic;
  }
  return found;
}

const char* to_string(Place place) {
  switch (place) {
    case Place::none:
      return "none";
    case Place::scattered:
      return "scattered";
    case Place::beginning:
      return "at the beginning";
    case Place::end:
      return "at the end";
    case Place::together:
      return "in runs";
    case Place::periodic:
      return "periodic";
  }
  return "unknown";
}

}  // namespace ddpprof::stats
