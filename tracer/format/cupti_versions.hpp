// Maps CUPTI's version numbers to CUDA versions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace ddpprof::trace {

// The first version whose records have the layout that the tracer reads (CUDA 11.0).
inline constexpr std::uint32_t oldest_cupti = 13;
// The first version that keeps working when a buffer request is refused (CUDA 12.9).
inline constexpr std::uint32_t first_cupti_with_refusable_buffers = 27;
// The first version that is safe with a timestamp callback (CUDA 13.1). From CUDA 12.6 Update 2 on, kernels of earlier
// versions can have the time 0 if a callback is registered (CUPTI's release notes; pytorch/pytorch#192021).
inline constexpr std::uint32_t first_cupti_with_sound_timestamp_callback = 130'100;

struct CudaVersion {
  std::uint32_t major = 0, minor = 0;
  std::string text() const { return std::to_string(major) + "." + std::to_string(minor); }
  friend auto operator<=>(const CudaVersion&, const CudaVersion&) = default;
};

// Returns the CUDA toolkit of a version number of cuptiGetVersion. A number between two known ones gets the earlier
// toolkit. Returns nullopt for numbers before CUDA 11.0. Source: the list in cupti_version.h; from CUDA 13 on the
// number is major * 10000 + minor * 100 + update.
inline std::optional<CudaVersion> cuda_of_cupti(std::uint32_t number) {
  if (number >= 130000) return CudaVersion{number / 10000, number / 100 % 100};
  constexpr std::array<std::pair<std::uint32_t, CudaVersion>, 15> known = {{{13, {11, 0}},
                                                                            {14, {11, 1}},
                                                                            {15, {11, 2}},
                                                                            {16, {11, 5}},
                                                                            {17, {11, 6}},
                                                                            {18, {11, 8}},
                                                                            {19, {12, 0}},
                                                                            {20, {12, 2}},
                                                                            {21, {12, 3}},
                                                                            {22, {12, 4}},
                                                                            {23, {12, 5}},
                                                                            {24, {12, 6}},
                                                                            {26, {12, 8}},
                                                                            {27, {12, 9}},
                                                                            {28, {12, 9}}}};
  std::optional<CudaVersion> found;
  for (const auto& [from, version] : known)
    if (number >= from) found = version;
  return found;
}

// `number` as cuDriverGetVersion and cudaRuntimeGetVersion return it: major * 1000 + minor * 10.
inline CudaVersion cuda_of_driver(int number) {
  return {static_cast<std::uint32_t>(number) / 1000, static_cast<std::uint32_t>(number) % 1000 / 10};
}

}  // namespace ddpprof::trace
