// A model of step times by ranks, nodes and batch, for predictions from a table without any trace.
//
// For measurements that come as a table: another cluster's, a paper's, a job's own log. One step is
//
//   step  = (a - w) C' + ((w C')^g + K^g)^(1/g)     w: the backward's share, which communication hides behind; a:
//                                                     micro-batches, of which all but the last exchange nothing
//   C'    = C(batch) (1 + s Blom(N)) (1 + h (d - 1))  the slowest of N ranks, d devices that share a node
//   K     = K1 (N-1)/N on one node, k(N) on three and more, f k(N) on two (collective libraries treat two specially)
//
// C is the measured time of one rank for a micro-batch, and beyond the measured batches the law that was fitted to them
// (batch_fit.hpp). Without rows of one rank, or with only one of several batches at one rank, C is a line in the batch.
// Blom's expected maximum of N is that of stats/normal.hpp. The growth of k with N is not known: a ring's bytes alone,
// or with a bandwidth that falls as more ranks share the network, or a latency by levels. These forms compete: each is
// fitted to the smaller N, judged on the larger ones, and weighted by that. Times are seconds.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "analysis/fit/least_squares.hpp"

namespace ddpprof::fit {

struct StepRow {
  std::int64_t workers = 1;
  std::int64_t nodes = 1;
  std::int64_t batch_per_worker = 1;
  double step_s = 0.0;
  std::int64_t devices_per_node = 0;  // on the fullest node; 0: workers over nodes, rounded up
  double sync_s = -1.0;               // part of the step: waiting for gradients and slower ranks; below 0: unknown
  std::int64_t accumulation = 1;      // micro-batches of batch_per_worker samples in a step

  std::int64_t devices() const { return devices_per_node > 0 ? devices_per_node : (workers + nodes - 1) / nodes; }
};

struct TableOptions {
  double confidence = 0.9;
  int draws = 400;
  std::uint64_t seed = 1;
};

struct TablePrediction {
  double step_s = 0.0;
  double low_s = 0.0, high_s = 0.0;  // range of one further measurement
  double compute_s = 0.0;            // C
  double skew_s = 0.0;               // the slowest of N beside one
  double sharing_s = 0.0;            // devices that share a node
  double communication_s = 0.0;      // K
  double exposed_s = 0.0;            // of K what the backward does not hide
  std::string bound;                 // the largest of compute, skew, sharing, communication
  std::string note;
};

struct TableForm {
  std::string name;
  double weight = 0.0;          // also 0 if the fit did not converge
  double held_out_error = 0.0;  // relative, root of the mean square with errors cut at 30 %; 0: not available
  Problem problem;
  Solution solution;
};

class Alone;      // alone.hpp
struct BatchFit;  // batch_fit.hpp

class StepTable {
 public:
  // Throws NotSupported if the rows do not support a fit: no rows, one number of ranks, a time that is not above 0, no
  // form that can be fitted.
  explicit StepTable(std::vector<StepRow> rows, const TableOptions& options = {});

  // `asked.step_s` is ignored. Throws NotSupported if the measured data do not support the question: several nodes if
  // one was measured, another batch if one batch was measured, a batch outside those of one worker if these contradict
  // each other.
  TablePrediction predict(const StepRow& asked) const;

  const std::vector<TableForm>& forms() const { return forms_; }
  const BatchFit& batch_law() const;  // of the rows of one worker

  ~StepTable();
  StepTable(StepTable&&) noexcept;

 private:
  Problem problem_for(std::size_t form, const std::vector<StepRow>& rows) const;
  void weigh();
  void check(const StepRow& asked) const;

  TableOptions options_;
  std::vector<StepRow> rows_;
  std::unique_ptr<Alone> alone_;
  std::set<std::int64_t> batches_;
  std::vector<TableForm> forms_;
  std::vector<double> scatter_;  // of the rows about the weighted fit, in the logarithm
  std::int64_t largest_ = 1, most_nodes_ = 1;
  bool judged_ = false;
};

}  // namespace ddpprof::fit
