// Runs real programs, such as ddpprof, and returns their output.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ddpprof::test {

struct Outcome {
  int code = -1;  // exit code; 128 + the signal that ended it; 124 after a timeout
  std::string out, messages;
};

// The ddpprof of this build.
std::string built_program();

std::string read_all(const std::filesystem::path& path);
std::string shell_quoted(const std::string& word);

// `standard_output`: a file to write to instead of a captured one, e.g. /dev/full.
Outcome run_program(const std::vector<std::string>& words, const std::string& standard_output = "");
Outcome run_ddpprof(const std::vector<std::string>& arguments, const std::string& standard_output = "");

}  // namespace ddpprof::test
