#include "runner/launcher/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <system_error>
#include <utility>

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

namespace ddpprof::launcher {
namespace {

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string variable(*entry);
    if (!added.contains(variable.substr(0, variable.find('=')))) variables.push_back(variable);
  }
  for (const auto& [name, value] : added) variables.push_back(name + "=" + value);
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> list;
  for (std::string& text : strings) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

struct ChildPlan {
  const char* program;
  char* const* argv;
  char* const* envp;
  pid_t parent;
  int log;
  int null;
  int inherited;
  int error_pipe;
};

void close_on_exec_from(int first) {
  if (syscall(SYS_close_range, static_cast<unsigned>(first), ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  // Kernels before 5.11.
  rlimit limit{};
  const int most =
      getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 65536 ? static_cast<int>(limit.rlim_cur) : 65536;
  for (int fd = first; fd < most; ++fd) fcntl(fd, F_SETFD, FD_CLOEXEC);
}

// Between fork and exec in a process that may have threads: async-signal-safe calls only, no allocation.
[[noreturn]] void become_rank(const ChildPlan& plan) {
  setpgid(0, 0);
  // If the parent ended before prctl, the kernel would never kill this process. getppid detects that.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != plan.parent) _exit(127);
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) sigaction(number, &standard, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(plan.null, STDIN_FILENO);
  dup2(plan.log, STDOUT_FILENO);
  dup2(plan.log, STDERR_FILENO);
  close_on_exec_from(3);
  if (plan.inherited >= 0) fcntl(plan.inherited, F_SETFD, 0);
  execve(plan.program, plan.argv, plan.envp);
  const int error = errno;
  [[maybe_unused]] const auto written = write(plan.error_pipe, &error, sizeof error);
  _exit(127);
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(); }
  void reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

// Returns a descriptor above the standard streams, because dup2 onto 0 to 2 would close it. The caller may have closed
// standard streams.
int high_descriptor(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  close(fd);
  errno = error;
  return high;
}

}  // namespace

std::string program_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::string folders = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  for (std::size_t begin = 0; begin <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const std::string folder = folders.substr(begin, end - begin);
    std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    begin = end + 1;
  }
  return name;  // execve will report that it is missing
}

Process::Process(const ProcessOptions& options) {
  if (options.argv.empty()) fail(EINVAL, "a rank without a command");
  const std::string program = program_path(options.argv[0]);
  std::vector<std::string> arguments = options.argv;
  std::vector<std::string> environment = merged_environment(options.environment);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(environment);

  const Descriptor log(
      high_descriptor(open(options.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644)));
  if (log.get() < 0) fail(errno, options.log.string());
  const Descriptor null(high_descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)));
  if (null.get() < 0) fail(errno, "/dev/null");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail(errno, "pipe");
  const Descriptor read_end(high_descriptor(ends[0]));
  Descriptor write_end(high_descriptor(ends[1]));
  if (read_end.get() < 0 || write_end.get() < 0) fail(errno, "pipe");

  const ChildPlan plan{.program = program.c_str(),
                       .argv = argv.data(),
                       .envp = envp.data(),
                       .parent = getpid(),
                       .log = log.get(),
                       .null = null.get(),
                       .inherited = options.inherited_descriptor,
                       .error_pipe = write_end.get()};
  const pid_t child = fork();
  if (child < 0) fail(errno, "fork");
  if (child == 0) become_rank(plan);
  setpgid(child, child);  // the child does the same, so that the group exists before it is signalled
  write_end.reset();
  int error = 0;
  ssize_t got = 0;
  do {
    got = read(read_end.get(), &error, sizeof error);  // returns 0 at exec, or when the child has ended
  } while (got < 0 && errno == EINTR);
  if (got == sizeof error) {
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    fail(error, program);
  }
  pid_ = child;
  pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, child, 0U));
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::exchange(other.pidfd_, -1)),
      exit_code_(other.exit_code_),
      signal_(other.signal_) {}

Process::~Process() {
  if (running()) {
    send(SIGKILL);
    for (int tries = 0; tries < 1000 && running(); ++tries) {
      update();
      const timespec moment{.tv_sec = 0, .tv_nsec = 10'000'000};
      if (running()) nanosleep(&moment, nullptr);
    }
  }
  if (pidfd_ >= 0) close(pidfd_);
}

void Process::update() {
  if (!running()) return;
  siginfo_t info{};
  // The process is not reaped yet. Until then its number, and its group's number, cannot be reused.
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
  send(SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (info.si_code == CLD_EXITED) {
    exit_code_ = info.si_status;
  } else {
    signal_ = info.si_status;
  }
}

std::optional<int> Process::stopped_by() const {
  if (!running()) return std::nullopt;
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
    return std::nullopt;
  return info.si_status;
}

void Process::send(int signal) const {
  if (pid_ > 0) kill(-pid_, signal);
}

}  // namespace ddpprof::launcher
