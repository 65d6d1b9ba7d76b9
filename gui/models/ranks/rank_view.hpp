// The data that the Ranks page plots, without widgets: a stack of parts for each rank, and a strip of all steps by
// rank.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/metrics/ranks/ranks.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::gui {

// One value for each rank, over the measured steps. The parts are means, because means add up to the mean step and
// medians do not.
struct RankBars {
  std::vector<std::int64_t> ranks;
  std::array<std::vector<double>, metrics::rank_part_count> parts_s;  // by RankPart, then as `ranks`
  std::vector<double> step_s;                                         // median
  bool waits_known = true;                                            // as in metrics::RankTimes
};
RankBars rank_bars(const metrics::RankTimes&);

enum class StripQuantity { step, compute, against_others, exposed, waiting, host, input, other };
inline constexpr std::array strip_quantities = {
    StripQuantity::step,    StripQuantity::compute, StripQuantity::against_others, StripQuantity::exposed,
    StripQuantity::waiting, StripQuantity::host,    StripQuantity::input,          StripQuantity::other};
const char* to_string(StripQuantity);

// One value for each rank and step, in seconds; for `against_others` a ratio: compute / the step's median over the
// ranks − 1.
struct RankStrip {
  StripQuantity quantity = StripQuantity::step;
  std::vector<std::int64_t> ranks, steps;
  std::vector<std::string> kinds;  // by step
  std::vector<double> values;      // by rank, then step; NaN if the rank did not record the step
  // By step: first begin and last end over the ranks, on rank 0's clock. If no rank's clock is aligned, begin > end.
  std::vector<std::int64_t> begin_ns, end_ns;
  units::Scale scale;            // unit for display
  double low = 0.0, high = 0.0;  // range of the colours: the middle 98 % if there are 100 cells or more, otherwise all

  double at(std::size_t rank, std::size_t step) const { return values[rank * steps.size() + step]; }
  bool is_share() const { return quantity == StripQuantity::against_others; }
};
RankStrip rank_strip(const metrics::RankTimes&, StripQuantity, bool unmeasured_too);

// How often which step time was measured, over all ranks. Bins have equal width.
struct StepHistogram {
  double low_s = 0.0, width_s = 0.0;  // begin of the first bin, width of a bin
  std::vector<std::int64_t> counts;   // by bin; the last one includes its upper end
  double median_s = 0.0, p95_s = 0.0;
  units::Scale scale;  // unit for display
};
// The width is that of Freedman and Diaconis, with at most 60 bins. Steps beyond the middle 98 % by more than its width
// are in the first or the last bin, so that one outlier does not hide the others. Without measured steps, no bins.
StepHistogram step_histogram(const metrics::RankTimes&);

// Returns the steps of one rank only.
metrics::RankTimes steps_of(const metrics::RankTimes&, std::int64_t rank);

// "rank 2, step 17 (measured): compute 12.3 ms"
std::string cell_text(const RankStrip&, std::size_t rank, std::size_t step);

}  // namespace ddpprof::gui
