// The model behind a trace: parameters, DDP's buckets and when each gradient was ready, as far as the trace tells.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/import/trace/collectives.hpp"
#include "analysis/import/trace/training.hpp"
#include "analysis/import/trace/training_steps.hpp"

namespace ddpprof::import {

// From a moment of the host's to the time that counts: the device's where there is one.
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
  std::vector<Note> notes;
};

// Parameters by autograd's accumulations where their shapes were recorded; otherwise one stands for each bucket.
// `steps` are those that were kept.
ModelFacts model_of(const RankTrace&, const std::vector<const HostStep*>& steps, const std::vector<Collective>&,
                    const TrainingOptions&, const Moments&);

}  // namespace ddpprof::import
