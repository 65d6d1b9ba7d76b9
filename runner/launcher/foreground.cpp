#include "runner/launcher/foreground.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <system_error>
#include <vector>

namespace ddpprof::launcher {
namespace {

constexpr std::array passed_on = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT};

// Blocks the signals while the command runs. wait() receives them.
class WaitedSignals {
 public:
  explicit WaitedSignals(int own) {
    sigemptyset(&set_);
    if (own != 0) sigaddset(&set_, own);
    for (const int signal : passed_on) sigaddset(&set_, signal);
    sigaddset(&set_, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
    // Some parents leave SIGCHLD ignored. waitpid could then not report the command's exit status.
    struct sigaction usual {};
    usual.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &usual, &child_);
  }
  ~WaitedSignals() {
    sigaction(SIGCHLD, &child_, nullptr);
    // Discard signals that arrived after the command had ended.
    const timespec at_once{};
    while (sigtimedwait(&set_, nullptr, &at_once) > 0) continue;
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WaitedSignals(const WaitedSignals&) = delete;
  WaitedSignals& operator=(const WaitedSignals&) = delete;

  // The signal mask and SIGCHLD action from before, which the command must inherit.
  const sigset_t& before() const { return before_; }
  const struct sigaction& child_before() const { return child_; }
  const sigset_t& set() const { return set_; }
  int wait() const { return sigwaitinfo(&set_, nullptr); }

 private:
  sigset_t set_{}, before_{};
  struct sigaction child_ {};
};

// A helper process in this process group that records the signals it receives. A signal that the helper also received
// was sent to the whole group (Ctrl-C in a terminal, timeout(1)). The command has received it too, so it must not be
// passed on again.
class Witness {
 public:
  // If the helper cannot be started, every signal is treated as sent to this process alone.
  explicit Witness(const sigset_t& signals) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);   // the helper ends with its parent
      if (getppid() != parent) _exit(0);  // the parent ended before prctl took effect
      close(ends[0]);                     // otherwise write would never return EPIPE
      ::signal(SIGPIPE, SIG_IGN);
      for (;;) {
        const int signal = sigwaitinfo(&signals, nullptr);
        if (signal <= 0 || signal == SIGCHLD) continue;
        const Note note{now_ns(), signal};  // small enough for an atomic write
        if (write(ends[1], &note, sizeof note) < 0 && errno == EPIPE) _exit(0);
      }
    }
    close(ends[1]);
    seen_ = ends[0];
  }
  ~Witness() {
    if (seen_ >= 0) close(seen_);
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  // Returns true if the helper received the signal too. Waits up to 200 ms, because the helper may have to wait for a
  // core. Notes of other signals are kept, because two signals may arrive in another order here. Notes older than 1 s
  // are dropped, because the kernel may merge several equal signals into one.
  bool saw(int signal) {
    constexpr std::int64_t patience_ns = 200'000'000, kept_ns = 1'000'000'000;
    const std::int64_t begin_ns = now_ns();
    for (;;) {
      Note note;
      ssize_t got = 0;
      while (pid_ > 0 && (got = read(seen_, &note, sizeof note)) == static_cast<ssize_t>(sizeof note))
        notes_.push_back(note);
      std::erase_if(notes_, [&](const Note& one) { return one.time_ns < begin_ns - kept_ns; });
      const auto own =
          std::find_if(notes_.begin(), notes_.end(), [&](const Note& one) { return one.signal == signal; });
      if (own != notes_.end()) {
        notes_.erase(own);
        return true;
      }
      const std::int64_t left_ns = begin_ns + patience_ns - now_ns();
      pollfd ready{seen_, POLLIN, 0};
      const bool gone = pid_ <= 0 || got == 0;
      if (gone || left_ns <= 0 || poll(&ready, 1, static_cast<int>(left_ns / 1'000'000) + 1) < 0) return false;
    }
  }

 private:
  struct Note {
    std::int64_t time_ns = 0;
    std::int64_t signal = 0;
  };
  static std::int64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
  }

  std::vector<Note> notes_;  // signals that the helper received and wait() has not returned yet
  pid_t pid_ = -1;
  int seen_ = -1;
};

struct Started {
  pid_t pid = -1;
  int error = 0;
};

Started start(const std::vector<std::string>& argv, const std::map<std::string, std::string>& environment,
              const WaitedSignals& signals) {
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) return {-1, errno};
  const pid_t pid = fork();
  if (pid < 0) {
    const int error = errno;
    close(failure[0]);
    close(failure[1]);
    return {-1, error};
  }
  if (pid == 0) {
    sigaction(SIGCHLD, &signals.child_before(), nullptr);
    pthread_sigmask(SIG_SETMASK, &signals.before(), nullptr);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    execvp(arguments[0], arguments.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t told = write(failure[1], &error, sizeof error);
    _exit(127);
  }
  close(failure[1]);
  int error = 0;
  ssize_t got = 0;
  do {
    got = read(failure[0], &error, sizeof error);  // returns 0 after exec has closed the pipe
  } while (got < 0 && errno == EINTR);
  close(failure[0]);
  if (got != static_cast<ssize_t>(sizeof error)) return {pid, 0};
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
  return {-1, error};
}

}  // namespace

int ForegroundEnd::shell_code() const {
  if (start_error != 0) return start_error == ENOENT ? 127 : 126;
  return exit_code ? *exit_code : 128 + signal.value_or(0);
}

ForegroundEnd run_foreground(const std::vector<std::string>& argv,
                             const std::map<std::string, std::string>& environment, const OwnSignal& own) {
  ForegroundEnd end;
  if (argv.empty()) {
    end.start_error = ENOENT;
    return end;
  }
  const WaitedSignals signals(own.number);
  struct AtEnd {
    const OwnSignal& own;
    ~AtEnd() {
      if (own.ended) own.ended();
    }
  } const at_end{own};
  Witness witness(signals.set());
  const Started started = start(argv, environment, signals);
  if (started.pid < 0) {
    end.start_error = started.error;
    return end;
  }
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(started.pid, &status, WNOHANG);
    if (ended == started.pid) {
      if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
      if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
      return end;
    }
    if (ended < 0 && errno != EINTR) {  // another thread has waited for the command
      end.exit_code = EXIT_FAILURE;
      return end;
    }
    const int signal = signals.wait();
    if (signal > 0 && signal == own.number)
      own.act();
    else if (signal > 0 && signal != SIGCHLD && !witness.saw(signal))
      kill(started.pid, signal);
  }
}

}  // namespace ddpprof::launcher
