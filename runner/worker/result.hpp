// The file a rank leaves for the launcher: what it ran, on what, and what it found.
#pragma once

#include <cstdint>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "runner/worker/loop/context.hpp"

namespace ddpprof::worker {

// `found` (train's or bench_comm's part) with program, versions, place and resources added.
nlohmann::json describe_run(const Context& context, nlohmann::json found, std::int64_t began_ns);

// Written to a neighbour first and renamed, so that the file is whole or absent. Throws std::runtime_error.
void write_result(const std::filesystem::path& path, const nlohmann::json& result);

}  // namespace ddpprof::worker
