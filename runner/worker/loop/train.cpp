#include "runner/worker/loop/train.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "runner/scenario/input_files.hpp"
#include "runner/scenario/schedule.hpp"
#include "runner/worker/annotate.hpp"
#include "runner/worker/checkpoint/saver.hpp"
#include "runner/worker/conditions.hpp"
#include "runner/worker/data_parallel/data_parallel.hpp"
#include "runner/worker/loop/adascale_rate.hpp"
#include "runner/worker/loop/clock_exchange.hpp"
#include "runner/worker/loop/warmup.hpp"
#include "runner/worker/memory/counting_allocator.hpp"
#include "runner/worker/memory/device_memory.hpp"
#include "runner/worker/process_group/agreement.hpp"
#include "runner/worker/status.hpp"
#include "simulator/learning_rate/square_root_rule.hpp"
#include "simulator/stats/stopping.hpp"

namespace ddpprof::worker {
namespace {

using vocabulary::StepKind;

constexpr std::int64_t block_steps = 10;            // between two looks at the interval
constexpr std::int64_t unwrapped_warmup_steps = 2;  // the copy's first steps make its optimizer state
constexpr std::int64_t unwrapped_steps_most = 30;

void measure(const Context& context, Group* group, StepLoop& loop, Trainer& trainer, torch::optim::Optimizer& optimizer,
             std::vector<std::int64_t>& durations) {
  const auto& options = context.scenario.measure;
  if (!options.until_ci_percent) return loop.run(trainer, optimizer, StepKind::measured, options.steps, durations);
  while (true) {
    const auto done = static_cast<std::int64_t>(durations.size());
    loop.run(trainer, optimizer, StepKind::measured, std::min(block_steps, options.steps - done), durations);
    const std::vector<double> samples(durations.begin(), durations.end());
    const bool stop = loop.over() || static_cast<std::int64_t>(durations.size()) >= options.steps ||
                      stats::enough(samples, *options.until_ci_percent);
    if (agree(group, stop)) return;
  }
}

nlohmann::json logged_iterations(const DistributedDataParallel& ddp) {
  auto list = nlohmann::json::array();
  for (const auto& entry : ddp.logged())
    list.push_back({{"iteration", entry.iteration},
                    {"forward_compute_ns", entry.forward_compute_ns},
                    {"backward_compute_ns", entry.backward_compute_ns},
                    {"backward_comm_ns", entry.backward_comm_ns},
                    {"overlap_ns", entry.overlap_ns},
                    {"first_launch_to_backward_end_ns", entry.first_launch_to_backward_end_ns}});
  return list;
}

nlohmann::json clock_samples(const std::vector<vocabulary::ClockSample>& samples) {
  auto list = nlohmann::json::array();
  for (const auto& sample : samples) list.push_back({sample.local_ns, sample.reference_ns, sample.round_trip_ns});
  return list;
}

std::string hexadecimal(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(value));
  return text;
}

// What the run did that its user may not have meant, for the database's diagnostics.
nlohmann::json data_warnings(const scenario::Data& data, std::int64_t epochs) {
  auto list = nlohmann::json::array();
  const bool drawn = data.shuffle || data.sampling == scenario::Sampling::balanced;
  if (!data.set_epoch && drawn && epochs > 1)
    list.push_back({{"code", "set_epoch_forgotten"},
                    {"message", "the sampler's set_epoch was not called: all " + std::to_string(epochs) +
                                    " epochs of this run took the samples in the order of the first"},
                    {"advice",
                     "call sampler.set_epoch(epoch) before each epoch (here: workload.data.set_epoch: "
                     "true); times are not affected, what is learnt is"}});
  return list;
}

struct Clocks {
  std::vector<vocabulary::ClockSample> begin, end;
};

// Of a training that follows the rule: its place among the optimizers, and what the square root makes of Adam's
// settings.
RuleSettings rule_settings(const Context& context, std::int64_t samples) {
  const scenario::LearningRate& rate = context.scenario.learning_rate;
  if (!rate.apply) return {};
  RuleSettings settings{rate.rule, rate.trust, {}};
  if (settings.rule == learning_rate::Rule::square_root)
    settings.adam =
        learning_rate::scale_adam({}, scenario::schedule_of(context.scenario, context.workers(), samples).kappa)
            .settings;
  return settings;
}

bool trains_by_adascale(const Context& context) {
  const scenario::LearningRate& rate = context.scenario.learning_rate;
  return rate.apply && rate.rule == learning_rate::Rule::adascale;
}

// The training so far in epochs. Samples tell, not steps: the checkpoint may be of another number of workers or batch.
double epochs_so_far(const Context& context, std::int64_t samples, const Progress& begin) {
  const std::int64_t own =
      learning_rate::samples_of_worker(samples, context.workers(), context.scenario.workload.data.drop_last);
  return static_cast<double>(begin.epoch) +
         static_cast<double>(begin.position) / static_cast<double>(std::max<std::int64_t>(1, own) * context.workers());
}

// … in steps of this run's batch: those of the checkpoint where its batch was the same.
std::int64_t schedule_start(const Context& context, std::int64_t samples, const Progress& begin) {
  const auto plan = scenario::learning_rate_plan(context.scenario, context.workers(), samples);
  return std::llround(epochs_so_far(context, samples, begin) * learning_rate::unscaled(plan).epoch_steps);
}

// Where AdaScale goes on: as the checkpoint was left, or, after steps that were taken by another rule, as the base
// batch would be after as many samples.
learning_rate::AdaScaleState adascale_start(const Context& context, std::int64_t samples, const Progress& begin) {
  if (begin.adascale) return *begin.adascale;
  const auto plan = scenario::learning_rate_plan(context.scenario, context.workers(), samples);
  learning_rate::AdaScaleState state;
  state.base_batch = plan.base_batch;
  state.base_steps = epochs_so_far(context, samples, begin) * learning_rate::base_schedule(plan).epoch_steps;
  return state;
}

nlohmann::json adascale_facts(const learning_rate::AdaScaleState& state) {
  return {{"steps", state.steps},
          {"base_steps", state.base_steps},
          {"base_batch", state.base_batch},
          {"gradient_sqr", state.average.gradient_sqr},
          {"trace_samples", state.average.trace}};
}

// How the loop's steps get their rates. What it makes is the loop's from then on, but AdaScale's, which is returned.
std::shared_ptr<AdaScaleRate> follow_the_rule(const Context& context, Group* group, std::int64_t samples,
                                              const Progress& begin, StepLoop& loop) {
  if (!context.scenario.learning_rate.apply) return nullptr;
  if (!trains_by_adascale(context)) {
    const auto schedule = scenario::schedule_of(context.scenario, context.workers(), samples);
    const std::int64_t before = schedule_start(context, samples, begin) - begin.steps;
    loop.rate([schedule, before](const Progress& progress, const std::optional<StepNorms>&) {
      return schedule.lr_at(before + progress.steps);
    });
    return nullptr;
  }
  const auto plan = scenario::learning_rate_plan(context.scenario, context.workers(), samples);
  if ((!group || context.strategy != scenario::Strategy::ddp) && learning_rate::unscaled(plan).kappa != 1.0)
    throw scenario::DataError(
        "learning_rate.rule: adascale needs the gradients of DDP's ranks, also of one; expected strategy ddp, started "
        "by "
        "ddpprof run, torchrun, srun or mpirun, or a global batch of learning_rate.base_batch");
  auto adascale = std::make_shared<AdaScaleRate>(context, group, samples, adascale_start(context, samples, begin));
  loop.rate([adascale](Progress& progress, const std::optional<StepNorms>& norms) {
    const double rate = adascale->next(norms);
    progress.adascale = adascale->state();
    return rate;
  });
  loop.over([adascale] { return adascale->done(); });
  return adascale;
}

std::unique_ptr<Trainer> make_trainer(const Context& context, Group* group, std::shared_ptr<Network> network) {
  const auto& workload = context.scenario.workload;
  if (context.strategy == scenario::Strategy::ddp && group)
    return std::make_unique<DdpTrainer>(std::move(network), *group, context.scenario);
  // PyTorch's data_parallel on one device calls the module itself: nothing is replicated, scattered or gathered.
  if (context.replicas == 1) {
    mark_parameters(*network);
    return std::make_unique<PlainTrainer>(std::move(network), PassOptions(workload));
  }
  if (context.device.is_cuda())
    return make_cuda_data_parallel(std::move(network), PassOptions(workload), context.replicas);
  return std::make_unique<CpuDataParallel>(std::move(network), PassOptions(workload), context.replicas, context.threads,
                                           context.timeout());
}

}  // namespace

