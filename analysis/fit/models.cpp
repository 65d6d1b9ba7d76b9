#include "analysis/fit/models.hpp"

#include <algorithm>
#include <map>

#include "analysis/fit/not_supported.hpp"
#include "analysis/fit/table/stored_steps.hpp"

namespace ddpprof::fit {
namespace {

// Returns the sizes of DDP's buckets; without buckets, of all gradients together.
MessageSizes message_sizes(const std::map<std::int64_t, StepProfile>& profiles) {
  MessageSizes sizes;
  const auto add = [&sizes](std::int64_t whole_bytes) {
    const auto bytes = static_cast<double>(whole_bytes);
    if (!(bytes > 0.0)) return;
    sizes.smallest = sizes.largest > 0.0 ? std::min(sizes.smallest, bytes) : bytes;
    sizes.largest = std::max(sizes.largest, bytes);
  };
  for (const auto& [workers, profile] : profiles)
    for (const Bucket& bucket : profile.buckets) add(bucket.bytes);
  if (sizes.largest == 0.0)
    for (const auto& [workers, profile] : profiles) add(profile.parameter_bytes);
  return sizes;
}

}  // namespace

Models fit_models(store::Database& database, const std::vector<collective::Curve>& curves) {
  if (!stored_steps(database).empty())
    throw NotSupported("the file has a table of step times, which does not contain the parts of a step",
                       "use ddpprof predict FILE --workers N, which accepts such tables");
  Models models;
  models.measured = load(database);
  if (models.measured.ddp.empty() && models.measured.dp.empty() && models.measured.collectives.empty()) {
    if (!models.measured.not_predicted.empty())
      throw NotSupported(models.measured.not_predicted, models.measured.not_predicted_advice);
    if (models.measured.no_common_step)
      throw NotSupported("no step was recorded by every rank: the steps of the ranks have different numbers",
                         "record the same steps on all ranks, for example with the same schedule of the profiler");
    if (models.measured.imported)
      throw NotSupported("the imported files contain no training step",
                         "profile several steps and mark each of them (prof.step(), or one NVTX range per step)");
    throw NotSupported("the database has no measured training step and no benchmark of collectives",
                       "run a scenario first (ddpprof run SCENARIO.yaml); steps of kind warmup do not count");
  }
  models.all_reduce = fit_all_reduce(models.measured.collectives, curves.empty() ? models.measured.curves : curves,
                                     message_sizes(models.measured.ddp));
  if (!models.all_reduce.usable && models.all_reduce.points.empty() && !models.measured.unlike_batches.empty())
    models.all_reduce.status = "not usable: " + models.measured.unlike_batches;
  models.ddp_compute = fit_compute("ddp", models.measured.ddp, models.measured.batches["ddp"]);
  // The threads of an imported job are those that its program set. One N alone does not show that they follow the
  // cores.
  if (models.measured.imported && models.measured.ddp.size() == 1) models.ddp_compute.threads_follow_cores = false;
  models.dp_compute = fit_compute("dp", models.measured.dp, models.measured.batches["dp"]);
  const auto& dp = models.measured.dp;
  const double parameter_bytes = dp.empty() ? 0.0 : static_cast<double>(dp.rbegin()->second.parameter_bytes);
  const bool own_devices = !dp.empty() && dp.rbegin()->second.machine.device == "cuda";
  models.copies = fit_copies(models.measured.copies, parameter_bytes, own_devices);
  return models;
}

}  // namespace ddpprof::fit
