// Messages and batches from recorded shapes.
#include "analysis/import/kineto/shapes.hpp"

#include <gmock/gmock.h>

namespace ddpprof::import {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Shapes, TheTensorInput) {
  const auto one = first_input("[[64, 784], [1024, 784]]", R"(["float", "float"])");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->elements, 64 * 784);
  EXPECT_EQ(one->element_bytes, 4);
  EXPECT_EQ(one->shape, "[64, 784]");
  const auto list = first_input("[[[10, 2], [5]], []]", R"(["c10::Half"])");  // a list of tensors
  ASSERT_TRUE(list);
  EXPECT_EQ(list->elements, 25);
  EXPECT_EQ(list->element_bytes, 2);
  EXPECT_EQ(first_input("[[]]", "[\"double\"]")->elements, 1) << "a scalar";
  EXPECT_EQ(input_at("[[5], [2, 5], []]", R"(["float", "float", ""])", 1)->elements, 10);
  EXPECT_FALSE(input_at("[[5]]", "[\"float\"]", 1));
  EXPECT_EQ(first_input("[[7]]", "")->element_bytes, 0);
  for (const char* none : {"", "[]", "[", "[[", "[[1, 2", "5", "[[-1]]", "[[9000000000, 9000000000]]"})
    EXPECT_FALSE(first_input(none, "[\"float\"]")) << none;
}

TEST(Shapes, TheBatchOfAnOperation) {
  EXPECT_EQ(batch_of("aten::conv2d", "[[32, 3, 224, 224], [64, 3, 7, 7]]"), 32);
  EXPECT_EQ(batch_of("aten::linear", "[[16, 10], [5, 10]]"), 16);
  EXPECT_EQ(batch_of("aten::addmm", "[[5], [16, 10], [10, 5]]"), 16);
  EXPECT_EQ(batch_of("aten::embedding", "[[1000, 64], [8, 128]]"), 8);
  EXPECT_EQ(batch_of("aten::embedding", "[[512, 64], [1, 512]]"), std::nullopt) << "positions";
  EXPECT_EQ(batch_of("aten::relu", "[[32, 3]]"), std::nullopt);
  for (const char* none : {"", "[]", "[[]]", "[[0, 3]]", "[[-4, 3]]", "[\"x\"]", "[[..., 3]]"})
    EXPECT_EQ(batch_of("aten::conv2d", none), std::nullopt) << none;
}

TEST(Shapes, WholeNumbers) {
  EXPECT_THAT(whole_numbers("[0, 1, -2]"), ElementsAre(0, 1, -2));
  EXPECT_THAT(whole_numbers("\"[3]\""), ElementsAre(3));
  for (const char* none : {"", "[]", "[0, ..., 7]", "[99999999999999999999]", "[1.5]"})
    EXPECT_THAT(whole_numbers(none), IsEmpty()) << none;
}

}  // namespace
}  // namespace ddpprof::import