nlohmann::json train(const Context& context, Group* group) {
  const auto& workload = context.scenario.workload;
  const auto& options = context.scenario.measure;
  const double rate = context.scenario.learning_rate.base;
  const bool ddp_strategy = context.strategy == scenario::Strategy::ddp;
  const std::string& resume = context.scenario.checkpoint.resume;
  const std::int64_t unwrapped_planned =
      group && options.unwrapped ? unwrapped_warmup_steps + std::min(options.steps, unwrapped_steps_most) : 0;
  status::set_steps_planned(least_warmup_steps(context) + options.steps + unwrapped_planned);

  std::optional<annotate::Range> setup(std::in_place, annotate::Name::setup);
  status::set(status::Activity::building_model);
  at::set_num_threads(context.threads);
  auto network = make_network(workload.model, workload.seed);
  network->to(context.device);
  network->train();
  std::optional<Checkpoint> start;
  if (!resume.empty()) start.emplace(resume).restore(*network);
  CheckpointSaver saver(context, group);
  const auto dataset = [&] {
    const memory::For host(memory::host);
    return std::make_shared<const Dataset>(workload);
  }();
  std::optional<Dump> dump;
  if (!context.dump.empty())
    dump.emplace(context.dump, context.environment.rank, context.dump_steps, context.dump_gradients);
  auto trainer = make_trainer(context, group, network);
  if (dump) dump->initial(*network);
  const auto optimizer = make_optimizer(*network, workload.optimizer, rate, rule_settings(context, dataset->samples()));
  if (start) start->restore(*optimizer, workload.optimizer.kind);
  Clocks clocks;
  if (group) clocks.begin = exchange_clocks(*group->control);
  meet(group);
  setup.reset();

  Progress begin = start ? start->progress() : Progress{};
  if (!trains_by_adascale(context)) begin.adascale.reset();
  StepLoop loop(context, dataset, dump ? &*dump : nullptr, begin);
  const auto adascale = follow_the_rule(context, group, dataset->samples(), begin, loop);
  std::optional<GradientNorms> norms;
  if (ddp_strategy && group) loop.watch(&norms.emplace(context, *group, adascale != nullptr));
  loop.between_steps([&](const Progress& progress) { return saver.after_step(*network, *optimizer, progress); });
  if (start) start->restore_random();  // last: making models draws, too
  start.reset();
  std::vector<std::int64_t> measured, unwrapped;
  std::optional<ConditionWatch> watch;
  const Warmup warmup = warm_up(context, group, loop, *trainer, *optimizer, [&] {
    watch.emplace(context.environment.local_rank == 0);
    begin_memory_window(context);
    meet(group);  // reading the host takes its rank longer, which is nobody's step
  });
  status::set_steps_planned(warmup.steps() + options.steps + unwrapped_planned);
  measure(context, group, loop, *trainer, *optimizer, measured);
  if (measured.empty())
    throw std::runtime_error(
        "the training was over before the first measured step: AdaScale's steps were worth all of "
        "learning_rate.epochs; expected more epochs, or fewer of measure.warmup_steps");
  const nlohmann::json conditions = watch->end();
  const nlohmann::json memory_used = device_memory(context);
  saver.at_end(*network, *optimizer, loop.progress());
  loop.between_steps({});
  const std::vector<double> losses = loop.take_losses();
  const double loss = losses.empty() ? 0.0 : losses.back();
  const std::uint64_t hash = hash_parameters(*network), buffers = hash_buffers(*network);
  auto* ddp = dynamic_cast<DdpTrainer*>(trainer.get());
  if (dump) {
    dump->finish(*network, ddp ? ddp->ddp().first_buckets() : DistributedDataParallel::Buckets{},
                 ddp ? ddp->ddp().rebuilt_buckets() : DistributedDataParallel::Buckets{});
  }
  if (ddp && options.unwrapped) {
    loop.stop_dumping();
    loop.watch(nullptr);
    loop.rate({});  // one worker's own batch: the base rate, which the batch of all workers need not suit
    PlainTrainer plain(clone_network(*network), PassOptions(workload));
    const auto plain_optimizer =
        make_optimizer(plain.network(), workload.optimizer, rate, rule_settings(context, dataset->samples()));
    std::vector<std::int64_t> ignored;
    meet(group);
    loop.run(plain, *plain_optimizer, StepKind::warmup, unwrapped_warmup_steps, ignored);
    meet(group);
    const auto steps = std::min<std::int64_t>(static_cast<std::int64_t>(measured.size()), unwrapped_steps_most);
    loop.run(plain, *plain_optimizer, StepKind::unwrapped, steps, unwrapped);
    meet(group);
  }
  if (group) clocks.end = exchange_clocks(*group->control);

  auto warnings = data_warnings(workload.data, loop.epochs());
  if (loop.over() && static_cast<std::int64_t>(measured.size()) < options.steps)
    warnings.push_back({{"code", "training_over"},
                        {"message", "the training was over after " + std::to_string(measured.size()) + " of " +
                                        std::to_string(options.steps) +
                                        " measured steps: by AdaScale they were worth all of learning_rate.epochs"},
                        {"advice", "nothing is lost; for more steps raise learning_rate.epochs"}});
  nlohmann::json result{
      {"parameter_count", count_parameters(*network)},
      {"parameter_bytes", parameter_bytes(*network)},
      {"parameter_hash", hexadecimal(hash)},
      {"buffer_hash", hexadecimal(buffers)},
      {"final_loss", loss},
      {"losses", losses},
      {"samples_per_step", workload.batch_per_worker * workload.accumulation * (ddp_strategy ? 1 : context.replicas)},
      {"steps", {{"warmup", warmup.steps()}, {"measured", measured.size()}, {"unwrapped", unwrapped.size()}}},
      {"step_ns", {{"warmup", warmup.durations_ns}, {"measured", measured}, {"unwrapped", unwrapped}}},
      {"warmup", {{"steps", warmup.steps()}, {"automatic", warmup.automatic}, {"settled", warmup.settled}}},
      {"conditions", conditions},
      {"memory", memory_used},
      {"data_samples", dataset->samples()},
      {"epochs", loop.epochs()},
      {"checkpoint", {{"resumed", resume}, {"resumed_step", begin.steps}, {"saved", saver.path().string()}}},
      {"warnings", warnings},
      {"clock_samples", {{"begin", clock_samples(clocks.begin)}, {"end", clock_samples(clocks.end)}}}};
  if (adascale)
    result["checkpoint"]["adascale"] = adascale_facts(adascale_start(context, dataset->samples(), begin));
  else if (context.scenario.learning_rate.apply)
    result["checkpoint"]["schedule_step"] = schedule_start(context, dataset->samples(), begin);
  if (ddp) {
    result["logger"] = logged_iterations(ddp->ddp());
    result["buckets"] = {{"first", ddp->ddp().first_buckets()}, {"rebuilt", ddp->ddp().rebuilt_buckets()}};
  }
  return result;
}

}  // namespace ddpprof::worker
