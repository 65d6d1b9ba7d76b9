// The one place that maps errors to exit codes.
#pragma once

#include "cli/subcommand.hpp"
#include "tracer/store/files/error.hpp"

namespace ddpprof::cli {

// The exit code of a command that ends with this error; `failed` for an error of no known class.
ExitCode exit_code_of(const UserError& error);

// The error of a database as an error of the command line, with its exit code.
Failure failure_of(const store::DatabaseError& error);

}  // namespace ddpprof::cli
