// The worker of a wheel: where it is looked for, and which torch it accepts.
#include "runner/measure/wheel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "runner/measure/error.hpp"

namespace ddpprof::measure {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class Wheel : public testing::Test {
 protected:
  Wheel() {
    std::string name = (fs::temp_directory_path() / "ddpprof-wheel-XXXXXX").string();
    root_ = mkdtemp(name.data());
  }
  ~Wheel() override { fs::remove_all(root_); }

  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  std::string refusal(const std::string& version) const {
    try {
      require_torch(root_ / "torch", version);
    } catch (const MissingProgram& failure) {
      return failure.text();
    }
    return "";
  }

  fs::path root_;
};

// The start of torch/version.py in the packages of PyPI.
std::string version_file(const std::string& version) {
  return "from typing import Optional\n\n__all__ = ['__version__', 'debug']\n__version__ = '" + version +
         "'\ndebug = False\n";
}

TEST_F(Wheel, FoldersOfEveryPythonOfTheEnvironment) {
  write("bin/ddpprof", "");
  write("lib/python3.13/site-packages/ddpprof/bin/ddpprof-worker", "");
  write("lib/python3.11/dist-packages/ddpprof/bin/ddpprof-worker", "");
  write("lib/python3.12/site-packages/ddpprof/__init__.py", "");
  write("lib/other/site-packages/ddpprof/bin/ddpprof-worker", "");
  EXPECT_THAT(worker_folders_of_wheel(root_ / "bin"), ElementsAre(root_ / "lib/python3.11/dist-packages/ddpprof/bin",
                                                                  root_ / "lib/python3.13/site-packages/ddpprof/bin"));
  EXPECT_TRUE(worker_folders_of_wheel(root_ / "missing" / "bin").empty());
}

TEST_F(Wheel, TorchOfTheVersionIsAccepted) {
  write("torch/lib/libtorch_cuda.so", "");
  for (const char* version : {"2.11.0+cu130", "2.11.1", "2.11.0"}) {
    write("torch/version.py", version_file(version));
    EXPECT_EQ(refusal("2.11"), "") << version;
  }
}

TEST_F(Wheel, AnotherTorchIsRefusedWithTheVersionThatIsNeeded) {
  EXPECT_THAT(refusal("2.11"), HasSubstr("needs torch 2.11, and this environment has no torch"));
  write("torch/lib/libtorch_cuda.so", "");
  for (const char* version : {"2.1.1", "2.10.0", "2.12.0+cu130", "2.110.0"}) {
    write("torch/version.py", version_file(version));
    EXPECT_THAT(refusal("2.11"), HasSubstr(std::string("has torch ") + version));
    EXPECT_THAT(refusal("2.11"), HasSubstr("pip install torch==2.11.0"));
  }
}

TEST_F(Wheel, ATorchWithoutCudaIsRefused) {
  write("torch/version.py", version_file("2.11.0+cpu"));
  EXPECT_THAT(refusal("2.11"), HasSubstr("torch 2.11.0+cpu has none"));
}

}  // namespace
}  // namespace ddpprof::measure
