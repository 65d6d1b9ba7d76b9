// The worker of a wheel: where it is looked for, and which one serves a torch.
#include "runner/measure/wheel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "runner/measure/error.hpp"

namespace ddpprof::measure {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
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

  // ddpprof/bin, beside torch.
  fs::path bin() const { return root_ / "ddpprof" / "bin"; }

  void write_workers(const std::vector<std::string>& versions) const {
    for (const std::string& version : versions) write("ddpprof/bin/torch-" + version + "/ddpprof-worker", "");
  }

  std::string refusal() const {
    try {
      worker_of_wheel({bin()});
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
  write("lib/python3.13/site-packages/ddpprof/bin/torch-2.11.0/ddpprof-worker", "");
  write("lib/python3.11/dist-packages/ddpprof/bin/torch-2.11.0/ddpprof-worker", "");
  write("lib/python3.12/site-packages/ddpprof/__init__.py", "");
  write("lib/other/site-packages/ddpprof/bin/torch-2.11.0/ddpprof-worker", "");
  EXPECT_THAT(worker_folders_of_wheel(root_ / "bin"), ElementsAre(root_ / "lib/python3.11/dist-packages/ddpprof/bin",
                                                                  root_ / "lib/python3.13/site-packages/ddpprof/bin"));
  EXPECT_TRUE(worker_folders_of_wheel(root_ / "missing" / "bin").empty());
}

TEST_F(Wheel, TheWorkerOfTheTorchIsChosen) {
  write("torch/lib/libtorch_cuda.so", "");
  write_workers({"2.11.0", "2.9.1", "2.10.0", "2.12.1"});
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"2.11.0+cu130", "2.11.0"}, {"2.11.1", "2.11.0"},         {"2.10.0", "2.10.0"},
      {"2.12.0+cu130", "2.12.1"}, {"2.12.0a0+git1", "2.12.1"}, {"2.9.0+cu128", "2.9.1"}};
  for (const auto& [installed, built_for] : cases) {
    write("torch/version.py", version_file(installed));
    EXPECT_EQ(worker_of_wheel({bin()}), bin() / ("torch-" + built_for) / "ddpprof-worker") << installed;
  }
}

TEST_F(Wheel, ATorchWithoutAWorkerIsRefusedWithTheVersionThatIsNeeded) {
  write_workers({"2.11.0"});
  EXPECT_THAT(refusal(), HasSubstr("ddpprof-worker needs torch 2.11, and this environment has no torch"));
  write("torch/lib/libtorch_cuda.so", "");
  for (const char* version : {"2.1.1", "2.10.0", "2.12.0+cu130", "2.110.0", "3.11.0"}) {
    write("torch/version.py", version_file(version));
    EXPECT_THAT(refusal(), HasSubstr("needs torch 2.11, and this environment has torch " + std::string(version)));
    EXPECT_THAT(refusal(), HasSubstr("pip install torch==2.11.0"));
  }
}

// The newest version is offered: 2.12, not 2.9, which is last in the order of letters.
TEST_F(Wheel, TheRefusalNamesEveryVersionThatHasAWorker) {
  write_workers({"2.9.1", "2.12.1", "2.11.0"});
  write("torch/version.py", version_file("2.15.0+cu132"));
  EXPECT_THAT(refusal(), HasSubstr("needs torch 2.9, 2.11 or 2.12, and this environment has torch 2.15.0+cu132"));
  EXPECT_THAT(refusal(), HasSubstr("pip install torch==2.12.1 into"));
}

TEST_F(Wheel, ATorchWithoutCudaIsRefused) {
  write_workers({"2.11.0", "2.12.1"});
  write("torch/version.py", version_file("2.11.0+cpu"));
  EXPECT_THAT(refusal(), AllOf(HasSubstr("torch 2.11.0+cpu has none"), HasSubstr("install torch 2.11.0 from PyPI")));
}

// Two versions of Python share the environment's bin: the one that has a fitting torch is used.
TEST_F(Wheel, AnotherPythonOfTheEnvironmentMayHaveTheTorch) {
  write_workers({"2.11.0"});
  write("other/ddpprof/bin/torch-2.11.0/ddpprof-worker", "");
  write("other/torch/version.py", version_file("2.11.0"));
  write("other/torch/lib/libtorch_cuda.so", "");
  const fs::path other = root_ / "other/ddpprof/bin";
  EXPECT_EQ(worker_of_wheel({bin(), other}), other / "torch-2.11.0/ddpprof-worker");
}

TEST_F(Wheel, AnInstallationWithoutAWorkerIsNamed) {
  write("ddpprof/bin/torch-2.11.0/README", "");
  write("torch/version.py", version_file("2.11.0"));
  EXPECT_THAT(refusal(), AllOf(HasSubstr("ddpprof-worker not found"), HasSubstr(bin().string()),
                               HasSubstr("install the wheel again")));
}

}  // namespace
}  // namespace ddpprof::measure
