#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "runner/scenario/checks.hpp"
#include "runner/scenario/schedule.hpp"

namespace ddpprof::scenario {
namespace {

using learning_rate::Rule;

class LearningRateChecks {
 public:
  LearningRateChecks(const Scenario& scenario, const BrokenKeys& broken, Tree& tree)
      : scenario_(scenario), broken_(broken), tree_(tree) {}

  void run() {
    decay();
    base_batch();
    layerwise();
    adascale();
    applied_rate();
    if (!sound({"learning_rate.warmup_epochs", "learning_rate.epochs"})) return;
    const LearningRate& rate = scenario_.learning_rate;
    const bool warms_up = rate.rule != Rule::none && rate.rule != Rule::adascale;
    if (!warms_up || rate.warmup_epochs <= static_cast<double>(rate.epochs)) return;
    tree_.complain_at({"learning_rate.warmup_epochs", "learning_rate.epochs"},
                      fmt::format("a warm-up of {} epochs is longer than the training; expected at most epochs = {}",
                                  rate.warmup_epochs, rate.epochs));
  }

 private:
  bool sound(std::initializer_list<std::string_view> keys) const { return none_of(broken_, keys); }

  // Rejects keys of another decay. They would be ignored without a message.
  void decay() {
    if (!sound({"learning_rate.decay"})) return;
    const learning_rate::Decay& given = scenario_.learning_rate.decay;
    const learning_rate::Decay usual;
    const auto belongs = [&](std::string_view key, bool changed, learning_rate::DecayKind kind) {
      if (!sound({key}) || !changed || given.kind == kind) return;
      tree_.complain_at({key}, fmt::format("applies only to 'decay: {}'; with '{}' leave it out",
                                           learning_rate::to_string(kind), learning_rate::to_string(given.kind)));
    };
    belongs("learning_rate.decay_epochs", given.at_epochs != usual.at_epochs, learning_rate::DecayKind::step);
    belongs("learning_rate.decay_factor", given.factor != usual.factor, learning_rate::DecayKind::step);
    belongs("learning_rate.decay_power", given.power != usual.power, learning_rate::DecayKind::polynomial);
  }

  void base_batch() {
    if (!sound({"learning_rate.base_batch", "learning_rate.base_workers"})) return;
    const LearningRate& rate = scenario_.learning_rate;
    if (!rate.base_batch || rate.base_workers == 1) return;
    tree_.complain_at({"learning_rate.base_batch", "learning_rate.base_workers"},
                      "sets the same value as 'base_workers'; expected only one of the two");
  }

  void layerwise() {
    if (!sound({"learning_rate.rule", "learning_rate.trust", "workload.optimizer.kind"})) return;
    const LearningRate& rate = scenario_.learning_rate;
    if (rate.rule != Rule::lars && rate.trust != LearningRate{}.trust)
      tree_.complain_at({"learning_rate.trust"},
                        fmt::format("applies only to 'rule: lars'; with '{}' leave it out", word(rate.rule)));
    const OptimizerKind kind = scenario_.workload.optimizer.kind;
    const auto takes_the_place_of = [&](Rule rule, OptimizerKind wanted) {
      if (!rate.apply || rate.rule != rule || kind == wanted) return;
      tree_.complain_at({"learning_rate.rule", "workload.optimizer.kind"},
                        fmt::format("replaces {0}; expected 'workload.optimizer.kind: {0}', found '{1}'",
                                    to_string(wanted), to_string(kind)));
    };
    takes_the_place_of(Rule::lars, OptimizerKind::sgd);
    takes_the_place_of(Rule::lamb, OptimizerKind::adamw);
    if (rate.apply && rate.rule == Rule::adascale && kind != OptimizerKind::sgd)
      tree_.complain_at({"learning_rate.rule", "workload.optimizer.kind"},
                        fmt::format("adascale is defined for SGD, not for '{}'; expected "
                                    "'workload.optimizer.kind: sgd'",
                                    to_string(kind)));
  }

  // DataParallel does not keep the gradients of each replica, so their noise is unknown.
  void adascale() {
    const LearningRate& rate = scenario_.learning_rate;
    if (!sound({"learning_rate.rule", "learning_rate.apply", "strategies"}) || !rate.apply ||
        rate.rule != Rule::adascale ||
        std::ranges::find(scenario_.strategies, Strategy::dp) == scenario_.strategies.end())
      return;
    tree_.complain_at({"learning_rate.rule", "strategies"},
                      "adascale needs the gradients of DDP's ranks; expected 'strategies: [ddp]'");
  }

  // Rejects a rule that has no rate at some N before any configuration is measured.
  void applied_rate() {
    if (!scenario_.learning_rate.apply) return;
    if (!sound({"learning_rate.base", "learning_rate.base_workers", "learning_rate.base_batch", "learning_rate.rule",
                "learning_rate.warmup_epochs", "learning_rate.epochs", "learning_rate.decay",
                "learning_rate.decay_epochs", "learning_rate.decay_factor", "learning_rate.decay_power", "workers",
                "workload.batch_per_worker", "workload.accumulation", "workload.optimizer.kind",
                "workload.data.samples"}))
      return;
    // If only the files determine the number of samples, use 1: the rules' errors do not depend on it.
    const std::int64_t samples = scenario_.workload.data.known_samples().value_or(1);
    for (const std::int64_t workers : scenario_.workers) {
      try {
        if (scenario_.learning_rate.rule == Rule::adascale)
          adascale_of(scenario_, workers, samples);
        else
          schedule_of(scenario_, workers, samples);
      } catch (const std::invalid_argument& error) {
        return tree_.complain_at({"learning_rate.apply", "learning_rate.rule"},
                                 fmt::format("with {} workers: {}", workers, error.what()));
      }
    }
  }

  const Scenario& scenario_;
  const BrokenKeys& broken_;
  Tree& tree_;
};

}  // namespace

void check_learning_rate(const Scenario& scenario, const BrokenKeys& broken, Tree& tree) {
  LearningRateChecks(scenario, broken, tree).run();
}

}  // namespace ddpprof::scenario
