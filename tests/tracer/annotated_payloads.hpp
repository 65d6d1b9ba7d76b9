// The extended payloads that the annotated program emits and the tests expect.
#pragma once

#include <cstdint>

#include "tracer/format/vocabulary.hpp"

namespace ddpprof::test {

inline constexpr vocabulary::StepInfo expected_step{41, 1, 128};
inline constexpr vocabulary::CollectiveInfo expected_collective{0xfeedfacecafebeef, 17, 4096, 2, -1};
inline constexpr vocabulary::CopyInfo expected_copy{1 << 20, 4, 0};
inline constexpr vocabulary::ReplicaInfo expected_replica{3, 32};
inline constexpr vocabulary::ParameterInfo expected_parameter{5, 7840, 31360};
inline constexpr vocabulary::BucketMember expected_member{1, 2, 5};
inline constexpr vocabulary::ClockSample expected_clock{-5, 1'000'000'000'000, 250};

struct Inner {
  std::int16_t a;
  double b;
};
struct Outer {  // registered without offsets: they follow from NVTX's natural alignment
  std::uint8_t flag;
  Inner inner;
  std::int32_t array[3];
  std::int64_t last;
};
inline constexpr Outer expected_outer{1, {-2, 2.5}, {10, 20, 30}, 99};

struct Carrier {  // the message is inside the payload
  std::uint64_t value;
  char text[16];
};
inline constexpr Carrier expected_carrier{77, "carried"};

struct Choice {  // the value is a union that holds a double
  std::int32_t kind;
  double value;
  std::int32_t after;
};
inline constexpr Choice expected_choice{1, 2.5, 3};

int annotate_payloads();

}  // namespace ddpprof::test
