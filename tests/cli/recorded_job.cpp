// Somebody's own program, annotated with NVTX, as `ddpprof record` finds it: `recorded_job STEPS [EXIT_CODE] [fork]`.
#include <nvtx3/nvToolsExt.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

void range(const char* name, useconds_t us) {
  nvtxRangePushA(name);
  usleep(us);
  nvtxRangePop();
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 3;
  for (int step = 0; step < steps; ++step) {
    nvtxRangePushA(("step " + std::to_string(step)).c_str());
    range("forward", 1000);
    range("backward", 2000);
    range("optimizer", 500);
    nvtxRangePop();
  }
  if (argc > 3 && std::strcmp(argv[3], "fork") == 0) {  // as a data loader's worker: it inherits RANK
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0; i < 50; ++i) range("load", 100);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
  std::puts("the job's own words");
  std::fflush(stdout);
  return argc > 2 ? std::atoi(argv[2]) : 0;
}
