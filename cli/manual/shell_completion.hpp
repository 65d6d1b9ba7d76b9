// Scripts that complete the words of a ddpprof command line in bash, zsh and fish.
#pragma once

#include <string>
#include <string_view>

#include "cli/manual/help_tables.hpp"

namespace ddpprof::cli {

// Each of them can be sourced, or installed in the shell's folder of completions.
std::string bash_completion(const Help&);
std::string zsh_completion(const Help&);
std::string fish_completion(const Help&);

// The shells that `completion_of` knows.
const std::vector<std::string>& shells();

// `shell` is one of shells().
std::string completion_of(std::string_view shell, const Help&);

}  // namespace ddpprof::cli
