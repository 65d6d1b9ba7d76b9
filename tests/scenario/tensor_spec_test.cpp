#include "runner/scenario/tensor_spec.hpp"

#include <gtest/gtest.h>

namespace ddpprof::scenario {
namespace {

TEST(TensorSpec, ReadsWhatItWrites) {
  for (const char* text : {"float32[3,224,224]", "float32[]", "int64[128]<50257", "int64[]<10"}) {
    std::string why;
    const auto spec = parse_tensor_spec(text, why);
    ASSERT_TRUE(spec) << text << ": " << why;
    EXPECT_EQ(to_string(*spec), text);
  }
  std::string why;
  EXPECT_EQ(parse_tensor_spec(" float32 [ 3, 4 ] ", why)->elements(), 12);
}

TEST(TensorSpec, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"float[3]", "begin with float32 or int64"},
      {"float32", "a shape in brackets"},
      {"float32[3,]", "whole numbers of 1 or more"},
      {"float32[0]", "whole numbers of 1 or more"},
      {"float32[3", "whole numbers of 1 or more"},
      {"float32[3]<5", "float32 does not take a '<' limit"},
      {"int64[3]", "int64 needs a limit"},
      {"int64[3]<0", "after '<'"},
      {"int64[3]<5x", "unexpected 'x'"},
      {"float32[100000,100000]", "more than 2147483648"},
      {"", "begin with"},
  };
  for (const auto& [text, reason] : cases) {
    std::string why;
    EXPECT_FALSE(parse_tensor_spec(text, why)) << text;
    EXPECT_NE(why.find(reason), std::string::npos) << text << ": " << why;
  }
}

}  // namespace
}  // namespace ddpprof::scenario
