#include "runner/scenario/suggest.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace ddpprof::scenario {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsSubstitutionsAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("steps", ""), 5);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);  // the textbook's example
  EXPECT_EQ(edit_distance("stpes", "steps"), 1);     // a swap is one edit
  EXPECT_EQ(edit_distance("ca", "abc"), 3);          // optimal string alignment, not the unrestricted distance (2)
}

TEST(EditDistance, IgnoresCaseAndTheKindOfDash) { EXPECT_EQ(edit_distance("Batch-Per-Worker", "batch_per_worker"), 0); }

TEST(EditDistance, IsSymmetric) {
  const std::string_view words[] = {"workers", "worker", "backend", "", "warmup_steps", "measure"};
  for (const auto a : words) {
    for (const auto b : words) EXPECT_EQ(edit_distance(a, b), edit_distance(b, a)) << a << " " << b;
  }
}

TEST(Nearest, TakesTheFirstOfTheNearestWithinAThird) {
  const std::string_view names[] = {"ddp", "dp", "predict"};
  EXPECT_EQ(nearest("dpp", names), "ddp");
  EXPECT_EQ(nearest("perdict", names), "predict");
  EXPECT_EQ(nearest("gloo", names), "");
  EXPECT_EQ(nearest("", names), "");
  EXPECT_EQ(nearest(std::string(100000, 'd'), names), "");
}

}  // namespace
}  // namespace ddpprof::scenario
