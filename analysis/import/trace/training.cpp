#include "analysis/import/trace/training.hpp"
#include "analysis/import/trace/last_backward.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analysis/import/trace/busy_host.hpp"
#include "analysis/import/trace/checked.hpp"
#include "analysis/import/trace/collectives/collective_launches.hpp"
#include "analysis/import/trace/collectives/collectives.hpp"
#include "analysis/import/trace/collectives/gradient_group.hpp"
#include "analysis/import/trace/job/job_notes.hpp"
#include "analysis/import/trace/job/job_steps.hpp"
#include "analysis/import/trace/launch_order.hpp"
#include "analysis/import/trace/memory.hpp"
#include "analysis/import/trace/model.hpp"
#include "analysis/import/trace/steps/lost_kernels.hpp"
#include "analysis/import/trace/steps/step_notes.hpp"
#include "analysis/import/trace/training_steps.hpp"
#include "analysis/import/trace/unrecorded.hpp"
#include "tracer/store/rows/run_rows.hpp"

namespace ddpprof::import {
namespace {

using ingest::Severity;

class TrainingBuilder {
 public:
  TrainingBuilder(RankTrace& rank, const TrainingOptions& options) : rank_(rank), options_(options) {}

  Training run() {
    finish_slices();
    rank_.backward_ops.finish();
    rank_.forward_ops.finish();
    rank_.host_work.finish();
    rank_.memory.finish();
    training_.on_device = rank_.slices.size() > 0;
    if (training_.on_device) rank_.host_work.release();  // read only for jobs on CPUs
    training_.whole_graphs = rank_.whole_graphs;
    std::stable_sort(rank_.gradients.begin(), rank_.gradients.end(),
                     [](const GradientMark& a, const GradientMark& b) { return a.ready_ns < b.ready_ns; });
    host_ = find_steps(rank_);
    training_.source = host_.source;
    collectives_ = match_calls(rank_);
    training_.sequences_recorded = sequences_recorded(collectives_);
    training_.groups = process_groups(rank_);
    mark_gradients(rank_, host_.steps, collectives_);
    cut_late_ends();
    read_devices();
    // The launch times of device collectives are known only from here on.
    const MarkedGradients marked = mark_gradients(rank_, host_.steps, collectives_);
    if (marked.other_groups > 0)
      note(Severity::info, "other_groups", marked.other_groups,
           "all-reduces in backward that do not belong to the group that reduces gradients",
           "they count as communication, not as gradient buckets");
    if (marked.left_out > 0)
      note(Severity::info, "no_gradients_in_them", marked.left_out,
           "all-reduces between backward and optimizer without gradients: batch normalisation's sums, a loss's mean, "
           "norms",
           "they count as communication, not as gradient buckets; with record_shapes=True they are distinguished by "
           "size");
    if (!training_.on_device) training_.shard.waits = waits_for_collectives(rank_, collectives_);
    Recognised recognised = recognise(rank_, host_.steps, collectives_, computing_devices_);
    report_unrecorded(recognised);
    training_.parallelism = recognised.kind;
    training_.replicas = recognised.replicas == 0 && options_.batch_per_worker ? std::nullopt : recognised.replicas;
    if (!recognised.unsure.empty())
      note(Severity::warning, "parallelism_unsure", 1,
           "message sizes were not recorded, so this is uncertain: " + recognised.unsure,
           "data parallel training with small further exchanges is assumed; if this is wrong, predictions are invalid. "
           "Record sizes: torch 2.1 or newer, nsys export --include-blobs=true");
    place_steps();
    add_phases();
    add_model();
    add_totals();
    training_.sharding =
        sharded_training(rank_, recognised.kind == Parallelism::sharded, placed_, collectives_, training_.shard.waits);
    training_.memory = memory_of(rank_, host_.steps);
    report_missing_data();
    training_.steps = static_cast<std::int64_t>(training_.shard.steps.size());
    if (rank_.job) {
      add_job_steps(*rank_.job, rank_.base_ns, training_.shard);
      for (Note& one : job_notes(*rank_.job, training_.steps > 0 ? training_.accumulation : 0))
        training_.notes.push_back(std::move(one));
    }
    // Missing buckets are then expected.
    if (recognised.kind != Parallelism::data)
      std::erase_if(training_.notes, [](const Note& one) { return one.code == "no_gradient_buckets"; });
    if (recognised.kind != Parallelism::data && recognised.kind != Parallelism::unrecorded) {
      recognised.units_known = recognised.kind == Parallelism::sharded && training_.sharding.annotated;
      ParallelismNote diagnostic = note_of(recognised);
      note(recognised.units_known ? Severity::info : Severity::warning, std::move(diagnostic.code), 1,
           std::move(diagnostic.message), std::move(diagnostic.advice));
    }
    return std::move(training_);
  }

