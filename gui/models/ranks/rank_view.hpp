// What the Ranks page plots: a stack of parts for each rank, and a strip of all steps by rank. Without widgets.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/ranks.hpp"
#include "analysis/report/units.hpp"

namespace ddpprof::gui {

// By rank, over the measured steps. Parts are means, which add up to the mean step where medians do not.
struct RankBars {
  std::vector<std::int64_t> ranks;
  std::array<std::vector<double>, report::rank_part_count> parts_s;  // by RankPart, then as `ranks`
  std::vector<double> step_s;                                        // median
};
RankBars rank_bars(const report::RankTimes&);

enum class StripQuantity { step, compute, against_others, exposed, waiting, input, other };
inline constexpr std::array strip_quantities = {
    StripQuantity::step,    StripQuantity::compute, StripQuantity::against_others, StripQuantity::exposed,
    StripQuantity::waiting, StripQuantity::input,   StripQuantity::other};
const char* to_string(StripQuantity);

// One value for each rank and step: seconds, or a share for `against_others` (compute over the step's median rank − 1).
struct RankStrip {
  StripQuantity quantity = StripQuantity::step;
  std::vector<std::int64_t> ranks, steps;
  std::vector<std::string> kinds;  // of the steps
  std::vector<double> values;      // by rank, then step; NaN where the rank did not record it
  // Of each step: first begin and last end over the ranks, on rank 0's clock; a begin after the end where no rank's
  // clock is known.
  std::vector<std::int64_t> begin_ns, end_ns;
  report::Scale scale;           // to show the values in
  double low = 0.0, high = 0.0;  // what the colours span: of 100 cells or more the middle 98 %

  double at(std::size_t rank, std::size_t step) const { return values[rank * steps.size() + step]; }
  bool is_share() const { return quantity == StripQuantity::against_others; }
};
RankStrip rank_strip(const report::RankTimes&, StripQuantity, bool unmeasured_too);

// One rank's steps, with nothing of the others copied.
report::RankTimes steps_of(const report::RankTimes&, std::int64_t rank);

// "rank 2, step 17 (measured): compute 12.3 ms"
std::string cell_text(const RankStrip&, std::size_t rank, std::size_t step);

}  // namespace ddpprof::gui
