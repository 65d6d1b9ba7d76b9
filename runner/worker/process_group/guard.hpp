// Ends the process where c10d does not come back: some of its calls to the store, and Gloo's connections, have no
// limit.
#pragma once

#include <unistd.h>

#include <chrono>
#include <iostream>
#include <string>

#include "runner/launcher/deadline.hpp"

namespace ddpprof::worker {

// After which a call into c10d that should have ended is given up.
inline constexpr std::chrono::milliseconds beyond_c10d{15'000};

class Guard {
 public:
  // When `limit` is over in its lifetime, says that the rank failed while doing `what`, and why, and exits with code 4.
  Guard(int rank, const std::string& what, const std::string& message, std::chrono::milliseconds limit)
      : deadline_(limit, [rank, what, message] {
          std::cerr << "ddpprof-worker: rank " << rank << " failed while " << what << ": " << message << std::endl;
          _exit(4);
        }) {}

 private:
  launcher::Deadline deadline_;
};

}  // namespace ddpprof::worker