 private:
  void note(Severity severity, std::string code, std::int64_t count, std::string message, std::string advice) {
    training_.notes.push_back({severity, std::move(code), count, std::move(message), std::move(advice)});
  }

  void finish_slices() {
    mark_outer_calls(rank_.calls);
    if (rank_.any_host_event) {
      rank_.slices.set_host_end(rank_.last_ns);
      // Device work that began before the profile, or that runs on after it, is at most as far away as the profile is
      // long. Clocks of hosts and devices differ less than a second within a trace.
      constexpr std::int64_t second_ns = 1'000'000'000;
      const std::int64_t margin_ns = std::max(second_ns, rank_.last_ns - rank_.first_ns);
      const std::int64_t zero_ns = rank_.first_ns > 0 ? 1 : INT64_MIN;  // a time that was not recorded is zero
      rank_.slices.set_bounds(std::max(zero_ns, rank_.first_ns - margin_ns), rank_.last_ns + margin_ns);
    }
    const CollectiveLaunches launches(rank_.calls);
    rank_.slices.finish(&launches);
    if (const std::int64_t misplaced = rank_.slices.out_of_bounds(); misplaced > 0) {
      std::erase_if(rank_.runs, [&](const CollectiveRun& run) {
        return !run.on_host && !rank_.slices.within_bounds(run.time.start_ns);
      });
      note(
          Severity::warning, "device_events_misplaced", misplaced,
          "device events whose time is zero or far outside of the host's events: the profiler did not record their "
          "times",
          "they are left out, so device times are too low by these events; record the trace again if many are missing");
    }
    if (const std::int64_t copies = rank_.repeated_events + rank_.slices.repeated(); copies > 0)
      note(Severity::warning, "events_repeated", copies,
           "events of steps, gradients, collectives and devices occur again with the same times and ids: copies, as of "
           "files that a tool joined",
           "they count once; the timeline shows both. Import the files that the profiler wrote");
    add_called_kernels(rank_);
  }

  // If the communication's times are missing, the rank is reported, not predicted.
  void report_unrecorded(Recognised& recognised) {
    std::optional<Note> missing = unrecorded_communication(rank_, training_.on_device, collectives_, host_.steps);
    if (!missing) return;
    training_.device_not_recorded = missing->code == store::device_not_recorded;
    training_.notes.push_back(std::move(*missing));
    if (recognised.kind == Parallelism::data || recognised.kind == Parallelism::apart)
      recognised = {Parallelism::unrecorded, "", ""};
  }

  // Backward returns when its last bucket is reduced. If a backend's thread recorded a later end, because it noticed
  // the end late or the profiler stopped first, the collective ended with the backward. Other collectives without a
  // recorded end have no run.
  void cut_late_ends() {
    std::int64_t late = 0, unknown = 0;
    for (const HostStep& step : host_.steps) {
      if (!step.has_backward()) continue;
      const std::int64_t until_ns = step.collectives_until_ns();
      for (Collective& collective : in_last_backward(step, collectives_))
        if (collective.on_host && collective.gradient && collective.run && collective.run->end_ns > until_ns) {
          collective.run->end_ns = std::max(collective.run->start_ns, until_ns);
          collective.unfinished = false;
          ++late;
        }
    }
    for (Collective& collective : collectives_)
      if (collective.unfinished) {
        collective.run.reset();
        ++unknown;
      }
    if (late > 0)
      note(Severity::info, "collective_end_late", late,
           "collectives whose end was recorded after the backward that waited for them",
           "their ends are cut to the optimizer's start; the last step of a profile often has one");
    if (unknown > 0)
      note(Severity::info, "collective_unfinished", unknown, "collectives whose end the profiler did not record",
           "their times are unknown");
  }

