// Refuses a path that an export cannot, or must not, be written to, before any work is done.
#pragma once

#include <filesystem>
#include <string>

namespace ddpprof::cli {

enum class OutputKind { file, folder, nsys };  // nsys: a file, and an export of ours of that shape may be replaced

// Throws Failure (usage) when `path` is of the other kind, lies in no folder, or is `database` or another database.
// `option` is what the user wrote it as: "--out", "output.chrome".
void check_output_path(const std::string& option, const std::filesystem::path& path, OutputKind kind,
                       const std::filesystem::path& database);

}  // namespace ddpprof::cli
