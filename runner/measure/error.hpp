// Errors of measuring: what stops a sweep, or stops it from starting.
#pragma once

#include "runner/errors/user_error.hpp"

namespace ddpprof::measure {

// The scenario, an option or a named file asks for what cannot be done.
class InvalidRequest : public UserError {
 public:
  using UserError::UserError;
};

// This machine has too few GPUs or too little memory for the scenario.
class MachineTooSmall : public UserError {
 public:
  using UserError::UserError;
};

// A program was not found: a program or library of ddpprof, or the program of the user's command.
class MissingProgram : public UserError {
 public:
  using UserError::UserError;
};

// The file system refused to write or remove a file.
class CannotWrite : public UserError {
 public:
  using UserError::UserError;
};

// The user ended the command (Ctrl-C or SIGTERM).
class Interrupted : public UserError {
 public:
  using UserError::UserError;
};

// Why the ranks of a configuration were not measured to their end.
struct MeasurementFailure {
  enum class Cause {
    run,       // a rank died, hung, or the user interrupted the run
    machine,   // something that a rank needs is missing on this machine (the worker's exit code 3)
    scenario,  // the scenario cannot be trained, for example data that do not fit the model (the worker's exit code 2)
  };
  Cause cause = Cause::run;
  std::string message;
};

// A configuration was not measured. The database keeps the configurations before it.
class SweepFailed : public UserError {
 public:
  SweepFailed(const MeasurementFailure& failure, const std::string& text) : UserError(text), cause_(failure.cause) {}
  MeasurementFailure::Cause cause() const { return cause_; }

 private:
  MeasurementFailure::Cause cause_;
};

}  // namespace ddpprof::measure
