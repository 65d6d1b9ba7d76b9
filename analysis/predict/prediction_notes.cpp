#include "analysis/predict/prediction_notes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "analysis/fit/text.hpp"
#include "analysis/predict/predictor.hpp"
#include "analysis/predict/sharded/sharded_prediction.hpp"
#include "analysis/predict/step_interval.hpp"
#include "analysis/predict/step_model/batch_change.hpp"

namespace ddpprof::fit {
namespace {

std::string at_workers(const std::string& strategy, std::int64_t workers) {
  return strategy + " at N = " + std::to_string(workers);
}

// Returns the regime of each size of the model's buckets at N.
std::string regimes_text(const Predictor& predictor, const Regimes& regimes, std::int64_t workers) {
  std::map<std::string, std::set<std::int64_t>> sizes;
  for (const Bucket& bucket : predictor.prepared().model.case_at(workers).buckets)
    sizes[regimes.at(workers, bucket.bytes).name].insert(bucket.bytes);
  std::string text = "NCCL: ";
  for (const auto& [name, of] : sizes) {
    if (text.size() > 6) text += ", ";
    text += name + " for buckets of " + bytes_text(*of.begin());
    if (of.size() > 1) text += " to " + bytes_text(*of.rbegin());
  }
  return sizes.empty() ? "NCCL: " + regimes.ladder_text(workers) : text;
}

}  // namespace

std::string prediction_note(const Predictor& predictor, std::int64_t workers) {
  const MeasuredJob& job = predictor.job();
  const auto& profiles = job.profiles();
  const AllReduceFit& all_reduce = job.models().all_reduce;
  const Calibrations& calibrations = predictor.prepared().calibrations;
  std::string text;
  const auto add = [&](const std::string& sentence) { text += (text.empty() ? "" : "; ") + sentence; };
  const std::string batch =
      job.compute().batch.usable
          ? "for a micro-batch of " + std::to_string(profiles.begin()->second.batch_per_worker) + " samples per worker"
          : "";
  const Machine machine = job.machine_for(workers);
  const Calibration used = calibration_for(calibrations, machine);
  if (job.measured_on(machine)) {
    add("measured; the uncorrected model is off by " + percent(std::exp(-used.raw) - 1.0));
    if (!batch.empty()) add(batch);
    return text;
  }
  if (job.needs_unmeasured_links(machine)) {
    add(links_text(job));
    if (job.options().gpus_per_node == 0)
      add(std::to_string(job.compute().usual_ranks_per_host()) + " GPUs per node are assumed");
  }
  if (job.needs_unmeasured_inside_links(machine)) add(inside_links_text());
  if (!batch.empty()) add(batch);
  if (job.options().dedicated) {
    add("every rank has the cores of one rank at N = " + std::to_string(profiles.begin()->first));
  } else if (machine.device != "cuda" && machine.crowding() > 1.0) {
    add("assumes that " + std::to_string(machine.ranks_per_machine()) + " ranks share " +
        std::to_string(machine.cores) + " cores" + (machine.machines > 1 ? " on each machine" : ""));
  }
  if (job.is_ddp() && job.options().dedicated && workers > 1 && profiles.rbegin()->second.machine.nodes == 1 &&
      !(all_reduce.forms.empty() || all_reduce.picked().form.curves)) {
    add("links between hosts were not measured: they are assumed to be as fast as the links on this host");
  }
  if (job.is_ddp() && workers > 1 && !all_reduce.forms.empty())
    if (const auto& regimes = all_reduce.picked().form.regimes) add(regimes_text(predictor, *regimes, workers));
  if (predictor.takes_shared_step(workers)) {
    add("the model with own cores gives a longer step: the step with shared cores is used");
  } else if (calibrations.empty()) {
    add("not corrected with measured data: no step was measured on such a machine");
  } else if (std::abs(used.waiting) >= 0.005 || std::abs(used.step) >= 0.005) {
    char scaled[160];
    const bool whole = used.step_of_waiting == used.step;
    std::snprintf(scaled, sizeof scaled, "model corrected with measured data: communication × %.3f, %s × %.3f",
                  std::exp(whole ? used.waiting : used.waiting + used.step_of_waiting),
                  whole ? "whole step" : "rest of the step", std::exp(used.step));
    add(scaled);
  }
  const std::int64_t per_node = job.options().gpus_per_node;
  if (!job.is_ddp() && (job.asked_dedicated() || (per_node > 0 && workers > per_node)))
    add("DataParallel is one process: all its replicas are on one host" +
        std::string(job.asked_dedicated() ? ", as measured" : ""));
  if (job.models().measured.mixed) add("the other workloads of the database are not used");
  if (workers > 4 * job.largest_measured())
    add("far beyond the largest measured N = " + std::to_string(job.largest_measured()) +
        (static_cast<double>(workers) > far_beyond_measured * static_cast<double>(job.largest_measured())
             ? ": the interval is at least as wide as the errors of published scaling tables at this distance"
             : ""));
  return text;
}

std::string links_text(const MeasuredJob& job) {
  const std::string text = std::string(links_not_measured) + ": the interval ";
  const NodeLinks& links = job.options().inter_node;
  if (!links.named()) return text + "spans " + links.name;
  return text + "assumes " + links.name + ", of which all-reduces reach " + rate_text(links.least_bytes_per_s) +
         " to " + rate_text(links.most_bytes_per_s);
}

Note links_note(const MeasuredJob& job, const std::string& listed) {
  const std::string measure = "give an nccl-tests log of these links with --all-reduce, or measure between nodes";
  const std::string name =
      "name the link with --inter-node or predict.inter_node (" + std::string(collective::node_links_example) + "), ";
  const bool named = job.options().inter_node.named();
  return make_note(named ? "info" : "warning", "links_not_measured",
                   job.strategy() + " at N = " + listed + ": " + links_text(job), named ? measure : name + measure);
}

std::string inside_links_text() {
  return std::string(inside_links_not_measured) + ": the interval goes from the measured links between nodes to " +
         rate_text(collective::fast_inside_bytes_per_s) + " (NVLink 5)";
}

Note inside_links_note(const MeasuredJob& job, const std::string& listed) {
  return make_note("warning", "links_not_measured", job.strategy() + " at N = " + listed + ": " + inside_links_text(),
                   "give an nccl-tests log of one node with --all-reduce, or measure on one node");
}

Note unused_link_note(const MeasuredJob& job) {
  const PredictOptions& options = job.options();
  const bool on_several = std::ranges::any_of(
      options.workers, [&](std::int64_t workers) { return job.linked_nodes(job.machine_for(workers)) > 1; });
  std::string reason = "all ranks of the requested N are on one node",
              advice = "for several nodes of GPUs give --gpus-per-node";
  if (options.dedicated) {
    reason = "--sharing dedicated keeps the measured links";
    advice = "do not give --sharing dedicated";
  } else if (on_several && job.models().all_reduce.has_unknown_hosts()) {
    reason = "the log of all-reduces does not name its hosts, and its times are used for all N";
    advice = "ddpprof import LOG --append FILE.db --nodes N states the number of hosts";
  } else if (on_several) {
    reason = "the links between nodes were measured";
    advice = "leave --inter-node out, or predict without the log or the steps of several nodes";
  }
  return make_note("info", "links_not_measured",
                   job.strategy() + ": the link between nodes that was named (" + options.inter_node.name +
                       ") is not used: " + reason,
                   advice);
}

std::string wide_interval_text(const Prediction& row) {
  return "the interval spans a factor of " + number_text(row.step_high_s / row.step_low_s) +
         ": only its order of magnitude can be trusted";
}

std::string batch_assumption(const MeasuredJob& job, const WhatIf& change) {
  const StepProfile& last = job.profiles().rbegin()->second;
  const double samples = batch_ratio(last, change);
  const BatchFit& fit = job.compute().batch;
  if (samples == 1.0) return "";
  if (!fit.usable)
    return "compute is assumed proportional to the batch (exponent 1 ± " + number_text(batch_exponent_sd) + "): " +
           (fit.status.empty() ? "the only measured batch is " + std::to_string(last.batch_per_worker)
                               : "the fit of the measured batches is " + fit.status);
  const double beyond = fit.beyond(samples * static_cast<double>(last.batch_per_worker));
  if (beyond == 0.0) return "";
  return "beyond the measured batches, compute is assumed to follow the fit of batches " +
         std::to_string(fit.batches.front()) + " to " + std::to_string(fit.batches.back()) + " (within " +
         percent(std::expm1(batch_exponent_sd * beyond)) + ")";
}

Note communication_bound_note(const Knee& knee) {
  const std::string what = knee.strategy == "dp" ? "copies take" : "exposed communication takes";
  return make_note("info", "communication_bound",
                   knee.strategy + ": N = " + std::to_string(*knee.workers) + " is the smallest N at which " + what +
                       " more than " + percent(knee.share) + " of the step",
                   "a larger batch per worker or gradient accumulation moves this point to a larger N");
}

Note host_bound_note(const std::string& strategy, std::int64_t workers, double share, bool beyond_measured) {
  return make_note("info", "host_bound",
                   at_workers(strategy, workers) + ": host-bound: the device waits for the host's launches for " +
                       percent(share) + " of the step",
                   "usual remedies: " + std::string(host_remedies) +
                       "; --what-if host=2x predicts the effect of "
                       "launches that take half as long" +
                       (beyond_measured ? "; beyond the measured N all additional communication is added to this time. If "
                                          "the host launches ahead of the device in all steps (no loss.item() in a step), "
                                          "the lower end of the interval is the better estimate"
                                        : ""));
}

Note next_measurement_note(const NextMeasurement& next, const std::string& strategy, std::int64_t workers,
                           double confidence, bool imported, std::string_view cores) {
  const std::string count = std::to_string(next.workers);
  std::string what = "N = " + count + (cores.empty() ? "" : " " + std::string(cores));
  const char* where = cores == own_cores_note ? " on hosts with enough cores" : "";
  std::string advice = imported
                           ? "run the job with " + count + " ranks" + where +
                                 ", with record --append or import --append"
                           : "add " + count + " to the measured worker counts";
  if (next.bench_comm && strategy == "fsdp") {
    what = "all-gathers and reduce-scatters alone at " + what;
    advice = give_shard_logs;
  } else if (next.bench_comm) {
    what = "all-reduces alone at " + what;
    advice = imported ? "give an nccl-tests log of these links (import it, or predict --all-reduce)"
                      : "ddpprof bench-comm, or ddpprof worker --bench-comm between hosts";
  }
  return make_note("info", "measure_next",
                   at_workers(strategy, workers) + ": measuring " + what + " would narrow the " + percent(confidence) +
                       " interval most, to about " + percent(next.then / next.now) + " of its width",
                   advice);
}

Note next_batch_note(const NextMeasurement& next, const std::string& strategy, std::int64_t workers, double confidence,
                     bool imported) {
  const std::string batch = std::to_string(next.batch_per_worker), at = std::to_string(next.workers);
  return make_note("info", "measure_next",
                   at_workers(strategy, workers) + " with a micro-batch of " + batch +
                       " samples per worker: a measurement of " + strategy + " at N = " + at +
                       " with this batch would narrow the " + percent(confidence) + " interval to about " +
                       percent(next.then / next.now) + " of its width",
                   imported ? "run the job with this batch, and add its traces with import --append or record --append"
                            : "workload.batch_per_worker: " + batch + ", workers: [" + at + "]");
}

Note batch_assumed_note(const std::string& strategy, const std::string& assumption) {
  return make_note("info", "batch_assumed", strategy + ": " + assumption,
                   "measure the job with a second batch per worker, at least as large as the predicted one");
}

Note what_if_none_note(const std::string& strategy, const std::string& reason) {
  return make_note("warning", "what_if_none", strategy + ": " + reason, "predict another change for this strategy");
}

Note what_if_none_note(const std::string& strategy, std::int64_t workers, const std::string& reason) {
  return make_note("warning", "what_if_none", at_workers(strategy, workers) + ": " + reason,
                   "predict another change, or other worker counts");
}

Note uncertain_note(const Prediction& row) {
  return make_note("warning", "prediction_uncertain",
                   at_workers(row.strategy, row.world_size) + ": the interval from " + time_text(row.step_low_s) +
                       " to " + time_text(row.step_high_s) + " spans more than a factor of ten",
                   "measure at more worker counts, some of them closer to this one");
}

Note too_good_note(const Prediction& row) {
  return make_note("warning", "prediction_too_good",
                   at_workers(row.strategy, row.world_size) + ": efficiency " + percent(row.efficiency) +
                       ", more than N times one worker's throughput",
                   "N = 1 was measured too slow (a cold start, another load): measure it again");
}

Note not_predicted_note(const Models& models, const std::string& strategy, const std::string& listed,
                        const std::string& reason) {
  return make_note("warning", "prediction_none", strategy + " at N = " + listed + " is not predicted: " + reason,
                   advice_on_links(models, "measure this strategy at 2 workers and more, or run ddpprof bench-comm"));
}

Note corrected_note(const std::string& strategy, std::int64_t workers, double correction) {
  return make_note(
      "warning", "prediction_corrected",
      at_workers(strategy, workers) + ": the models are corrected by a factor of " + number_text(correction) +
          " to agree with the measured steps; predictions beyond the measured N depend on this factor",
      "the fitted models do not describe this machine: use the intervals, or measure closer to the predicted N");
}

std::vector<Note> log_notes(const Models& models) {
  std::vector<Note> notes;
  for (const std::string& text : models.all_reduce.notes)
    notes.push_back(
        make_note("info", "fit_assumption", "ddp all_reduce: " + text, "measure on the predicted machines"));
  for (const std::string& text : models.all_reduce.warnings)
    notes.push_back(make_note("warning", "fit_doubtful", "ddp all_reduce: " + text,
                              "give a log of the machines that the database was measured on"));
  if (!models.measured.dp.empty())
    notes.push_back(make_note("info", "fit_assumption",
                              "dp: a log of all-reduces has no times of DataParallel's copies",
                              "the log does not change the predictions of dp"));
  return notes;
}

}  // namespace ddpprof::fit
