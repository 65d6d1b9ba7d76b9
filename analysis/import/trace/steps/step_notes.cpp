#include "analysis/import/trace/steps/step_notes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "simulator/stats/summary.hpp"

namespace ddpprof::import {

using ingest::Severity;

std::vector<Note> notes_on_durations(std::span<const ingest::StepFact> steps, std::span<const std::int64_t> idle_ns) {
  std::vector<Note> notes;
  std::vector<double> durations_ns, idle_shares;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    durations_ns.push_back(static_cast<double>(steps[i].time.end_ns - steps[i].time.start_ns));
    if (i < idle_ns.size() && durations_ns.back() > 0.0)
      idle_shares.push_back(static_cast<double>(idle_ns[i]) / durations_ns.back());
  }
  constexpr std::size_t fewest = 3;  // of two steps neither is usual
  constexpr double many = 5.0;       // medians
  if (durations_ns.size() >= fewest) {
    const double median_ns = stats::median(durations_ns);
    const auto slow = std::ranges::count_if(durations_ns, [&](double one) { return one > many * median_ns; });
    if (slow > 0)
      notes.push_back(
          {Severity::warning, "slow_steps", slow,
           fmt::format("{} of {} steps last more than {:.0f} times the median of {:.3g} ms, the longest {:.3g} ms: "
                       "they do other work too, such as a checkpoint, an evaluation or compilation",
                       slow, durations_ns.size(), many, median_ns * 1e-6, std::ranges::max(durations_ns) * 1e-6),
           "step times are medians and shares are those of the other steps, so neither contains this time; a whole "
           "training does. Profile after warm-up, and outside of checkpoints"});
  }
  if (const double idle = idle_shares.empty() ? 0.0 : stats::median(idle_shares); idle > 0.5)
    notes.push_back(
        {Severity::warning, "device_idle", static_cast<std::int64_t>(idle_shares.size()),
         fmt::format("the devices were idle for {:.0f} % of the median step: the host launched too slowly",
                     100.0 * idle),
         "the profiler itself slows launching (record_shapes, with_stack, profile_memory): measure the step without "
         "it. Predictions have this time as the term host. Usual remedies: CUDA graphs, torch.compile, a larger batch "
         "per worker"});
  return notes;
}

namespace {

// The steps are annotated, or bounded by the optimizers of several models in no order that repeats.
Note note_on_mixed_optimizers(std::int64_t steps, bool annotated) {
  constexpr const char* why =
      "the job trains several models in turn, or accumulates gradients over several numbers of micro-batches";
  constexpr const char* effect =
      "so step times, their median, gradients and predictions mix unequal steps; call prof.step() once per iteration of "
      "the whole training";
  if (annotated)
    return {Severity::warning, "optimizers_mixed", steps,
            fmt::format("annotated steps have gradients of several sizes: {}", why),
            fmt::format("each annotation is one step, {}", effect)};
  return {Severity::warning, "optimizers_mixed", steps,
          fmt::format("the gradients between optimizer steps have several sizes in no order that repeats: {}", why),
          fmt::format("a step lasts from one optimizer step to the next, {}", effect)};
}

}  // namespace

std::vector<Note> notes_on_steps(const HostSteps& host, std::int64_t steps, std::int64_t empty_steps,
                                 std::string_view advice) {
  std::vector<Note> notes;
  const auto note = [&](Severity severity, const char* code, std::int64_t count, std::string message, std::string what) {
    notes.push_back({severity, code, count, std::move(message), std::move(what)});
  };
  if (host.left_out > 0)
    note(Severity::warning, "steps_overlap", host.left_out, "steps whose annotation overlaps the previous one",
         "they are left out; steps of a profiler schedule do not overlap");
  if (host.micro_batches > 1)
    note(Severity::info, "micro_batches_annotated", static_cast<std::int64_t>(host.steps.size()),
         fmt::format("the optimizer runs once in {} annotated steps: these {} are micro-batches of one step",
                     host.micro_batches, host.micro_batches),
         "call prof.step() once per optimizer step to annotate steps");
  if (host.cut > 0)
    note(Severity::info, "steps_cut", host.cut, "steps that were running when recording began or stopped",
         "they are left out, because they were recorded only in part");
  if (host.cycle_unfinished)
    note(Severity::warning, "cycle_unfinished", 1,
         fmt::format("the training ended inside a cycle of the profiler's schedule: the trace has its {} first steps",
                     host.steps.size()),
         "give the schedule repeat=1: without it, an unfinished cycle overwrites the file of a complete one");
  if (empty_steps > 0)
    note(Severity::info, "steps_without_work", empty_steps, "annotated steps without recorded work of the device",
         "they are left out");
  const auto source = [&](const char* code, std::string message) {
    note(Severity::info, code, steps, std::move(message), std::string(advice));
  };
  if (host.source == StepSource::none)
    note(Severity::warning, "no_steps", 1, "no step: neither annotations, nor optimizer steps, nor DDP's forward",
         fmt::format("the whole trace is reported; {}", advice));
  if (host.source == StepSource::optimizers)
    source("steps_by_optimizer",
           "no step is annotated: a step lasts from the end of one optimizer step to the end of the next");
  if (host.optimizers_in_turn > 1)
    source("optimizers_in_turn",
           fmt::format("the gradients between optimizer steps repeat after {0} of them: the optimizers step in turn, "
                       "and {0} optimizer steps are one step",
                       host.optimizers_in_turn));
  if (host.optimizers_mixed) notes.push_back(note_on_mixed_optimizers(steps, host.source == StepSource::annotations));
  if (host.source == StepSource::forwards)
    source("steps_by_forward",
           "no step is annotated: a step lasts from the begin of one DDP forward to the begin of the next");
  return notes;
}

Note note_on_batches(const RankTrace& rank) {
  return {
      Severity::warning, "batch_varies", 1,
      fmt::format("the batch differs between steps, from {} to {} samples: that of most steps, {}, is used for all",
                  rank.smallest_batch, rank.largest_batch, rank.batch.value_or(0)),
      "throughput, global batch and learning rate are those of this batch; give --batch-per-worker for another one"};
}

Note note_on_rows(const RankTrace& rank) {
  return {Severity::warning, "batch_of_rows", 1,
          fmt::format("the batch is the number of rows of the first matrix product (aten::addmm), {}: if the model processes "
                      "sequences, the rows are samples times positions, as with torch.compile",
                      rank.batch.value_or(0)),
          "throughput, global batch and learning rate are those of this batch; give --batch-per-worker for another one"};
}

}  // namespace ddpprof::import
