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
  double exposed = 1.0, extra_exposed = 1.0;  // of the simulated exposed time, of its difference to the measured one
  double changed_exposed = 1.0;               // of exposed communication under a change
  double gather_latency = 0.0, scatter_latency = 0.0;  // of the collectives' latency, in standard deviations
  double fixed_hops = usual_fixed_hops;  // in a call's latency, if one N was measured
  double excess = 0.5;  // the part of a collective's excess over the link's time that other N have, too
  std::optional<double> optimizer_fixed;               // the part of the optimizer that does not shrink with the shard
};

// A collective's fitted cost. All calls of the base's step take their measured time.
struct FittedRing {
  RingCost cost;
  RingCalls calls;  // of the base
  // Both collectives use the same links, so the time per byte of the faster one is that of the link. The other one's
  // excess, for example of messages that wait for each other, may depend on N.
  double link_s_per_byte = 0.0;

  // Returns the cost at this N, with a latency that differs by z standard deviations.
  RingCost drawn(std::int64_t workers, double z, const ShardedDraw&) const;
};

// Predicts steps whose collectives stay inside of one host, or steps whose collectives cross hosts, from measurements
// of the same kind.
class ShardedModel {
 public:
  // Refers to the job.
  ShardedModel(SQLite::Database&, const ShardedJob&, bool between_hosts);

  // The measurement whose compute is used, the largest N of which each rank had cores of its own; null without
  // measurements. All functions below need it.
  const ShardedRanks* base() const { return base_; }
  bool has_collectives() const { return base_ && base_->workers > 1; }
  // Returns why the base does not show the steps of other N; empty if it does.
  std::string refusal() const;
  // Returns how the interval covers what the measurements do not show; empty if they show all.
  std::string uncertainty() const;
  // Returns why a change cannot be predicted at any N, or at this N; empty if it can.
  std::string change_refusal(const WhatIf&) const;
  std::string change_refusal_at(std::int64_t workers, const WhatIf&) const;

  // Returns the measured median step, split by the medians of its parts.
  static Terms recorded(const ShardedRanks&);
  Terms modelled(std::int64_t workers, const ShardedDraw& = {}, const WhatIf& = {}) const;
  std::vector<ShardedDraw> draws(std::int64_t workers, const PredictOptions&) const;

 private:
  void set_link();
  FittedRing fitted_ring(const std::vector<UnitCollectiveTime>&, UnitCollectives UnitTimes::*kind) const;
  bool scatters_in_each_micro_batch() const;
  strategy::ShardedStep step_at(std::int64_t workers, const ShardedDraw&, const WhatIf&) const;
  double exposed_s(const strategy::ShardedStep&, const ShardedDraw&, const WhatIf&) const;
  double gather_s(std::int64_t workers, double bytes, const ShardedDraw&, const WhatIf&) const;
  double scatter_s(std::int64_t workers, double bytes, const ShardedDraw&, const WhatIf&) const;
  double all_reduce_s(const UnitTimes&, std::int64_t workers, double bytes, const ShardedDraw&, const WhatIf&) const;
  double latency_s(std::int64_t workers, const ShardedDraw&, const WhatIf&) const;
  std::optional<double> fixed_part_of_optimizer() const;

  const ShardedJob& job_;
  std::vector<const ShardedRanks*> measured_;  // by N
  const ShardedRanks* base_ = nullptr;
  FittedRing gather_, scatter_;
  double extra_exposed_share_ = 0.0;  // of communication: measured minus simulated exposed time of the base
  bool exposed_separated_ = true;     // false: all exposed time of the base may be waiting for slower ranks
  std::optional<double> optimizer_fixed_;
};

// The models of both kinds, and the one for each N.
class ShardedModels {
 public:
  // The job must have a measurement.
  ShardedModels(SQLite::Database&, ShardedJob);
  ShardedModels(const ShardedModels&) = delete;
  ShardedModels& operator=(const ShardedModels&) = delete;

  const ShardedJob& job() const { return job_; }
  // Returns the measurement of N on the asked number of hosts; null: not measured.
  const ShardedRanks* measured_at(std::int64_t workers, const PredictOptions&) const;
  // Returns the model of the measurement of N, or of the links that N ranks use.
  const ShardedModel& model(std::int64_t workers, const PredictOptions&) const;
  // Returns why N cannot be predicted; empty if it can.
  std::string refusal(std::int64_t workers, const PredictOptions&) const;

 private:
  std::int64_t ranks_per_host(std::int64_t workers, const PredictOptions&) const;
  std::int64_t hosts(std::int64_t workers, const PredictOptions&) const;

  ShardedJob job_;
  ShardedModel inside_, between_;
};

// Returns the name of the largest of a step's terms: compute, latency, bandwidth or skew.
std::string bound_of(const Terms&);

}  // namespace ddpprof::fit
