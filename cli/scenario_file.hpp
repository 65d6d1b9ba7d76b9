// Reads the scenario a subcommand was given, or says everything that is wrong with it.
#pragma once

#include <span>
#include <string>

#include "cli/subcommand.hpp"
#include "runner/scenario/read.hpp"

namespace ddpprof::cli {

// Prints every problem on its own line and throws Failure (usage) when there is any.
scenario::ReadResult read_scenario(Context& context, const std::string& path, std::span<const std::string> overrides);

}  // namespace ddpprof::cli