  // Returns every host time that read_devices() must look up.
  std::vector<std::int64_t> moments() const {
    std::vector<std::int64_t> moments;
    for (const HostStep& step : host_.steps) {
      moments.insert(moments.end(), {step.time.start_ns, step.time.end_ns});
      for (const Pass& pass : step.passes)
        moments.insert(moments.end(), {pass.forward.start_ns, pass.backward.start_ns, pass.backward.end_ns});
      for (const auto* spans : {&step.optimizers, &step.data_waits})
        for (const Span& span : *spans) moments.insert(moments.end(), {span.start_ns, span.end_ns});
    }
    for (const GradientMark& gradient : rank_.gradients) moments.push_back(gradient.ready_ns);
    for (const Collective& collective : collectives_) moments.push_back(collective.launch_ns);
    return moments;
  }

  // One pass computes device times in annotated windows, when collectives ran, and the work done by each host time.
  void read_devices() {
    if (!training_.on_device) return;
    std::vector<Window> windows;
    for (const HostStep& step : host_.steps) windows.push_back({step.time.start_ns, step.time.end_ns});
    DeviceTimes times(windows);
    launch_collectives(rank_.slices, collectives_);
    order_.emplace(moments());
    std::map<std::int32_t, std::int64_t> computing_ns;  // by device
    rank_.slices.for_each([&](const Slice& slice) {
      times.add(slice);
      order_->add(slice);
      if (slice.work != Work::compute) return;
      std::int64_t& sum_ns = computing_ns[slice.device];
      sum_ns = sum_of(sum_ns, slice.end_ns - slice.start_ns);
    });
    times.finish();
    order_->finish();
    // A few kernels on another device, of a check or an initialisation, are not a part of the model.
    constexpr std::int64_t least_part = 20;
    std::int64_t most_ns = 0;
    for (const auto& [device, ns] : computing_ns) most_ns = std::max(most_ns, ns);
    computing_devices_ =
        std::ranges::count_if(computing_ns, [&](const auto& device) { return device.second >= most_ns / least_part; });
    training_.device_times.push_back({"all", times.extent(), times.whole()});
    if (host_.source == StepSource::annotations)
      for (std::size_t i = 0; i < windows.size(); ++i)
        training_.device_times.push_back({host_.steps[i].name, windows[i], times.windows()[i]});
    if (const AbsurdSlices& absurd = rank_.slices.absurd(); absurd.count > 0)
      note(Severity::warning, "absurd_duration", absurd.count,
           fmt::format("device events overlap the next event on their stream and last over {:.0f} times as long as "
                       "similar events; the longest, {}, would last {:.3g} ms",
                       SliceStore::absurd_factor, rank_.names.text(absurd.first_name),
                       static_cast<double>(absurd.first_duration_ns) * 1e-6),
           "they count with the usual duration for their name; the profiler recorded a wrong duration");
    if (rank_.slices.overlapping() > 0)
      note(Severity::info, "overlapping_slices", rank_.slices.overlapping(),
           "device events begin before the previous event on their stream has ended",
           "their union counts; replayed graphs and AMD's queues are recorded in this way");
    if (rank_.slices.without_call() > 0)
      note(Severity::info, "launch_unknown", rank_.slices.without_call(),
           "device events without the call that launched them: their start counts as the launch",
           "record the host's activities as well (ProfilerActivity.CPU)");
  }

  std::int64_t end_at(std::int64_t moment_ns) const {
    return order_ ? order_->computed_by_ns(moment_ns).value_or(moment_ns) : moment_ns;
  }
  std::int64_t begin_at(std::int64_t moment_ns) const {
    return order_ ? order_->begun_from_ns(moment_ns).value_or(moment_ns) : moment_ns;
  }

