// The job that a prediction starts from: one strategy's measured profiles, the models fitted to them, and the machine
// that the options ask about.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "analysis/fit/models.hpp"
#include "analysis/predict/step_model/options.hpp"

namespace ddpprof::fit {

// A value type; copies share the models.
class MeasuredJob {
 public:
  MeasuredJob(std::shared_ptr<const Models>, std::string strategy, const PredictOptions&);

  const Models& models() const { return *models_; }
  const std::string& strategy() const { return strategy_; }
  bool is_ddp() const { return strategy_ == "ddp"; }
  const PredictOptions& options() const { return options_; }
  // Returns options.dedicated as the caller set it. options().dedicated is always false for DataParallel.
  bool asked_dedicated() const { return asked_dedicated_; }

  const std::map<std::int64_t, StepProfile>& profiles() const;  // by N
  const ComputeFit& compute() const;
  std::int64_t largest_measured() const;  // N; needs a profile
  Machine machine_for(std::int64_t workers) const;
  // Returns the number of nodes whose links the ranks of this machine use. More ranks than one host has for certain are
  // on hosts of the log of all-reduces, unless the ranks of a host are stated.
  std::int64_t linked_nodes(const Machine&) const;
  // Returns the profile measured on this machine, or nullptr.
  const StepProfile* measured_on(const Machine&) const;
  // Returns true if this profile was measured on this machine.
  bool ran_on(const StepProfile&, const Machine&) const;
  // Returns true if the machine has several nodes, and neither a step nor a benchmark nor a log of all-reduces used
  // links between such nodes. Dedicated cores are a question about cores: its links are those that were measured.
  bool needs_unmeasured_links(const Machine&) const;
  // Returns true if the machine is one node of GPUs, and all measured all-reduces are of links between nodes.
  bool needs_unmeasured_inside_links(const Machine&) const;
  // Returns the profile with the nearest number of ranks per host. Ties go to the nearest N.
  const StepProfile& nearest(const Machine&) const;

 private:
  std::shared_ptr<const Models> models_;
  std::string strategy_;
  PredictOptions options_;
  bool asked_dedicated_ = false;
};

}  // namespace ddpprof::fit
