// The variables of the Python module.
#include <gtest/gtest.h>

#include <cstdlib>

#include "runner/python_tracer/python_tracer.hpp"

namespace ddpprof::python_tracer {
namespace {

TEST(PythonEnvironment, TheModuleIsBeforeTheUsersPath) {
  setenv("PYTHONPATH", "src:lib", 1);
  auto variables = environment({"/opt/module", "/tmp/out", {4, 15}, Mode::always, 100});
  EXPECT_EQ(variables["PYTHONPATH"], "/opt/module:src:lib");
  EXPECT_EQ(variables["DDPPROF_PYTHON_DIR"], "/tmp/out");
  EXPECT_EQ(variables["DDPPROF_PYTHON_STEPS"], "4-15");
  EXPECT_EQ(variables["DDPPROF_PYTHON_MODE"], "always");
  EXPECT_EQ(variables["DDPPROF_PYTHON_NOISE_STEPS"], "100");
  // An empty part would be the current folder.
  for (const char* none : {"", static_cast<const char*>(nullptr)}) {
    if (none != nullptr)
      setenv("PYTHONPATH", none, 1);
    else
      unsetenv("PYTHONPATH");
    EXPECT_EQ(environment({"/opt/module", "/tmp/out", {}, Mode::automatic})["PYTHONPATH"], "/opt/module");
  }
}

}  // namespace
}  // namespace ddpprof::python_tracer
