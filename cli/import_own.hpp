// The part of `ddpprof import` that restores databases from exports of our own.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/render/render.hpp"
#include "cli/subcommand.hpp"

namespace ddpprof::cli {

enum class OwnFormat { csv, chrome, nsys };

struct OwnExports {
  OwnFormat format = OwnFormat::csv;
  std::vector<std::filesystem::path> paths;  // one; of nsys a file a measurement
};

// What of the inputs `ddpprof export` wrote; none: nothing. Throws Failure (usage) where exports and other inputs, or
// several exports, are given together.
std::optional<OwnExports> own_exports(const std::vector<std::string>& inputs);

// Restores and reports. Throws Failure.
ExitCode import_own(const OwnExports&, const std::string& database, bool overwrite, report::Format, Context&);

}  // namespace ddpprof::cli
