#include "analysis/import/trace/job/job_notes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ddpprof::import {

using ingest::Severity;

std::vector<Note> job_notes(const JobFacts& job, std::int64_t accumulation) {
  std::vector<Note> notes;
  if (job.accumulation > 0 && accumulation > 0 && job.accumulation != accumulation)
    notes.push_back({Severity::warning, "accumulation_differs", 1,
                     fmt::format("DDP's forward ran {} times in an optimizer step before the trace, but {} backwards "
                                 "were traced in most steps",
                                 job.accumulation, accumulation),
                     "the number of traced backwards is used; trace other steps (--steps) if these are not typical"});
  if (job.batch > 0 && job.batch_others > 0)
    // The last batch of an epoch is usual, another one in four forwards is not.
    notes.push_back(
        {job.batch_others > job.batch_forwards / 4 ? Severity::warning : Severity::info, "batch_varies",
         job.batch_others,
         fmt::format("the batch varies: most forwards have {} samples, {} of {} have between {} and {}", job.batch,
                     job.batch_others, job.batch_forwards, job.batch_least, job.batch_most),
         "throughput and learning rate are of the most frequent batch; a DataLoader with drop_last=True has "
         "no smaller last batch"});
  if (job.learning_rate_of_step > 0.0)
    notes.push_back(
        {Severity::info, "learning_rate_scheduled", 1,
         fmt::format("a schedule changes the learning rate: it was {:.4g} before the traced steps; the rate "
                     "that the scheduler was given is {:.4g}",
                     job.learning_rate_of_step, job.learning_rate),
         "the second one is the base rate of the answer; the schedule multiplies the rate for another N in "
         "the same way"});
  if (!job.learning_rates.empty())
    notes.push_back({Severity::warning, "learning_rates_differ", static_cast<std::int64_t>(job.learning_rates.size()),
                     fmt::format("groups of parameters have different learning rates ({:.4g}): the answer has that of "
                                 "the first group, {:.4g}",
                                 fmt::join(job.learning_rates, ", "), job.learning_rate),
                     "multiply the rates of all groups by the same factor"});
  if (!job.other_optimizers.empty())
    notes.push_back(
        {Severity::warning, "several_optimizers", static_cast<std::int64_t>(job.other_optimizers.size()),
         fmt::format("the training also steps other optimizers ({}): steps, learning rate and its rule are "
                     "those of {}",
                     fmt::join(job.other_optimizers, ", "), job.optimizer.empty() ? "the first one" : job.optimizer),
         "scale the rates of the other optimizers by their own rules"});
  return notes;
}

}  // namespace ddpprof::import
