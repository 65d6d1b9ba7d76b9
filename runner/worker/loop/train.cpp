#include "runner/worker/loop/train.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "runner/worker/annotate.hpp"
#include "runner/worker/checkpoint/saver.hpp"
#include "runner/worker/conditions.hpp"
#include "runner/worker/data_parallel/data_parallel.hpp"
#include "runner/worker/loop/clock_exchange.hpp"
#include "runner/worker/loop/rate_rule.hpp"
#include "runner/worker/loop/step_loop.hpp"
#include "runner/worker/loop/warmup.hpp"
#include "runner/worker/memory/counting_allocator.hpp"
#include "runner/worker/memory/device_memory.hpp"
#include "runner/worker/process_group/agreement.hpp"
#include "runner/worker/status.hpp"
#include "simulator/stats/stopping.hpp"

namespace ddpprof::worker {
namespace {

using vocabulary::StepKind;

constexpr std::int64_t block_steps = 10;            // between two checks of the interval
constexpr std::int64_t unwrapped_warmup_steps = 2;  // the first steps of the copy make its optimizer state
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

// Returns warnings about options that the user may not have intended, for the database's diagnostics.
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

std::unique_ptr<Trainer> make_trainer(const Context& context, Group* group, std::shared_ptr<Network> network) {
  const auto& workload = context.scenario.workload;
  if (context.strategy == scenario::Strategy::ddp && group)
    return std::make_unique<DdpTrainer>(std::move(network), *group, context.scenario);
  // On one device PyTorch's data_parallel calls the module directly: there is no replicate, scatter or gather.
  if (context.replicas == 1) {
    mark_parameters(*network);
    return std::make_unique<PlainTrainer>(std::move(network), PassOptions(workload));
  }
  if (context.device.is_cuda())
    return make_cuda_data_parallel(std::move(network), PassOptions(workload), context.replicas);
  return std::make_unique<CpuDataParallel>(std::move(network), PassOptions(workload), context.replicas, context.threads,
                                           context.timeout());
}

// One rank's training. The functions are called in the order in which they are declared.
class Training {
 public:
  // Makes the model, the data, the trainer and the optimizer; restores the checkpoint.
  Training(const Context& context, Group* group);
  // Runs the warm-up and the measured steps. Throws std::runtime_error if the training is over before a measured step.
  void measure_steps();
  // Saves the last checkpoint, and takes hashes and losses. Later steps do not change these results.
  void record_outcome();
  // Runs the same steps without DDP on a copy of the model, if the scenario asks for it.
  void measure_without_ddp();
  // Returns this rank's part of the result file.
  nlohmann::json result() const;

 private:
  void build();
  void start_loop();
  nlohmann::json warnings() const;
  bool ddp_in_group() const { return context_.strategy == scenario::Strategy::ddp && group_; }
  const scenario::Workload& workload() const { return context_.scenario.workload; }
  const scenario::Measure& options() const { return context_.scenario.measure; }
  DdpTrainer* ddp() const { return dynamic_cast<DdpTrainer*>(trainer_.get()); }
  std::unique_ptr<torch::optim::Optimizer> make_rule_optimizer(const Network& network) const {
    return make_optimizer(network, workload().optimizer, context_.scenario.learning_rate.base,
                          rule_settings(context_, dataset_->samples()));
  }

