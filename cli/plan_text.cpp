#include "cli/plan_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runner/scenario_queries/trained.hpp"

namespace ddpprof::cli {

std::string plan_heading(const scenario::Scenario& scenario, const measure::Plan& plan) {
  const auto& measure = scenario.measure;
  const std::string warmup = measure.warmup_steps
                                 ? std::to_string(*measure.warmup_steps)
                                 : fmt::format("automatic (at most {})", scenario::most_automatic_warmup_steps);
  std::string steps = fmt::format("{} warm-up and {}{} measured steps each", warmup,
                                  measure.until_ci_percent ? "at most " : "", measure.steps);
  if (measure.until_ci_percent) {
    steps += fmt::format(", until the median's 95 % interval is within ± {} %", *measure.until_ci_percent);
  }
  if (measure.unwrapped) steps += "; ddp also without the DDP wrapper";
  if (measure.sync == scenario::DeviceSync::never) steps += "; the loop does not wait for the GPU";
  return fmt::format("{}: {}, batch {} per worker, {} on {} ({} cores)\n{} measurement{}, {}\n", scenario.name,
                     scenario.workload.model.label(), fmt::join(scenario::measured_batches(scenario), ", "),
                     plan.backend, plan.device, plan.cores, plan.configurations.size(),
                     plan.configurations.size() == 1 ? "" : "s", steps);
}

std::string plan_text(const scenario::Scenario& scenario, const measure::Plan& plan) {
  std::string text = plan_heading(scenario, plan);
  const bool batches = !scenario.measure.batches.empty();
  text += fmt::format("{:>3}  {:<8} {:>7}{} {:>9} {:>12} {:>6}\n", "#", "strategy", "workers",
                      batches ? fmt::format(" {:>7}", "batch") : "", "processes", "threads each", "repeat");
  int index = 0;
  for (const measure::Configuration& configuration : plan.configurations) {
    text += fmt::format(
        "{:>3}  {:<8} {:>7}{} {:>9} {:>12} {:>6}{}\n", ++index, to_string(configuration.strategy),
        configuration.workers, batches ? fmt::format(" {:>7}", configuration.batch_per_worker) : "",
        configuration.processes(), configuration.threads_per_rank, configuration.repeat,
        configuration.oversubscription > 1.0
            ? fmt::format("  ({:.1f} threads per core: workers share cores)", configuration.oversubscription)
            : "");
  }
  std::string workers;
  for (const std::int64_t n : scenario.predict.workers) workers += (workers.empty() ? "" : ", ") + std::to_string(n);
  const scenario::LearningRate& rate = scenario.learning_rate;
  if (rate.apply) {
    text += fmt::format("learning rate of the training: {}\n", scenario_queries::rate_plan_text(scenario));
    for (const std::string& warning : scenario_queries::rate_warnings(scenario)) text += fmt::format("  {}\n", warning);
  }
  const std::string tuned_at = rate.base_batch ? fmt::format("a global batch of {}", *rate.base_batch)
                                               : fmt::format("N = {}", rate.base_workers);
  text += fmt::format("then: fit, predict N = {}, learning rate from {} at {}\n", workers, rate.base, tuned_at);
  return text;
}

}  // namespace ddpprof::cli