  void place_steps() {
    std::int64_t before_ns = INT64_MIN;
    for (const HostStep& step : host_.steps) {
      ingest::Interval time{step.time.start_ns, step.time.end_ns};
      if (order_) time = order_->step_on_device(time);
      time.start_ns = std::max(before_ns, time.start_ns);
      before_ns = std::max(before_ns, time.end_ns);
      if (time.end_ns <= time.start_ns) {
        ++empty_steps_;
        continue;
      }
      placed_.push_back(&step);
      training_.shard.steps.push_back({step.number, vocabulary::StepKind::measured, 0, time});
    }
  }

  void phase(ingest::PhaseName name, std::int64_t start_ns, std::int64_t end_ns, const ingest::Interval& step) {
    start_ns = std::max(start_ns, step.start_ns);
    end_ns = std::min(end_ns, step.end_ns);
    if (end_ns > start_ns) training_.shard.phases.push_back({name, {start_ns, end_ns}, {}, 0});
  }

  // Returns the latest end of the collectives launched in the step's last backward.
  std::int64_t last_gradient_end_ns(const HostStep& step) const {
    std::int64_t end_ns = INT64_MIN;
    for (const Collective& collective : in_last_backward(step, collectives_))
      if ((collective.gradient || collective.op == CollectiveOp::reduce_scatter) && collective.run)
        end_ns = std::max(end_ns, collective.run->end_ns);
    return end_ns;
  }

  void add_phases() {
    using ingest::PhaseName;
    for (std::size_t i = 0; i < placed_.size(); ++i) {
      const HostStep& step = *placed_[i];
      const ingest::Interval& time = training_.shard.steps[i].time;
      for (const Span& wait : step.data_waits) {
        // The host's waiting is hidden while the device still has work.
        const std::int64_t hidden_ns = order_ ? end_at(wait.start_ns) : wait.start_ns;
        const auto add_to = [&](const ingest::Interval& of_device) {
          phase(PhaseName::data_wait, std::max(wait.start_ns, hidden_ns), std::max(wait.end_ns, hidden_ns), of_device);
        };
        add_to(time);
        // The device's step may end before the host's.
        if (i + 1 < placed_.size()) add_to(training_.shard.steps[i + 1].time);
      }
      std::vector<ingest::Interval> passes;  // one per pass of the step
      for (std::size_t k = 0; k < step.passes.size(); ++k) {
        const Pass& pass = step.passes[k];
        const std::int64_t backward_ns = begin_at(pass.backward.start_ns);
        std::int64_t end_ns = end_at(pass.backward.end_ns);
        if (k + 1 == step.passes.size()) {
          // On a device the backward ends with the last gradient's all-reduce. Later device work of it is not a copy of
          // gradients, as on a host.
          const std::int64_t reduced_ns = last_gradient_end_ns(step);
          end_ns = order_ && reduced_ns > backward_ns ? reduced_ns : std::max(reduced_ns, end_ns);
        }
        passes.push_back({begin_at(pass.forward.start_ns), end_ns});
        phase(PhaseName::forward, passes.back().start_ns, backward_ns, time);
        phase(PhaseName::backward, backward_ns, end_ns, time);
      }
      for (const Span& optimizer : step.optimizers) {
        std::int64_t start_ns = begin_at(optimizer.start_ns);
        // The passes that Optimizer.step(closure) runs are forward and backward, not optimizer.
        for (std::size_t k = 0; k < passes.size(); ++k)
          if (runs_inside(optimizer, step.passes[k].backward)) {
            phase(PhaseName::optimizer, start_ns, passes[k].start_ns, time);
            start_ns = passes[k].end_ns;
          }
        phase(PhaseName::optimizer, start_ns, end_at(optimizer.end_ns), time);
      }
    }
    std::stable_sort(
        training_.shard.phases.begin(), training_.shard.phases.end(),
        [](const ingest::PhaseFact& a, const ingest::PhaseFact& b) { return a.time.start_ns < b.time.start_ns; });
    const UsualPasses passes = usual_passes(placed_);
    training_.accumulation = passes.accumulation();
    if (passes.updates > 1)
      note(Severity::warning, "several_updates", passes.updates,
           fmt::format("a step has {} optimizer steps, each after a backward of its own: networks that are trained in "
                       "turn (a GAN), or several iterations in one annotated step; the samples of one of them count as "
                       "the batch of the step, and the gradients of the last one as its gradients",
                       passes.updates),
           "if one annotation covers several iterations, call prof.step() after each of them; otherwise the batch is "
           "right if all networks train with the same samples");
    if (passes.again > 0)
      note(Severity::warning, "evaluated_again", passes.again,
           fmt::format("the optimizer's step evaluates its closure {} times with the samples of one batch, as LBFGS does: "
                       "each evaluation counts as work, not as a micro-batch",
                       passes.again + 1),
           "rules for the learning rate are for SGD and Adam, and not for such an optimizer");
    if (passes.other_steps > 0)
      note(Severity::info, "passes_differ", passes.other_steps,
           fmt::format("steps whose number of backwards is not {}, as in most steps", passes.count),
           "profile whole steps: a schedule's window begins and ends with one");
  }

