// Checks the path of an export before any work is done.
#pragma once

#include <filesystem>
#include <string>

namespace ddpprof::cli {

enum class OutputKind { file, folder, nsys };  // nsys: a file; an earlier nsys export of ddpprof may be replaced

// Throws Failure (usage) if `path` has the other kind, its folder does not exist, or it is `database` or another
// database. `option` is its name in messages: "--out", "output.chrome".
void check_output_path(const std::string& option, const std::filesystem::path& path, OutputKind kind,
                       const std::filesystem::path& database);

}  // namespace ddpprof::cli
