// How much longer a step takes on a number of ranks that was not measured: a law learned from published scaling tables.
//
//   ln(step at N / step at L) = growth,  D = log2(N / L),  L: the largest measured number of ranks of the same kind
//
//   on one node          growth = D (inside + inside_loss min(E, 1/4))
//   on several nodes     growth = D (between + between_loss max(0, E - 1/4))
//   from one to several  growth = crossing + crossing_doubling D
//   fewer than measured  growth = -(fewer + fewer_doubling D), D = log2(L / N), L: the smallest measured one
//   between two measured ones: 0, to be added to an interpolation; D: doublings to the nearer one, E: what is lost
//                        from the smaller to the larger
//
// E is the share of the step at L that was lost since one rank (on one node) or since the most ranks of one node (on
// several). Physics gives the signs: a ring sends 2(N-1)/N of its bytes, which hardly grows, so on fast links little is
// added. If a quarter of the step or more is waiting for links between nodes, no compute hides it, and it grows with
// the number of hops. In the tables the last measured slope says almost nothing about the next one, so it is not used.
// learned.hpp has the constants; scripts/learn-step-tables computes them, and tests/validation judges them on families
// of models that they were not learned from.
#pragma once

namespace ddpprof::fit {

// A loss above it is not hidden behind compute.
inline constexpr double hidden_loss_limit = 0.25;

enum class Region { one_node, several_nodes, first_crossing, fewer_ranks, interpolated };

// The 90 % interval of ln(step): from mean - low s to mean + high s, with s = sqrt(1 + D + (loss_weight E)² D), and at
// least from -low to high, because some jobs lose nothing more. From one node to several s = 1: the links between nodes
// are as unknown for two nodes as for many.
struct GrowthSpread {
  double low = 0.0, high = 0.0;
  double loss_weight = 0.0;
};

struct GrowthConstants {
  double inside = 0.0, inside_loss = 0.0;
  double between = 0.0, between_loss = 0.0;
  double crossing = 0.0, crossing_doubling = 0.0;
  double fewer = 0.0, fewer_doubling = 0.0;
  GrowthSpread one_node, several_nodes, first_crossing, fewer_ranks, interpolated;
  // If the batch changes with N, so that the rows do not separate their effects: instead of the others, and beside that
  // of the first crossing.
  GrowthSpread other_batch;
};

struct GrowthQuestion {
  Region region = Region::one_node;
  double doublings = 0.0;    // D, at least 0; at 0 the step was measured
  double loss = 0.0;         // E
  bool other_batch = false;  // compute is a line through rows that differ in the batch and in N
};

struct Growth {
  double mean = 0.0, low = 0.0, high = 0.0;  // of ln(step at N / step at L)
};

// Returns the growth with an interval for one further measurement. `confidence` in (0, 1).
Growth growth_of(const GrowthQuestion&, const GrowthConstants&, double confidence);

// Returns the width of an interval of this confidence over that of the 90 % interval. The residuals of the tables have
// heavier tails than a normal distribution: Student's t with 4 degrees of freedom.
double interval_ratio(double confidence);

}  // namespace ddpprof::fit