  // Micro-batches of different samples in a step.
  static std::int64_t samples_passes(const HostStep& step) {
    return UsualPasses{static_cast<std::int64_t>(step.passes.size()), 0, updates_of(step), evaluations_again(step)}
        .accumulation();
  }

  void add_model() {
    const bool stated = rank_.job && rank_.job->batch > 0;
    training_.batch_per_worker =
        options_.batch_per_worker.value_or(stated ? rank_.job->batch : rank_.batch.value_or(0));
    if (!options_.batch_per_worker && !stated && rank_.smallest_batch < rank_.largest_batch)
      training_.notes.push_back(note_on_batches(rank_));
    if (!options_.batch_per_worker && !stated && rank_.batch_of_rows) training_.notes.push_back(note_on_rows(rank_));
    for (std::size_t i = 0; i < placed_.size(); ++i)
      training_.shard.steps[i].samples =
          product_of({training_.batch_per_worker,
                      placed_[i]->has_backward() ? samples_passes(*placed_[i]) : training_.accumulation});
    const Moments at{[this](std::int64_t moment_ns) { return end_at(moment_ns); }};
    const ModelFacts model = model_of(rank_, placed_, collectives_, options_, at);
    training_.shard.parameters = model.parameters;
    training_.shard.members = model.members;
    training_.shard.grads = model.gradients;
    training_.shard.collectives = model.collectives;
    training_.parameter_bytes = model.parameter_bytes;
    training_.parameter_count = model.parameter_count;
    training_.parameters_known = model.parameters_known;
    training_.sizes_assumed = model.sizes_assumed;
    training_.notes.insert(training_.notes.end(), model.notes.begin(), model.notes.end());
  }

