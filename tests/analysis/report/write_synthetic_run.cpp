// write_synthetic_run FILE.db: the database of synthetic_run.hpp, for tests that run programs on it.
#include <cstdio>
#include <exception>

#include "tests/analysis/report/synthetic_run.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_synthetic_run FILE.db\n");
    return 2;
  }
  try {
    ddpprof::test::SyntheticRun(argv[1]).fill();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "write_synthetic_run: %s\n", error.what());
    return 1;
  }
  return 0;
}
