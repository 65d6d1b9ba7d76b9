// How much measured step times of a table differ by chance: from equal rows, and from rows that leave a smooth curve.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace ddpprof::fit {

// Equal rows of which one takes this many times as long as another are no noise: a row is wrong or of another job.
inline constexpr double most_noise_ratio = 1.8;

// Standard deviations to the ends of the normal distribution's 90 % interval.
inline constexpr double normal_90 = 1.645;

struct RowNoise {
  double sd = 0.0;       // standard deviation of ln(step) of one measurement
  double freedom = 0.0;  // degrees of freedom of the rows that determine it
};

// Times of equal rows, one list for each set of them. The median difference counts, so that one slow measurement among
// many, as a first one often is, does not.
RowNoise noise_of_repeats(const std::vector<std::vector<double>>& equal);

// Times of full nodes with the same number of ranks each: one (0: not measured), two, and the fewest beyond two.
struct StepsAcrossTwoNodes {
  double one_node_s = 0.0, two_nodes_s = 0.0, more_s = 0.0;
};

// Times by N of rows that differ in N alone, on links of one kind. As N grows, a step becomes longer, and evenly so:
//  - It becomes shorter by chance only. The difference of two errors is negative in half of the cases, with a mean
//    square of the variance of one.
//  - It bends by chance only to one side at one N and to the other side at the next. Of three neighbours, the middle one
//    is off the line through the others in log2 N. If two neighbours are off to different sides, the smaller of both
//    counts. A knee bends once, and a ring that saturates bends to one side.
//  - Two nodes may be slow as such, but no node is faster with others than alone. So two nodes are faster than one by
//    chance, and more nodes are faster than two by chance if they are also faster than one.
RowNoise noise_of_curves(const std::vector<std::map<std::int64_t, double>>& curves,
                         const std::vector<StepsAcrossTwoNodes>& across = {});

// Returns the standard deviation that gives a normal distribution's 90 % interval the width of Student's t, for a
// variance that few comparisons determine.
double widened(const RowNoise&);

}  // namespace ddpprof::fit
