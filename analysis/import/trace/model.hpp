// Derives the model from a trace, as far as possible: parameters, DDP's buckets and when each gradient was ready.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/import/trace/collectives/collectives.hpp"
#include "analysis/import/trace/training.hpp"
#include "analysis/import/trace/training_steps.hpp"

namespace ddpprof::import {

// Converts a host time to the time used for the rank: the device's, if there is a device.
struct Moments {
  std::function<std::int64_t(std::int64_t moment_ns)> end;
};

struct ModelFacts {
  std::vector<ingest::ParameterFact> parameters;
  std::vector<ingest::MemberFact> members;
  std::vector<ingest::GradFact> gradients;
  std::vector<ingest::CollectiveFact> collectives;
  std::int64_t parameter_bytes = 0, parameter_count = 0;
  bool parameters_known = false;
  bool sizes_assumed = false;  // of messages, from other data of this rank
  std::vector<Note> notes;
};

// Uses autograd's accumulations as parameters if their shapes were recorded. Otherwise one parameter stands for each
// bucket. `steps` are the steps that were kept.
ModelFacts model_of(const RankTrace&, const std::vector<const HostStep*>& steps, const std::vector<Collective>&,
                    const TrainingOptions&, const Moments&);

}  // namespace ddpprof::import
