// The step of a sharded training (FSDP) at any number of ranks, as measured or with a change.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/fit/sharded/ring_fit.hpp"
#include "analysis/fit/sharded/sharded_job.hpp"
#include "analysis/predict/step_model/options.hpp"
#include "analysis/predict/step_model/terms.hpp"
#include "simulator/strategy/sharded_step.hpp"

namespace SQLite {
class Database;
}

namespace ddpprof::fit {

// What is not known exactly. The defaults are the best estimate.
struct ShardedDraw {
  double level = 1.0;                    // of compute
  double gathers = 1.0, scatters = 1.0;  // of the collectives' cost
  double wait = 1.0;
  double changed_exposed = 1.0;           // of exposed communication under a change
  double overlap = 1.0;                   // part of DDP's all-reduces on a CPU that runs beside compute as on a GPU
  std::optional<double> optimizer_fixed;  // the part of the optimizer that does not shrink with the shard
};

class ShardedModel {
 public:
  // The job must have a measurement.
  ShardedModel(SQLite::Database&, ShardedJob);

  const ShardedJob& job() const { return job_; }
  // The largest N of which each rank had cores of its own: predictions start from its compute.
  const ShardedRanks& base() const { return base_; }
  // Null if N was not measured.
  const ShardedRanks* measured_at(std::int64_t workers) const;
  // Returns why N cannot be predicted; empty if it can.
  std::string refusal(std::int64_t workers, const PredictOptions&) const;
  // Returns why a change cannot be predicted at any N, or at this N; empty if it can.
  std::string change_refusal(const WhatIf&) const;
  std::string change_refusal_at(std::int64_t workers, const WhatIf&) const;

  // Returns the measured median step, split by the medians of its parts.
  static Terms recorded(const ShardedRanks&);
  Terms modelled(std::int64_t workers, const ShardedDraw& = {}, const WhatIf& = {}) const;
  std::vector<ShardedDraw> draws(std::int64_t workers, const PredictOptions&) const;

 private:
  static const ShardedRanks& base_of(const ShardedJob&);
  std::int64_t ranks_per_host(std::int64_t workers, const PredictOptions&) const;
  strategy::ShardedStep step_at(std::int64_t workers, const ShardedDraw&, const WhatIf&) const;
  double exposed_s(const strategy::ShardedStep&, const ShardedDraw&, const WhatIf&) const;
  double gather_s(std::int64_t workers, double bytes, const ShardedDraw&, const WhatIf&) const;
  double scatter_s(std::int64_t workers, double bytes, const ShardedDraw&, const WhatIf&) const;
  double all_reduce_s(const UnitTimes&, std::int64_t workers, double bytes, const ShardedDraw&, const WhatIf&) const;
  double latency_s(std::int64_t workers, const ShardedDraw&, const WhatIf&) const;
  std::optional<double> fixed_part_of_optimizer() const;

  ShardedJob job_;
  const ShardedRanks& base_;
  RingCost gather_, scatter_;
  double exposed_factor_ = 1.0;  // measured / simulated exposed time of the base
  std::optional<double> optimizer_fixed_;
};

// Returns the name of the largest of a step's terms: compute, latency, bandwidth or skew.
std::string bound_of(const Terms&);

}  // namespace ddpprof::fit
