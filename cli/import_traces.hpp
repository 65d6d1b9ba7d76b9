// The part of `ddpprof import` that reads other profilers' files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/render.hpp"
#include "cli/subcommand.hpp"

namespace ddpprof::cli {

struct TraceImport {
  std::vector<std::string> inputs;
  std::string database;
  bool overwrite = false;
  bool keep_raw = true;
  std::optional<std::int64_t> batch_per_worker, parameter_bytes, nodes, cores;
  std::string model;
  report::Format format{};
};

// Reads, fits and reports. Throws Failure.
ExitCode import_trace_files(const TraceImport& request, Context& context);

}  // namespace ddpprof::cli