  // The second pass over device slices, after steps have been placed on the devices' clock.
  void add_totals() {
    ingest::ShardTrace& shard = training_.shard;
    shard.info.rank = static_cast<decltype(shard.info.rank)>(rank_.rank.value_or(-1));
    shard.info.world_size = static_cast<decltype(shard.info.world_size)>(rank_.world_size.value_or(0));
    shard.info.pid = static_cast<decltype(shard.info.pid)>(rank_.pid);
    shard.info.process = rank_.process;
    shard.info.host = rank_.host.empty() && rank_.job ? rank_.job->host : rank_.host;
    shard.info.closed = true;
    shard.tally.records = static_cast<std::uint64_t>(rank_.events);
    if (rank_.any_host_event) {
      shard.events.add(rank_.first_ns);
      shard.events.add(rank_.last_ns);
    }
    if (!training_.on_device) return;
    std::vector<Window> windows;
    for (const ingest::StepFact& step : shard.steps) windows.push_back({step.time.start_ns, step.time.end_ns});
    // In these intervals an idle device does not wait for launches.
    const std::vector<std::vector<Window>> other_waits = windows_of_other_waits();
    std::vector<Window> all_waits;
    for (const std::vector<Window>& of_step : other_waits)
      all_waits.insert(all_waits.end(), of_step.begin(), of_step.end());
    DeviceTimes times(windows), waits(all_waits);
    const auto add = [&](const Slice& slice) {
      times.add(slice);
      if (!all_waits.empty()) waits.add(slice);
    };
    // Collectives that the host executes are communication as well, and compute of the device may hide them.
    const std::vector<Slice> host_runs = runs_on_host(collectives_);
    auto run = host_runs.begin();
    rank_.slices.for_each([&](const Slice& slice) {
      for (; run != host_runs.end() && run->start_ns <= slice.start_ns; ++run) add(*run);
      add(slice);
    });
    for (; run != host_runs.end(); ++run) add(*run);
    times.finish();
    waits.finish();
    std::size_t wait = 0;
    for (std::size_t i = 0; i < windows.size(); ++i) {
      const DeviceTime& time = times.windows()[i];
      // A device between two slices that wait in its queue does not wait for launches either.
      const auto idle_in = [](const Window& window, const DeviceTime& in) {
        return window.end_ns - window.start_ns - in.busy_ns - in.queued_ns;
      };
      std::int64_t idle_ns = idle_in(windows[i], time);
      for (const Window& window : other_waits[i]) idle_ns -= idle_in(window, waits.windows()[wait++]);
      shard.totals.push_back({time.compute_ns, time.communication_ns, time.overlapped_ns,
                              times.whole().kernels > 0 ? std::optional(idle_ns) : std::nullopt});
      idle_ns_.push_back(idle_ns);
    }
  }

  // Returns for each step the waits for data, and the collectives that the host executes (Gloo with tensors on a GPU).
  std::vector<std::vector<Window>> windows_of_other_waits() const {
    std::vector<ingest::Interval> all;
    for (const ingest::PhaseFact& phase : training_.shard.phases)
      if (phase.name == ingest::PhaseName::data_wait) all.push_back(phase.time);
    for (const Collective& one : collectives_)
      if (one.on_host && one.run) all.push_back({one.run->start_ns, one.run->end_ns});
    const ingest::IntervalSet waits = ingest::unite(std::move(all));
    std::vector<std::vector<Window>> of_steps;
    for (const ingest::StepFact& step : training_.shard.steps) {
      of_steps.emplace_back();
      for (const ingest::Interval& wait : ingest::clip(waits, step.time))
        of_steps.back().push_back({wait.start_ns, wait.end_ns});
    }
    return of_steps;
  }

  void report_missing_data() {
    if (std::optional<Note> lost = note_on_lost_kernels(rank_.slices, host_.steps))
      training_.notes.push_back(*std::move(lost));
    for (Note& one : notes_on_steps(host_, static_cast<std::int64_t>(placed_.size()), empty_steps_, rank_.steps_advice))
      training_.notes.push_back(std::move(one));
    for (Note& one : notes_on_durations(training_.shard.steps, idle_ns_)) training_.notes.push_back(std::move(one));
    if (training_.sharding.unassigned > 0 && !training_.sharding.units.empty())
      note(Severity::info, "sharded_unit_unknown", training_.sharding.unassigned,
           "all-gathers and reduce-scatters outside of FSDP's annotations, or whose call was not recorded",
           "they count as communication, not as a unit's");
    if (host_.source != StepSource::none && training_.batch_per_worker == 0)
      note(Severity::warning, "batch_unknown", 1, "the number of samples of a step is not recorded",
           "throughput is not reported; give --batch-per-worker, or record shapes (record_shapes=True)");
  }

  RankTrace& rank_;
  const TrainingOptions& options_;
  Training training_;
  HostSteps host_;
  std::vector<const HostStep*> placed_;  // one per step of the shard
  std::vector<Collective> collectives_;
  std::optional<LaunchOrder> order_;
  std::vector<std::int64_t> idle_ns_;  // per step, without waits for data
  std::int64_t empty_steps_ = 0, computing_devices_ = 0;
};

}  // namespace

Training derive_training(RankTrace& rank, const TrainingOptions& options) {
  return TrainingBuilder(rank, options).run();
}

}  // namespace ddpprof::import
