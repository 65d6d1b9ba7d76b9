// A physical model of a step on several nodes, fitted to a table with many placements and batches.
//
//   step  = (a - w) C' + ((w C')^g + K^g)^(1/g)     w: the backward's share, which communication hides behind; a:
//                                                     micro-batches, of which all but the last exchange nothing
//   C'    = C(batch) (1 + s Blom(N)) (1 + h (d - 1)/d)   the slowest of N ranks, d devices that share a node
//   K     = K1 (N-1)/N                                on one node
//           k (N/M)^q up to M, k (N/M)^r beyond M     on three nodes and more; M: 8, or the largest N if it is less
//           the same · exp(f + f' [d > 1])            on two nodes, which collective libraries treat specially
//
// C is the measured time of one rank for a micro-batch, and beyond the measured batches the law that was fitted to them
// (batch_fit.hpp). Without rows of one rank, or with only one of several batches at one rank, C is a line in the batch.
// Only rows beyond M show r. It is small if k is long, since bytes per rank hardly grow, and large if k is short, since
// the number of hops grows with N: its prior is a line in ln k. That prior and those of q and f were learned from other
// models with M = 8 (learned.hpp). r is between 0 and 0.8. Blom's expected maximum of N is that of stats/normal.hpp.
// Times are seconds.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analysis/fit/least_squares.hpp"
#include "analysis/fit/table/alone.hpp"
#include "analysis/fit/table/step_row.hpp"

namespace ddpprof::fit {

inline constexpr std::int64_t early_ranks = 8;  // M: up to it communication grows by q

class PlacementModel {
 public:
  // Throws NotSupported if the fit does not converge.
  PlacementModel(std::vector<StepRow> rows, std::shared_ptr<const Alone> alone, const TableOptions&);

  TablePrediction predict(const StepRow& asked) const;
  // Returns a sentence if the model is far from a measured row; empty if it describes all of them.
  std::string doubt() const;

  struct Fitted {  // what other tables use as priors: k, q, r, f, f'
    double carried_s = 0.0, early_growth = 0.0, late_growth = 0.0, two_nodes = 0.0, two_nodes_shared = 0.0;
  };
  Fitted fitted() const;

  // Returns true if the rows determine such a model: two batches or more, and three placements or more on several
  // nodes.
  static bool fits(const std::vector<StepRow>& rows);

 private:
  double compute_s(std::int64_t batch, std::span<const double> values) const;
  Problem problem() const;
  double late_growth(std::span<const double> values) const;
  double outside_models(double carried_s) const;
  bool only_two_nodes(bool several_ranks) const;

  std::shared_ptr<const Alone> alone_;
  TableOptions options_;
  std::vector<StepRow> rows_;
  double anchor_ = 1.0;       // M
  std::int64_t largest_ = 1;  // N
  bool one_node_measured_ = false;  // with several ranks
  Problem problem_;
  Solution solution_;
  std::vector<std::vector<double>> draws_;  // of the parameters' values
  std::vector<double> scatter_;             // of the rows about the fit, in the logarithm
};

}  // namespace ddpprof::fit
