// Errors of the command line, and the one place that maps errors to exit codes.
#pragma once

#include <string>

#include "runner/errors/user_error.hpp"
#include "tracer/store/files/error.hpp"

namespace ddpprof::cli {

enum class ExitCode : int {
  done = 0,
  changed = 1,  // ddpprof compare --fail-if: a limit is exceeded
  usage = 2,    // the command line or the scenario is wrong
  machine = 3,  // a device, memory or a program is missing on this machine
  failed = 4,   // the run failed: a rank died, a timeout, an output that cannot be written
  data = 5,     // the data cannot support the answer
};

// Ends a subcommand. run_command_line prints it as "ddpprof <subcommand>: <text()>" and returns its code.
class Failure : public UserError {
 public:
  // `expected` and `remedy` may be empty. No argument ends in a full stop.
  Failure(ExitCode code, const std::string& wrong, std::string expected = "", std::string remedy = "");
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

// The exit code of a command that ends with this error; `failed` for an error of an unknown class.
ExitCode exit_code_of(const UserError& error);

ExitCode exit_code_of(const store::DatabaseError& error);

}  // namespace ddpprof::cli
