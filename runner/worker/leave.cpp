#include "runner/worker/leave.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>

#include "runner/worker/first_line.hpp"
#include "runner/worker/status.hpp"

namespace ddpprof::worker {
namespace {

std::string& name_of_this_process() {
  static std::string& name = *new std::string;  // threads may still fail while the process ends
  return name;
}

[[noreturn]] void end_on_terminate() {
  if (const auto error = std::current_exception()) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& known) {
      fail(name_of_this_process(), known.what());
    } catch (...) {
      fail(name_of_this_process(), "a thread ended with an exception of an unknown kind");
    }
  }
  std::abort();
}

}  // namespace

void leave(int code, const std::string& message) {
  std::fflush(stdout);
  std::cerr << message << std::endl;
  _exit(code);
}

void fail(const std::string& who, const std::string& why) {
  leave(failed, who + " failed while " + launcher::to_string(status::activity()) +
                    (status::step() >= 0 ? " (step " + std::to_string(status::step()) + ")" : "") + ": " +
                    first_line(why.c_str()));
}

void fail_where_a_thread_throws(const std::string& who) {
  name_of_this_process() = who;
  std::set_terminate(end_on_terminate);
}

}  // namespace ddpprof::worker
