#include "runner/measure/command.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runner/measure/interruption.hpp"

namespace ddpprof::measure {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t most_output = 64 << 10;

// A process group of its own: a kill then also ends the processes that the program starts.
int spawn(const std::vector<std::string>& argv, int output, int errors, pid_t& child) {
  std::vector<char*> pointers;
  for (const std::string& argument : argv) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  const int error = posix_spawn(&child, argv.front().c_str(), &actions, &attributes, pointers.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

struct Pipe {
  int read_end = -1, write_end = -1;
  ~Pipe() {
    close_end(read_end);
    close_end(write_end);
  }
  bool open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read_end = ends[0];
    write_end = ends[1];
    return true;
  }
  static void close_end(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }
};

// Reads both pipes until all their writers have closed them, or until `end`.
void drain(const Pipe (&pipes)[2], std::string* (&texts)[2], Clock::time_point end) {
  pollfd ready[2] = {{.fd = pipes[0].read_end, .events = POLLIN, .revents = 0},
                     {.fd = pipes[1].read_end, .events = POLLIN, .revents = 0}};
  while (ready[0].fd >= 0 || ready[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0 || InterruptionGuard::interrupted()) return;
    if (poll(ready, 2, static_cast<int>(std::min<long long>(left, 100))) <= 0) continue;
    for (int i = 0; i < 2; ++i) {
      if (ready[i].fd < 0 || ready[i].revents == 0) continue;
      char part[4096];
      const ssize_t got = read(ready[i].fd, part, sizeof part);
      if (got == 0 || (got < 0 && errno != EINTR)) ready[i].fd = -1;  // poll ignores it
      if (got > 0 && texts[i]->size() < most_output) texts[i]->append(part, static_cast<std::size_t>(got));
    }
  }
}

}  // namespace

CommandOutcome run_command(const std::vector<std::string>& argv, std::chrono::milliseconds limit) {
  CommandOutcome outcome;
  const Clock::time_point begin = Clock::now();
  // Ctrl-C at a terminal does not reach the program: it has a process group of its own.
  const InterruptionGuard guard;
  Pipe pipes[2];
  if (!pipes[0].open() || !pipes[1].open()) {
    outcome.error = std::string("pipe: ") + std::strerror(errno);
    return outcome;
  }
  pid_t child = -1;
  const int error = spawn(argv, pipes[0].write_end, pipes[1].write_end, child);
  for (Pipe& pipe : pipes) Pipe::close_end(pipe.write_end);
  if (error != 0) {
    outcome.error = argv.front() + ": " + std::strerror(error);
    return outcome;
  }
  outcome.started = true;
  std::string* texts[2] = {&outcome.output, &outcome.errors};
  drain(pipes, texts, begin + limit);
  int status = 0;
  pid_t ended = 0;
  // The program may close its output and continue: the limit applies to its end.
  while ((ended = waitpid(child, &status, WNOHANG)) == 0 && Clock::now() < begin + limit &&
         !InterruptionGuard::interrupted())
    usleep(2000);
  if (ended == 0) {
    outcome.timed_out = !InterruptionGuard::interrupted();
    kill(-child, SIGKILL);
    while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) {
    }
  }
  if (ended == child && WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (ended == child && WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  outcome.interrupted = InterruptionGuard::interrupted();
  outcome.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return outcome;
}

}  // namespace ddpprof::measure
