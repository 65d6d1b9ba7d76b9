#include "analysis/predict/step_model/measured_job.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ddpprof::fit {
namespace {

bool same_machine(const Machine& a, const Machine& b) {
  return a.workers == b.workers && a.ranks_per_machine() == b.ranks_per_machine() &&
         a.threads_per_rank == b.threads_per_rank;
}

}  // namespace

MeasuredJob::MeasuredJob(std::shared_ptr<const Models> models, std::string strategy, const PredictOptions& options)
    : models_(std::move(models)),
      strategy_(std::move(strategy)),
      options_(options),
      asked_dedicated_(options.dedicated) {
  // DataParallel's replicas are threads of one process, so a replica cannot have a host of its own.
  if (strategy_ == "dp") options_.dedicated = false;
}

const std::map<std::int64_t, StepProfile>& MeasuredJob::profiles() const {
  return is_ddp() ? models_->measured.ddp : models_->measured.dp;
}

const ComputeFit& MeasuredJob::compute() const { return is_ddp() ? models_->ddp_compute : models_->dp_compute; }

std::int64_t MeasuredJob::largest_measured() const { return profiles().rbegin()->first; }

Machine MeasuredJob::machine_for(std::int64_t workers) const {
  if (options_.dedicated) return compute().dedicated_machine(workers);
  // DataParallel is one process: its replicas are always on one host.
  return compute().machine_for(workers, strategy_ == "dp" ? workers : options_.gpus_per_node);
}

std::int64_t MeasuredJob::linked_nodes(const Machine& machine) const {
  const AllReduceFit& all_reduce = models_->all_reduce;
  if (!is_ddp() || options_.gpus_per_node > 0 || all_reduce.forms.empty()) return machine.nodes;
  const Form& form = all_reduce.picked().form;
  if (!form.inside_host(machine) || machine.workers <= form.ranks_inside) return machine.nodes;
  return (machine.workers - 1) / form.most_ranks_of_a_host() + 1;
}

const StepProfile* MeasuredJob::measured_on(const Machine& machine) const {
  const auto found = profiles().find(machine.workers);
  if (found == profiles().end()) return nullptr;
  return ran_on(found->second, machine) ? &found->second : nullptr;
}

bool MeasuredJob::ran_on(const StepProfile& profile, const Machine& machine) const {
  if (options_.dedicated) {
    // Enough cores for every rank are not enough: ranks on one host also share its memory, caches and clock.
    const bool alone = profile.machine.device == "cuda" || profile.machine.workers == 1;
    return alone && profile.machine.threads_per_rank == machine.threads_per_rank;
  }
  return same_machine(profile.machine, machine);
}

bool MeasuredJob::needs_unmeasured_links(const Machine& machine) const {
  const AllReduceFit& all_reduce = models_->all_reduce;
  if (!is_ddp() || options_.dedicated || machine.workers < 2 || machine.nodes < 2 || all_reduce.forms.empty())
    return false;
  // A log of more ranks than a host has, without its number of hosts, is used as it is.
  const Form& form = all_reduce.picked().form;
  if (form.curves) return form.of_one_host(machine);
  // Containers of one machine are hosts whose links are the machine's memory.
  return std::ranges::none_of(all_reduce.points, [&](const CollectivePoint& point) {
    return point.machine.nodes > 1 && (point.machine.machines > 1 || machine.machines == 1);
  });
}

bool MeasuredJob::needs_unmeasured_inside_links(const Machine& machine) const {
  const AllReduceFit& all_reduce = models_->all_reduce;
  if (!is_ddp() || options_.dedicated || machine.workers < 2 || machine.nodes > 1 || machine.device != "cuda" ||
      all_reduce.forms.empty())
    return false;
  // More ranks than a host of the log has may be on several hosts, unless the ranks of a host are stated.
  const Form& form = all_reduce.picked().form;
  if (form.curves)
    return form.across_hosts(machine) && !form.inside_host(machine) &&
           (options_.gpus_per_node > 0 || machine.workers <= form.most_ranks_of_a_host());
  return !all_reduce.points.empty() &&
         std::ranges::all_of(all_reduce.points, [](const CollectivePoint& point) { return point.machine.nodes > 1; });
}

const StepProfile& MeasuredJob::nearest(const Machine& machine) const {
  // Ranks per host come first because they set the compute time. Ties go to the smaller N.
  const auto distance = [&](const Machine& other) {
    const auto apart = [](std::int64_t a, std::int64_t b) {
      return std::abs(std::log(static_cast<double>(a)) - std::log(static_cast<double>(b)));
    };
    return std::pair{apart(other.ranks_per_machine(), machine.ranks_per_machine()),
                     apart(other.workers, machine.workers)};
  };
  return std::min_element(
             profiles().begin(), profiles().end(),
             [&](const auto& a, const auto& b) { return distance(a.second.machine) < distance(b.second.machine); })
      ->second;
}

}  // namespace ddpprof::fit
