// The last lines of a job's output, for messages.
#pragma once

#include <filesystem>
#include <string>

namespace ddpprof::job {

// Returns at most eight lines of at most 300 bytes, each after a line break and four spaces. Empty without a file.
std::string last_lines(const std::filesystem::path& log);

}  // namespace ddpprof::job
