// What to do about a refusal of CUPTI's.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <optional>
#include <string>

namespace ddpprof::record {

struct CuptiVersions {
  std::optional<std::uint32_t> cupti;  // cuptiGetVersion
  std::optional<int> driver;           // cuDriverGetVersion
};

// "CUPTI 12.4 (API 22), driver up to CUDA 12.2"; what is not known is left out.
std::string describe(const CuptiVersions& versions);

// Whether this CUPTI belongs to a later CUDA than the driver runs; false where one of them is not known.
bool newer_than_driver(const CuptiVersions& versions);

// One sentence on what would make it work, for every code that the activity API can answer with.
//
// Activity records need no privileges on a desktop or server since CUDA 10.2 (CUPTI's manual, "Limitations"): only
// hardware counters do (events, metrics, PC sampling), which are not used here. So an insufficient privilege comes from
// an older driver, an embedded platform or a virtual GPU's host.
std::string advice(CUptiResult result, const CuptiVersions& versions);

}  // namespace ddpprof::record
