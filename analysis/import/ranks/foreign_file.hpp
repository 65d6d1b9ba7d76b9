// Reads files that another host, or somebody else, may have put into a folder: a name in it is never trusted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace ddpprof::ranks {

// Each throws Failure (data) that names the path and what is there, and never waits for what it finds: a symbolic link
// (it may lead out of the folder, or round in a circle), a pipe, a device, a socket, a folder in a file's place.

// The whole file; nullopt when there is none. A file of more than `most_bytes` is refused, too.
std::optional<std::string> read_foreign_file(const std::filesystem::path& path, std::uint64_t most_bytes);

void check_foreign_file(const std::filesystem::path& path);    // is there, and a plain file
bool check_foreign_folder(const std::filesystem::path& path);  // a folder; false when there is none

}  // namespace ddpprof::ranks
