// Ends the worker after a failure, on any thread, with one line: which rank, in which step and phase, and why.
#pragma once

#include <string>

namespace ddpprof::worker {

enum ExitCode : int { done = 0, usage = 2, missing = 3, failed = 4 };

// Ends the process without destructors: after a failure, c10d's destructors may wait for peers that have ended.
[[noreturn]] void leave(int code, const std::string& message);

// Prints "<who> failed while backward and all-reduce (step 17): <first line of why>" and exits with code 4.
[[noreturn]] void fail(const std::string& who, const std::string& why);

// From now on an uncaught exception in a thread ends the process like `fail`, instead of with SIGABRT. NCCL's watchdog
// throws on a LibTorch thread if a peer is lost or does not answer.
void fail_where_a_thread_throws(const std::string& who);

}  // namespace ddpprof::worker
