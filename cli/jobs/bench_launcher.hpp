// The part of `ddpprof bench-comm` that times collectives with the user's own launcher: bench-comm -- torchrun ….
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/render/render.hpp"
#include "cli/subcommand.hpp"

namespace ddpprof::cli {

struct BenchLauncher {
  std::vector<std::string> command;
  std::vector<std::int64_t> workers;  // one run for each if the command has {workers}
  std::string database;
  bool append = false;  // add the times to a database of imports or recordings
  bool overwrite = false;
  std::string backend, device;  // empty: as torch has
  double timeout_s = 120;       // of one wait for another rank
  std::int64_t limit_s = 300;   // of one run
  std::optional<std::int64_t> nodes;
  report::Format format{};
};

// Runs the launcher, stores the times and prints the report `comm`; with `append` also fits and predicts again. Throws
// UserError and store::DatabaseError; then nothing is stored, and the output stays in the folder DATABASE.comm.
ExitCode bench_launcher(const BenchLauncher&, Context&);

}  // namespace ddpprof::cli
