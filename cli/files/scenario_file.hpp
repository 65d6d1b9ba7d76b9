// Reads the scenario that a subcommand was given.
#pragma once

#include <span>
#include <string>

#include "cli/subcommand.hpp"
#include "runner/scenario/read.hpp"

namespace ddpprof::cli {

// Prints every problem of the file on its own line. Throws Failure (usage) if there is one.
scenario::ReadResult read_scenario(Context& context, const std::string& path, std::span<const std::string> overrides);

}  // namespace ddpprof::cli
