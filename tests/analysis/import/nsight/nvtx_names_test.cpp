// Names of ranges, in the spellings of PyTorch, DeepSpeed, Lightning, Megatron and users.
#include "analysis/import/nsight/nvtx_names.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace ddpprof::import {
namespace {

TEST(NvtxNames, OfStepsWithANumber) {
  struct Case {
    const char* name;
    const char* pattern;
    std::int64_t number;
  };
  for (const Case& expected : std::vector<Case>{{"iteration 5", "iteration", 5},
                                                {"step 3", "step", 3},
                                                {"ProfilerStep#4", "profilerstep", 4},
                                                {"iter 7", "iter", 7},
                                                {"iter7", "iter", 7},
                                                {"Iteration-12", "iteration", 12},
                                                {"train_step: 9", "train step", 9},
                                                {"Train Step (11)", "train step", 11},
                                                {"epoch 2, step 40/100", "epoch N step", 40},
                                                {"batch 8 of 10", "batch", 8},
                                                {"global_step_100000", "global step", 100000}}) {
    const std::optional<NumberedStep> step = numbered_step(expected.name);
    ASSERT_TRUE(step) << expected.name;
    EXPECT_EQ(step->pattern, expected.pattern) << expected.name;
    EXPECT_EQ(step->number, expected.number) << expected.name;
  }
  for (const char* name : {"", "step", "layer 3", "micro_batch 2", "microbatch 2", "optimizer step 3", "step 3 forward",
                           "aten::step 3", "step 99999999999999999999", "epoch 1", "validation step 4", "stepping 3",
                           "val iteration 3", "eval_step 1", "epoch 2, test step 5", "inference iter 7"})
    EXPECT_FALSE(numbered_step(name)) << name;
}

TEST(NvtxNames, OfPhases) {
  const auto expect = [](NvtxMeaning meaning, const std::vector<const char*>& names) {
    for (const char* name : names) EXPECT_EQ(meaning_of(name), meaning) << name;
  };
  expect(NvtxMeaning::forward,
         {"forward", "Forward", "fwd", "forward pass", "forward_step", "forward-compute", "model_forward", "FORWARD 3",
          "DistributedDataParallel.forward", "FullyShardedDataParallel.forward", "DeepSpeedEngine.forward"});
  expect(NvtxMeaning::backward, {"backward", "bwd", "Backward Pass", "loss.backward", "backward_step",
                                 "DeepSpeedEngine.backward", "[pl][profile][Strategy]DDPStrategy.backward"});
  expect(NvtxMeaning::optimizer, {"optimizer", "optimizer_step", "Optimizer.step#SGD.step", "opt",
                                  "DeepSpeedEngine.step", "weight update", "optimizer.step"});
  expect(NvtxMeaning::data, {"data", "dataloader", "data_loading", "load batch", "data wait",
                             "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                             "[pl][profile][_TrainingEpochLoop].train_dataloader_next"});
  expect(NvtxMeaning::backward_op,
         {"autograd::engine::evaluate_function: AddmmBackward0", "AddmmBackward0", "NllLossBackward"});
  expect(NvtxMeaning::gradient, {"torch::autograd::AccumulateGrad"});
  expect(NvtxMeaning::step, {"step", "train_step", "Training Step", "iteration", "[pl][profile]run_training_batch"});
  expect(NvtxMeaning::none, {"", "aten::add", "layer1.forward", "FlashAttnFunc", "zero_grad",
                             "Optimizer.zero_grad#SGD.zero_grad", "epoch", "forward backward", "nccl:all_reduce"});
}

TEST(NvtxNames, OfEmittedOperationsWithoutWhatDiffersFromCallToCall) {
  const NvtxName name =
      parse_emitted("aten::addmm, seq = 41, op_id = 1023, sizes = [[10], [64, 784]], input_op_ids = [(1,0)]");
  EXPECT_EQ(name.name, "aten::addmm");
  EXPECT_EQ(name.sizes, "[[10], [64, 784]]");
  EXPECT_EQ(parse_emitted("aten::to, op_id = 7").name, "aten::to");
  EXPECT_EQ(parse_emitted("plain, text").name, "plain, text");
}

}  // namespace
}  // namespace ddpprof::import
