// Errors of reading and writing the folders that ranks leave.
#pragma once

#include "runner/errors/user_error.hpp"

namespace ddpprof::ranks {

// The folder that was named is not a folder of ranks, or holds an earlier run.
class UnusableFolder : public UserError {
 public:
  using UserError::UserError;
};

// The files cannot be imported: a rank is missing, or a file holds what no rank writes.
class InvalidRecords : public UserError {
 public:
  using UserError::UserError;
};

// The file system refused to write or remove a file.
class CannotWrite : public UserError {
 public:
  using UserError::UserError;
};

}  // namespace ddpprof::ranks
