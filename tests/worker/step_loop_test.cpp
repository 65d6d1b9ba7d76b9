// The loop over training steps on a CPU, without a process group: measure.sync, and losses that are not finite.
#include "runner/worker/loop/step_loop.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "runner/worker/annotate.hpp"
#include "runner/worker/loop/train.hpp"
#include "tests/store/shard_builder.hpp"
#include "tests/worker/recording_tool.hpp"

namespace ddpprof::worker {
namespace {

using scenario::DeviceSync;
using testing::ContainsRegex;
using testing::IsEmpty;
using testing::SizeIs;

// A training at this rate diverges in its first step: all parameters are then infinite or NaN, so step 1 is the first
// one whose loss is NaN. LibTorch's optimizers reject the rate NaN.
constexpr double diverging_rate = std::numeric_limits<double>::infinity();

Context perceptron(DeviceSync sync) {
  Context context;
  scenario::Workload& workload = context.scenario.workload;
  workload.model.widths = {8, 16, 4};
  workload.data.samples = 64;
  workload.batch_per_worker = 8;
  context.scenario.measure.sync = sync;
  return context;
}

class StepLoops : public testing::Test {
 protected:
  struct Training {
    std::vector<std::int64_t> durations_ns;
    std::vector<double> losses_after_steps, losses;  // read during the steps; read after them
    std::vector<torch::Tensor> parameters;
    std::string error;
    std::int64_t loss_marks = 0;
  };

  // Runs `steps` steps of a perceptron at the learning rate `rate`, and reads their losses.
  static Training train(DeviceSync sync, std::int64_t steps, double rate = 0.1) {
    annotate::initialize();
    const Context context = perceptron(sync);
    const scenario::Workload& workload = context.scenario.workload;
    const auto network = make_network(workload.model, workload.seed);
    PlainTrainer trainer(network, PassOptions(workload));
    const auto optimizer = make_optimizer(*network, workload.optimizer, rate);
    StepLoop loop(context, std::make_shared<const Dataset>(workload), nullptr);
    Training training;
    test::take_recorded();
    try {
      loop.run(trainer, *optimizer, vocabulary::StepKind::measured, steps, training.durations_ns);
      training.losses_after_steps = loop.take_losses();
      loop.read_losses();
    } catch (const std::runtime_error& error) {
      training.error = error.what();
    }
    const auto recorded = test::take_recorded();
    training.loss_marks =
        std::count_if(recorded.begin(), recorded.end(), [](const auto& record) { return record.name == "loss"; });
    training.losses = loop.take_losses();
    training.parameters = network->parameters();
    return training;
  }
};

TEST_F(StepLoops, BothValuesOfSyncTrainTheSameModel) {
  const Training waits = train(DeviceSync::every_step, 20), runs_ahead = train(DeviceSync::never, 20);
  EXPECT_EQ(waits.error, "");
  EXPECT_EQ(runs_ahead.error, "");
  EXPECT_THAT(runs_ahead.durations_ns, SizeIs(20));
  EXPECT_THAT(waits.losses_after_steps, SizeIs(20));
  EXPECT_THAT(runs_ahead.losses_after_steps, IsEmpty());
  EXPECT_EQ(waits.losses_after_steps, runs_ahead.losses);
  ASSERT_EQ(waits.parameters.size(), runs_ahead.parameters.size());
  for (std::size_t i = 0; i < waits.parameters.size(); ++i)
    EXPECT_TRUE(torch::equal(waits.parameters[i], runs_ahead.parameters[i])) << "parameter " << i;
  EXPECT_EQ(waits.loss_marks, 20);
  EXPECT_EQ(runs_ahead.loss_marks, 0);
}

TEST_F(StepLoops, ALossThatIsNotFiniteEndsTheTraining) {
  const Training waits = train(DeviceSync::every_step, 5, diverging_rate);
  EXPECT_THAT(waits.durations_ns, SizeIs(1));
  EXPECT_THAT(waits.error, ContainsRegex("the loss is -?nan: expected a finite number"));
  const Training runs_ahead = train(DeviceSync::never, 5, diverging_rate);
  EXPECT_THAT(runs_ahead.durations_ns, SizeIs(5));
  EXPECT_THAT(runs_ahead.error, ContainsRegex("the loss of step 1 is -?nan: expected a finite number"));
}

TEST_F(StepLoops, SyncNeverReadsLossesAfterAThousandSteps) {
  const Training training = train(DeviceSync::never, 1500, diverging_rate);
  EXPECT_THAT(training.durations_ns, SizeIs(1000));
  EXPECT_THAT(training.error, ContainsRegex("the loss of step 1 is -?nan"));
}

class Trainings : public testing::Test {
 protected:
  Context saving_every_five_steps() const {
    Context context = perceptron(DeviceSync::never);
    context.scenario.measure.warmup_steps = 10;
    context.scenario.measure.steps = 10;
    context.scenario.measure.unwrapped = false;
    context.scenario.checkpoint.folder = folder_ / "";
    context.scenario.checkpoint.every_steps = 5;
    return context;
  }

  test::TemporaryFolder folder_;
};

TEST_F(Trainings, SyncNeverReturnsTheLossesOfAllSteps) {
  const nlohmann::json result = worker::train(saving_every_five_steps(), nullptr);
  EXPECT_EQ(result.at("losses").size(), 20u);
  EXPECT_TRUE(std::filesystem::exists(result.at("checkpoint").at("saved").get<std::string>()));
}

// The first checkpoint is due after step 4. Losses are read before it is written.
TEST_F(Trainings, SyncNeverWritesNoCheckpointAfterALossThatIsNotFinite) {
  Context context = saving_every_five_steps();
  context.scenario.learning_rate.base = diverging_rate;
  std::string error;
  try {
    worker::train(context, nullptr);
  } catch (const std::runtime_error& thrown) {
    error = thrown.what();
  }
  EXPECT_THAT(error, ContainsRegex("the loss of step 1 is -?nan: expected a finite number"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / ""));
}

}  // namespace
}  // namespace ddpprof::worker