  const Context& context_;
  Group* group_;
  std::int64_t unwrapped_planned_;  // steps without DDP, warm-up included
  std::shared_ptr<Network> network_;
  std::optional<Checkpoint> start_;  // reset once it is restored
  std::optional<CheckpointSaver> saver_;
  std::shared_ptr<const Dataset> dataset_;
  std::optional<Dump> dump_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  std::vector<vocabulary::ClockSample> clocks_begin_, clocks_end_;
  Progress begin_;
  std::optional<StepLoop> loop_;
  std::optional<GradientNorms> norms_;
  Warmup warmup_;
  std::vector<std::int64_t> measured_ns_, unwrapped_ns_;
  nlohmann::json conditions_, memory_;
  std::vector<double> losses_;
  std::uint64_t parameter_hash_ = 0, buffer_hash_ = 0;
};

Training::Training(const Context& context, Group* group)
    : context_(context),
      group_(group),
      unwrapped_planned_(
          group && options().unwrapped ? unwrapped_warmup_steps + std::min(options().steps, unwrapped_steps_most) : 0) {
  status::set_steps_planned(least_warmup_steps(context) + options().steps + unwrapped_planned_);
  build();
  start_loop();
}

void Training::build() {
  const annotate::Range range(annotate::Name::setup);
  status::set(status::Activity::building_model);
  at::set_num_threads(context_.threads);
  network_ = make_network(workload().model, workload().seed);
  network_->to(context_.device);
  network_->train();
  const std::string& resume = context_.scenario.checkpoint.resume;
  if (!resume.empty()) start_.emplace(resume).restore(*network_);
  saver_.emplace(context_, group_);
  {
    const memory::For host(memory::host);
    dataset_ = std::make_shared<const Dataset>(workload());
  }
  if (!context_.dump.empty())
    dump_.emplace(context_.dump, context_.environment.rank, context_.dump_steps, context_.dump_gradients);
  trainer_ = make_trainer(context_, group_, network_);
  if (dump_) dump_->initial(*network_);
  optimizer_ = make_rule_optimizer(*network_);
  if (start_) start_->restore(*optimizer_, workload().optimizer.kind);
  if (group_) clocks_begin_ = exchange_clocks(*group_->control);
  meet(group_);
}

void Training::start_loop() {
  if (start_) begin_ = start_->progress();
  if (!trains_by_adascale(context_)) begin_.adascale.reset();
  loop_.emplace(context_, dataset_, dump_ ? &*dump_ : nullptr, begin_);
  const auto adascale = follow_rule(context_, group_, dataset_->samples(), begin_, *loop_);
  if (ddp_in_group()) loop_->watch(&norms_.emplace(context_, *group_, adascale != nullptr));
  loop_->between_steps([this](const Progress& progress) {
    // If one of this rank's losses is not finite, this throws, and the earlier checkpoint is kept.
    if (saver_->due(progress)) loop_->read_losses();
    return saver_->after_step(*network_, *optimizer_, progress);
  });
  if (start_) start_->restore_random();  // last, since making the model and the loader draws random numbers
  start_.reset();
}

void Training::measure_steps() {
  std::optional<ConditionWatch> watch;
  warmup_ = warm_up(context_, group_, *loop_, *trainer_, *optimizer_, [&] {
    watch.emplace(context_.environment.local_rank == 0);
    begin_memory_window(context_);
    meet(group_);  // reading the host's state delays this rank; the delay must not be charged to a step
  });
  status::set_steps_planned(warmup_.steps() + options().steps + unwrapped_planned_);
  loop_->read_losses();  // the GPU's work of the warm-up must not be in a measured step
  measure(context_, group_, *loop_, *trainer_, *optimizer_, measured_ns_);
  loop_->read_losses();
  if (measured_ns_.empty())
    throw std::runtime_error(
        "the training was over before the first measured step: AdaScale's steps were worth all of "
        "learning_rate.epochs; expected more epochs, or fewer of measure.warmup_steps");
  conditions_ = watch->end();
  memory_ = device_memory(context_);
}

void Training::record_outcome() {
  saver_->at_end(*network_, *optimizer_, loop_->progress());
  loop_->between_steps({});
  losses_ = loop_->take_losses();
  parameter_hash_ = hash_parameters(*network_);
  buffer_hash_ = hash_buffers(*network_);
  if (!dump_) return;
  using Buckets = DistributedDataParallel::Buckets;
  dump_->finish(*network_, ddp() ? ddp()->ddp().first_buckets() : Buckets{},
                ddp() ? ddp()->ddp().rebuilt_buckets() : Buckets{});
}

void Training::measure_without_ddp() {
  if (ddp() && options().unwrapped) {
    loop_->stop_dumping();
    loop_->watch(nullptr);
    loop_->rate({});  // the base rate: the rate for the batch of all workers may be too high for one worker's batch
    PlainTrainer plain(clone_network(*network_), PassOptions(workload()));
    const auto optimizer = make_rule_optimizer(plain.network());
    std::vector<std::int64_t> ignored;
    meet(group_);
    loop_->run(plain, *optimizer, StepKind::warmup, unwrapped_warmup_steps, ignored);
    meet(group_);
    const auto steps = std::min<std::int64_t>(static_cast<std::int64_t>(measured_ns_.size()), unwrapped_steps_most);
    loop_->run(plain, *optimizer, StepKind::unwrapped, steps, unwrapped_ns_);
    meet(group_);
  }
  if (group_) clocks_end_ = exchange_clocks(*group_->control);
}

nlohmann::json Training::warnings() const {
  auto list = data_warnings(workload().data, loop_->epochs());
  if (loop_->over() && static_cast<std::int64_t>(measured_ns_.size()) < options().steps)
    list.push_back({{"code", "training_over"},
                    {"message", "the training was over after " + std::to_string(measured_ns_.size()) + " of " +
                                    std::to_string(options().steps) +
                                    " measured steps: by AdaScale they were worth all of learning_rate.epochs"},
                    {"advice", "nothing is lost; for more steps raise learning_rate.epochs"}});
  return list;
}

nlohmann::json Training::result() const {
  const bool ddp_strategy = context_.strategy == scenario::Strategy::ddp;
  nlohmann::json result{
      {"parameter_count", count_parameters(*network_)},
      {"parameter_bytes", parameter_bytes(*network_)},
      {"parameter_hash", hexadecimal(parameter_hash_)},
      {"buffer_hash", hexadecimal(buffer_hash_)},
      {"final_loss", losses_.empty() ? 0.0 : losses_.back()},
      {"losses", losses_},
      {"samples_per_step",
       workload().batch_per_worker * workload().accumulation * (ddp_strategy ? 1 : context_.replicas)},
      {"steps", {{"warmup", warmup_.steps()}, {"measured", measured_ns_.size()}, {"unwrapped", unwrapped_ns_.size()}}},
      {"step_ns", {{"warmup", warmup_.durations_ns}, {"measured", measured_ns_}, {"unwrapped", unwrapped_ns_}}},
      {"warmup", {{"steps", warmup_.steps()}, {"automatic", warmup_.automatic}, {"settled", warmup_.settled}}},
      {"conditions", conditions_},
      {"memory", memory_},
      {"data_samples", dataset_->samples()},
      {"epochs", loop_->epochs()},
      {"checkpoint",
       {{"resumed", context_.scenario.checkpoint.resume},
        {"resumed_step", begin_.steps},
        {"saved", saver_->path().string()}}},
      {"warnings", warnings()},
      {"clock_samples", {{"begin", clock_samples(clocks_begin_)}, {"end", clock_samples(clocks_end_)}}}};
  result["checkpoint"].update(rule_start(context_, dataset_->samples(), begin_));
  if (ddp()) {
    result["logger"] = logged_iterations(ddp()->ddp());
    result["buckets"] = {{"first", ddp()->ddp().first_buckets()}, {"rebuilt", ddp()->ddp().rebuilt_buckets()}};
  }
  return result;
}

}  // namespace

nlohmann::json train(const Context& context, Group* group) {
  Training training(context, group);
  training.measure_steps();
  training.record_outcome();
  training.measure_without_ddp();
  return training.result();
}

}  // namespace ddpprof::worker
