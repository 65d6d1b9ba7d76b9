// Tests which ranges are steps, with and without a name from the user.
#include "tracer/format/step_name.hpp"

#include <gtest/gtest.h>

namespace ddpprof::vocabulary {
namespace {

TEST(StepName, IsTheRangesNameWithOrWithoutANumber) {
  struct Case {
    const char *text, *range;
    std::optional<std::int64_t> number;
  };
  for (const Case& expected : {Case{"step", "step", {}},
                               {"step 7", "step", 7},
                               {"step_7", "step", 7},
                               {"step7", "step", 7},
                               {"ProfilerStep#7", "ProfilerStep", 7},
                               {"step 7/100", "step", 7},
                               {"step 7 of 100", "step", 7},
                               {"epoch 2, step 40", "epoch 2, step", 40},
                               {"my loop 12, seq = 5, sizes = [[1]]", "my loop", 12}}) {
    const std::optional<StepName> step = step_name(expected.text, expected.range);
    ASSERT_TRUE(step) << expected.text;
    EXPECT_EQ(step->number, expected.number) << expected.text;
  }
  for (const auto& [text, range] : {std::pair{"steps 7", "step"},
                                    {"Step 7", "step"},
                                    {"step 7 forward", "step"},
                                    {"step forward", "step"},
                                    {"block 17", "block 1"},
                                    {"step 99999999999999999999", "step"},
                                    {"", "step"}})
    EXPECT_FALSE(step_name(text, range)) << text;
}

TEST(StepName, WithoutARangeIsWhatTheImportTakesForOne) {
  EXPECT_EQ(step_name("ProfilerStep#4", "")->number, 4);
  EXPECT_EQ(step_name("train_step", "")->number, std::nullopt);
  EXPECT_EQ(step_name("epoch 2, step 40/100", "")->pattern, "epoch N step");
  for (const char* name : {"forward", "optimizer.step", "Optimizer.step#SGD.step", "aten::step", "micro_batch 2"})
    EXPECT_FALSE(step_name(name, "")) << name;
}

}  // namespace
}  // namespace ddpprof::vocabulary
