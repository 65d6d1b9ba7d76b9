// Sorts the files that a user names for an import by what they contain: traces, logs of nccl-tests, tables of step
// times.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runner/errors/user_error.hpp"

namespace ddpprof::import {

// The input files by kind, in the order given.
struct InputFiles {
  std::vector<std::filesystem::path> traces, logs, tables;
  std::vector<std::string> left_out;  // files of a folder or pattern that cannot be imported, with the reasons
};

class UnusableInput : public UserError {
 public:
  enum class Cause { choice, content };  // the choice of files or options, or the bytes of a file
  UnusableInput(Cause cause, const std::string& wrong, std::string expected = "", std::string remedy = "")
      : UserError(wrong, std::move(expected), std::move(remedy)), cause_(cause) {}
  Cause cause() const { return cause_; }

 private:
  Cause cause_;
};

// Expands names of files, folders and patterns (load/inputs.hpp). Throws UnusableInput if a named file cannot be
// imported, if a folder or pattern has no file that can, or if a table of step times is not the only file; ImportError.
InputFiles sort_inputs(const std::vector<std::string>& names);

}  // namespace ddpprof::import
