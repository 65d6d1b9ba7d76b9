// A rank for the launcher's tests: it reports its progress like a worker, and fails as its argument says.
//
// test_rank BEHAVIOUR [FOLDER]: FOLDER gets one file per started process, named by its pid.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>

#include "runner/launcher/launcher.hpp"
#include "runner/launcher/rank_environment.hpp"

namespace {

using ddpprof::launcher::Activity;

using ddpprof::launcher::Status;
using ddpprof::launcher::StatusFile;

[[noreturn]] void sleep_for_ever() {
  for (;;) pause();
}

void note_pid(const std::string& folder) { std::ofstream(folder + "/" + std::to_string(getpid())) << "\n"; }

int variable(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) throw std::runtime_error(std::string(name) + " is not set");
  return std::atoi(text);
}

// Reports progress until `ready`, so that the test does not depend on the speed of the machine.
template <typename Condition>
void work_until(StatusFile& status, int step, int planned, Condition ready) {
  while (!ready()) {
    status.report(Activity::forward, step, planned);
    usleep(2000);
  }
}

// Returns true if every other rank waits for this one.
bool others_wait() {
  const int rank = variable("RANK");
  const std::string own = std::getenv("DDPPROF_STATUS_FILE");
  const std::string stem = own.substr(0, own.rfind("rank-")) + "rank-";
  for (int other = 0; other < variable("WORLD_SIZE"); ++other) {
    if (other == rank) continue;
    const std::string file = stem + std::to_string(other) + ".status";
    if (access(file.c_str(), F_OK) != 0) return false;
    try {
      const Status seen = StatusFile::attach(file).read();
      if (seen.activity != Activity::backward && seen.activity != Activity::rendezvous) return false;
      if (seen.activity == Activity::backward && seen.step != 5) return false;
    } catch (const std::exception&) {
      return false;  // not a page long yet
    }
  }
  return true;
}

// Checks that rank 0 can use the rendezvous socket, and that other ranks do not have it.
bool descriptors_are_right() {
  for (int fd = 3; fd < 256; ++fd) {
    const bool open = fcntl(fd, F_GETFD) != -1;
    const char* master = std::getenv("DDPPROF_MASTER_FD");
    const bool expected = master != nullptr && std::atoi(master) == fd;
    if (open != expected) {
      std::fprintf(stderr, "descriptor %d is %s\n", fd, open ? "open" : "closed");
      return false;
    }
  }
  int listening = 0;
  socklen_t length = sizeof listening;
  const char* master = std::getenv("DDPPROF_MASTER_FD");
  return master == nullptr ||
         (getsockopt(std::atoi(master), SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) == 0 && listening == 1);
}

int run(const std::string& behaviour, const std::string& folder) {
  rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  note_pid(folder);
  auto status = StatusFile::attach(std::getenv("DDPPROF_STATUS_FILE"));
  if (behaviour == "never-reports") {
    while (!others_wait()) usleep(2000);
    sleep_for_ever();
  }
  if (behaviour == "checks-descriptors" && !descriptors_are_right()) return 9;
  if (behaviour == "checks-signals") {
    struct sigaction action {};
    sigset_t mask;
    sigaction(SIGINT, nullptr, &action);
    sigprocmask(SIG_BLOCK, nullptr, &mask);
    if (action.sa_handler != SIG_DFL || sigismember(&mask, SIGUSR1) != 0 || getpgrp() != getpid()) return 9;
  }
  if (behaviour == "stuck-in-rendezvous") {
    status.report(Activity::rendezvous, -1, 0);
    sleep_for_ever();
  }
  constexpr int planned = 10;
  for (int step = 0; step < planned; ++step) {
    status.report(Activity::forward, step, planned);
    usleep(2000);
    if (step == 5) {
      const bool goes_wrong = behaviour == "exits-3" || behaviour == "ends-early" || behaviour == "segfaults" ||
                              behaviour == "is-killed" || behaviour == "stops" || behaviour == "hangs-in-forward";
      if (goes_wrong) work_until(status, step, planned, others_wait);
      if (behaviour == "exits-3") {
        std::fprintf(stderr, "something is wrong in step %d\n", step);
        return 3;
      }
      if (behaviour == "loses-a-connection") {
        std::fprintf(stderr, "Connection closed by peer\n");
        return 4;
      }
      if (behaviour == "exits-3-late") {  // like a rank whose connections close before it has ended
        usleep(300'000);
        std::fprintf(stderr, "something is wrong in step %d\n", step);
        return 3;
      }
      if (behaviour == "ends-early") return 0;
      if (behaviour == "segfaults") {
        signal(SIGSEGV, SIG_DFL);  // a sanitizer would turn it into an exit code
        raise(SIGSEGV);
      }
      if (behaviour == "is-killed") raise(SIGKILL);
      if (behaviour == "stops") raise(SIGSTOP);
      if (behaviour == "hangs-in-forward") sleep_for_ever();
      if (behaviour == "floods") {
        for (int line = 0; line < 200000; ++line) std::fprintf(stderr, "line %d of a flood\n", line);
        return 4;
      }
      if (behaviour == "waits") {  // as in an all-reduce that another rank never joins
        status.report(Activity::backward, step, planned);
        sleep_for_ever();
      }
      if (behaviour == "waits-and-ignores-sigterm") {
        signal(SIGTERM, SIG_IGN);
        status.report(Activity::backward, step, planned);
        sleep_for_ever();
      }
      if (behaviour == "has-children") {
        for (int child = 0; child < 2; ++child) {
          const pid_t pid = fork();
          if (pid == 0) {
            note_pid(folder);
            sleep_for_ever();
          }
          const std::string noted = folder + "/" + std::to_string(pid);
          work_until(status, step, planned, [&] { return access(noted.c_str(), F_OK) == 0; });
        }
        status.report(Activity::backward, step, planned);
        sleep_for_ever();
      }
      if (behaviour == "leaves-a-child" && fork() == 0) {
        note_pid(folder);
        sleep_for_ever();
      }
    }
    status.report(Activity::backward, step, planned);
  }
  std::printf("rank %d of %d\n", variable("RANK"), variable("WORLD_SIZE"));
  status.report(Activity::done, planned, planned);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  // "launch FOLDER A B C": a launcher that the test kills. Its ranks behave as A, B, C.
  if (std::strcmp(argv[1], "launch") == 0) {
    ddpprof::launcher::LaunchOptions options;
    options.run_directory = std::string(argv[2]) + "/run";
    for (int rank = 3; rank < argc; ++rank) {
      options.ranks.push_back(
          {.argv = {argv[0], argv[rank], argv[2]},
           .environment = ddpprof::launcher::rank_environment({.rank = rank - 3, .world_size = argc - 3})});
    }
    const auto result = ddpprof::launcher::launch(options);
    return result.outcome == ddpprof::launcher::LaunchResult::Outcome::ok ? 0 : 1;
  }
  return run(argv[1], argv[2]);
}
