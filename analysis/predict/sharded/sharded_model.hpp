// The step of a sharded training (FSDP) at any number of ranks, as measured or with a change.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/fit/sharded/sharded_job.hpp"
#include "analysis/predict/sharded/fitted_ring.hpp"
#include "analysis/predict/sharded/logged_collective.hpp"
#include "analysis/predict/step_model/options.hpp"
#include "analysis/predict/step_model/terms.hpp"
#include "simulator/strategy/sharded_step.hpp"

namespace SQLite {
class Database;
}

namespace ddpprof::fit {

// Costs that were measured elsewhere; none: not given.
struct ShardedLogs {
  std::optional<LoggedCollective> gathers, scatters;
};

// Returns the ranks of a shard group of `workers` ranks. If the shards of the base have replicas (HSDP), the groups
// keep their size, and further ranks are further replicas.
std::int64_t shards_at(const ShardedRanks& base, std::int64_t workers, const WhatIf&);

// Predicts steps whose collectives stay inside of one host, or steps whose collectives cross hosts, from measurements
// of the same kind, or of the other kind with logs of the links.
class ShardedModel {
 public:
  // Refers to the job. `other` is the model of the other kind, if it was made before.
  ShardedModel(SQLite::Database&, const ShardedJob&, bool between_hosts, const ShardedLogs&, const ShardedModel* other);

  // The measurement whose compute is used, the largest N of which each rank had cores of its own; null without
  // measurements. All functions below need it.
  const ShardedRanks* base() const { return base_; }
  bool has_collectives() const { return base_ && base_->workers > 1 && job_.has_threads(base_->threads); }
  // Returns why the base does not show the steps of other N, or of this N; empty if it does.
  std::string refusal() const;
  std::string refusal_at(std::int64_t workers) const;
  // Returns how the interval covers what the measurements do not show; empty if they show all.
  std::string uncertainty() const;
  // Returns why a change cannot be predicted at any N, or at this N; empty if it can.
  std::string change_refusal(const WhatIf&) const;
  std::string change_refusal_at(std::int64_t workers, const WhatIf&) const;

  // Returns the measured median step, split by the medians of its parts.
  static Terms recorded(const ShardedRanks&);
  Terms modelled(std::int64_t workers, const ShardedDraw& = {}, const WhatIf& = {}) const;
  std::vector<ShardedDraw> draws(std::int64_t workers, const PredictOptions&) const;
  // Returns the fitted costs of the base's all-gathers and reduce-scatters.
  const RingCost& gather_cost() const { return gather_.cost; }
  const RingCost& scatter_cost() const { return scatter_.cost; }
  // Returns the simulated step behind modelled(), without the optimizer.
  strategy::ShardedStep simulated(std::int64_t workers) const { return step_at(workers, {}, {}); }

 private:
  void set_link();
  bool scatters_in_each_micro_batch() const;
  strategy::ShardedStep step_at(std::int64_t workers, const ShardedDraw&, const WhatIf&) const;
  double exposed_s(const strategy::ShardedStep&, const ShardedDraw&, const WhatIf&) const;
  double gather_s(const RankGroup&, double bytes, const ShardedDraw&, const WhatIf&) const;
  double scatter_s(const RankGroup&, double bytes, const ShardedDraw&, const WhatIf&) const;
  double all_reduce_s(const UnitTimes&, const RankGroup&, double bytes, const ShardedDraw&, const WhatIf&) const;
  double replicas_s(const UnitTimes&, const RankGroup&, double bytes, const ShardedDraw&, const WhatIf&) const;
  std::string refusal_of_links(std::int64_t workers, const WhatIf&) const;
  void compare_with_logs();
  double spread(const RingCost&, const std::optional<LoggedCollective>&, std::int64_t workers) const;
  double latency_s(std::int64_t workers, const ShardedDraw&, const WhatIf&) const;
  std::pair<double, double> fixed_part_of_optimizer() const;
  bool optimizer_uncertain() const;

  const ShardedJob& job_;
  std::vector<const ShardedRanks*> measured_;  // by N
  const ShardedRanks* base_ = nullptr;
  FittedRing gather_, scatter_, replicas_;
  ShardedLogs logs_;
  bool links_measured_ = false;       // the base's collectives are of this kind
  double extra_exposed_share_ = 0.0;  // of communication: measured minus simulated exposed time of the base
  bool exposed_separated_ = true;     // false: all exposed time of the base may be waiting for slower ranks
  // The smallest and the largest part of the optimizer's time that may not shrink with the shard; equal: known.
  std::pair<double, double> optimizer_fixed_{0.0, 1.0};
};

// Returns the most ranks of the predicted job on one host; the largest integer if all ranks are on one host. Requires a
// measurement in the job.
std::int64_t most_ranks_per_host(const ShardedJob&, const PredictOptions&);

// The models of both kinds, and the one for each N.
class ShardedModels {
 public:
  // The job must have a measurement. Throws NotSupported if the logs of the options cannot be fitted.
  ShardedModels(SQLite::Database&, ShardedJob, const PredictOptions&);
  ShardedModels(const ShardedModels&) = delete;
  ShardedModels& operator=(const ShardedModels&) = delete;

  const ShardedJob& job() const { return job_; }
  // Returns the measurement of N on the asked number of hosts; null: not measured.
  const ShardedRanks* measured_at(std::int64_t workers, const PredictOptions&) const;
  // Returns the model of the measurement of N, or of the links that N ranks use.
  const ShardedModel& model(std::int64_t workers, const PredictOptions&) const;
  // Returns why N cannot be predicted; empty if it can.
  std::string refusal(std::int64_t workers, const PredictOptions&) const;
  // Returns true if the links of N ranks, inside of one host or between hosts, were neither measured nor logged, but
  // the links of the other kind were.
  bool links_missing(std::int64_t workers, const PredictOptions& options) const {
    return !measured_at(workers, options) && !model(workers, options).has_collectives() &&
           (inside_.has_collectives() || between_.has_collectives());
  }
  // Returns true if collectives between hosts were measured or logged.
  bool between_known() const { return between_.has_collectives(); }
  std::int64_t hosts(std::int64_t workers, const PredictOptions&) const;
  // How sharded ranks share cores is not modelled. Returns true if a prediction assumes own cores for each rank although
  // the ranks need more cores than a host has.
  bool assumes_own_cores(std::int64_t workers, const PredictOptions&) const;

 private:
  ShardedLogs logs(const PredictOptions&) const;
  std::int64_t ranks_per_host(std::int64_t workers, const PredictOptions&) const;

  ShardedJob job_;
  ShardedModel inside_, between_;
};

}  // namespace ddpprof::fit
