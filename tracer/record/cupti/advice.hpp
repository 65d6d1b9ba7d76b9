// Advice for errors that CUPTI returns.
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

// Returns for example "CUPTI 12.4 (API 22), driver up to CUDA 12.2". Unknown versions are omitted.
std::string describe(const CuptiVersions& versions);

// Returns true if this CUPTI belongs to a later CUDA than the driver supports. Returns false if a version is unknown.
bool newer_than_driver(const CuptiVersions& versions);

// Returns one sentence of advice for each error code of the activity API.
//
// Since CUDA 10.2 activity records need no privileges on desktops and servers (CUPTI's manual, "Limitations"). Only
// hardware counters need them (events, metrics, PC sampling), which are not used here. So an insufficient privilege
// means an older driver, an embedded platform or the host of a virtual GPU.
std::string advice(CUptiResult result, const CuptiVersions& versions);

}  // namespace ddpprof::record
