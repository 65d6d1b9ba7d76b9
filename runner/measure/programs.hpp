// Whether the programs that belong to this `ddpprof` are there, fit it, and start.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ddpprof::measure {

struct Program {
  std::filesystem::path path;  // empty: not found
  std::string problem;         // why it cannot be used, "" when it can
  std::string remedy;
};

struct Worker : Program {
  double seconds = 0;       // to start, load LibTorch and answer
  std::string version;      // of ddpprof
  std::string torch, cuda;  // it was built with; cuda: "none" without
  std::string warning;      // what it said besides, such as LibTorch's word on a driver that is too old
  std::vector<std::string> backends;
  std::int64_t cuda_devices = 0;  // that LibTorch sees
};

struct Tracer : Program {
  std::string version;
};

// Loads the tracer and asks for its version.
Tracer look_at_tracer();

// Starts `ddpprof-worker --about`, which loads LibTorch and says what it was built with; kills it after `limit`.
Worker look_at_worker(std::chrono::milliseconds limit);

}  // namespace ddpprof::measure
