// Reads files of a folder that may come from another host. Such a folder may contain any file under any name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace ddpprof::ranks {

// Each function throws InvalidRecords with the path if the path is anything but a plain file (or a folder, for
// check_foreign_folder): a symbolic link (it may lead out of the folder, or in a circle), a pipe, a device, a socket.
// None of them blocks on what it finds.

// Returns the whole file, nullopt if it does not exist. Also throws InvalidRecords if it has more than `most_bytes`.
std::optional<std::string> read_foreign_file(const std::filesystem::path& path, std::uint64_t most_bytes);

void check_foreign_file(const std::filesystem::path& path);    // throws also if it does not exist
bool check_foreign_folder(const std::filesystem::path& path);  // returns false if it does not exist

}  // namespace ddpprof::ranks
