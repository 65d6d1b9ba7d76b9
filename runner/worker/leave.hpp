// The worker's end when it fails: one line that says which rank, in which step and phase, and why; whichever thread it
// is.
#pragma once

#include <string>

namespace ddpprof::worker {

enum ExitCode : int { done = 0, usage = 2, missing = 3, failed = 4 };

// Without destructors: after a failure, those of c10d may wait for peers that are gone.
[[noreturn]] void leave(int code, const std::string& message);

// "<who> failed while backward and all-reduce (step 17): <why>", of `why` the first line; exit code 4.
[[noreturn]] void fail(const std::string& who, const std::string& why);

// From now on a thread that lets an exception go ends the process as `fail` does, instead of with SIGABRT: NCCL's
// watchdog does so on a thread of LibTorch's when a peer is lost or does not answer.
void fail_where_a_thread_throws(const std::string& who);

}  // namespace ddpprof::worker
