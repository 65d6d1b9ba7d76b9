#include "runner/measure/interruption.hpp"

#include <csignal>

namespace ddpprof::measure {
namespace {

volatile std::sig_atomic_t noted = 0;
struct sigaction before_interrupt, before_terminate, before_hangup;

void note(int) { noted = 1; }

}  // namespace

InterruptionGuard::InterruptionGuard() {
  noted = 0;
  struct sigaction action {};
  action.sa_handler = note;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &before_interrupt);
  sigaction(SIGTERM, &action, &before_terminate);
  sigaction(SIGHUP, nullptr, &before_hangup);
  if (before_hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);  // nohup ignores it
}

InterruptionGuard::~InterruptionGuard() {
  sigaction(SIGINT, &before_interrupt, nullptr);
  sigaction(SIGTERM, &before_terminate, nullptr);
  sigaction(SIGHUP, &before_hangup, nullptr);
}

bool InterruptionGuard::interrupted() { return noted != 0; }

}  // namespace ddpprof::measure
