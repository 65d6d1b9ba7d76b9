// Checks that the worker and the tracer exist, have the version of this `ddpprof`, and start.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ddpprof::measure {

struct Program {
  std::filesystem::path path;  // empty: not found
  std::string problem;         // why it cannot be used; "" if it can
  std::string remedy;
};

struct Worker : Program {
  double seconds = 0;       // time to start, load LibTorch and answer
  std::string version;      // version of ddpprof
  std::string torch, cuda;  // versions it was built with; cuda: "none" without CUDA
  std::string warning;      // first line of its standard error, for example LibTorch's warning about an old driver
  std::vector<std::string> backends;
  std::int64_t cuda_devices = 0;  // devices that LibTorch sees
};

struct Tracer : Program {
  std::string version;
};

// Loads the tracer and reads its version.
Tracer look_at_tracer();

// Starts `ddpprof-worker --about`, which loads LibTorch and prints what it was built with. Kills it after `limit`.
// Throws Interrupted on Ctrl-C or SIGTERM.
Worker look_at_worker(std::chrono::milliseconds limit);

}  // namespace ddpprof::measure
