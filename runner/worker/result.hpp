// The result file of a rank for the launcher: run, machine and results.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "runner/worker/loop/context.hpp"

namespace ddpprof::worker {

// Describes this program: versions, backends, and the CUDA devices that LibTorch finds.
nlohmann::json describe_program();

// `found` (train's or bench_comm's part) with program, versions, place and resources added.
nlohmann::json describe_run(const Context& context, nlohmann::json found, std::int64_t began_ns);

// Returns this rank's registration: version, strategy and scenario. The rendezvous adds host and address.
launcher::Registration describe_rank(const Context& context);

// "ddpprof-worker: rank 0 of 2 done: 30 measured steps, median 4.21 ms", from describe_run's result.
std::string closing_line(const Context& context, const nlohmann::json& result);

// Writes a temporary file and renames it, so that the file is complete or absent. Throws std::runtime_error.
void write_result(const std::filesystem::path& path, const nlohmann::json& result);

}  // namespace ddpprof::worker
