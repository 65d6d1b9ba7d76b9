#include "runner/launcher/guardian.hpp"

#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace ddpprof::launcher {
namespace {

enum Order : std::int32_t { watch_group, forget_group, finish };

struct Message {
  std::int32_t order;
  std::int32_t group;
};

std::array<pid_t, Guardian::most_groups> guarded;  // in the guardian process, which must not allocate after fork

void close_all_but(int kept) {
  if (kept > 0) syscall(SYS_close_range, 0U, static_cast<unsigned>(kept - 1), 0U);
  if (syscall(SYS_close_range, static_cast<unsigned>(kept + 1), ~0U, 0U) == 0) return;
  for (int fd = 0; fd < 65536; ++fd) {
    if (fd != kept) close(fd);
  }
}

// Async-signal-safe calls only: the launcher may have threads.
[[noreturn]] void guard(int socket) {
  setpgid(0, 0);  // Ctrl-C on the terminal is for the launcher
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP}) sigaction(number, &ignore, nullptr);
  close_all_but(socket);
  std::size_t count = 0;
  for (;;) {
    Message message{};
    const ssize_t got = recv(socket, &message, sizeof message, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof message) break;  // the launcher is gone
    if (message.order == finish) _exit(0);
    if (message.order == watch_group && count < guarded.size()) guarded[count++] = message.group;
    if (message.order == forget_group) {
      const auto end = guarded.begin() + static_cast<std::ptrdiff_t>(count);
      count = static_cast<std::size_t>(std::remove(guarded.begin(), end, message.group) - guarded.begin());
    }
  }
  for (std::size_t i = 0; i < count; ++i) kill(-guarded[i], SIGKILL);
  _exit(0);
}

}  // namespace

Guardian::Guardian() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  pid_ = fork();
  if (pid_ == 0) {
    close(ends[0]);
    guard(ends[1]);
  }
  const int error = errno;
  close(ends[1]);
  if (pid_ < 0) {
    close(ends[0]);
    throw std::system_error(error, std::generic_category(), "fork");
  }
  socket_ = ends[0];
}

Guardian::~Guardian() {
  send(0, finish);
  close(socket_);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Guardian::watch(pid_t group) { send(group, watch_group); }

void Guardian::forget(pid_t group) { send(group, forget_group); }

void Guardian::send(pid_t group, int order) {
  const Message message{.order = order, .group = group};
  // If the guardian was killed, continue: the kernel still kills the ranks themselves.
  while (::send(socket_, &message, sizeof message, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

}  // namespace ddpprof::launcher
