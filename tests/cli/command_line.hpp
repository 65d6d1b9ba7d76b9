// Fixture: the real program and a small database whose numbers can be calculated by hand.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/analysis/report/synthetic_run.hpp"
#include "tests/cli/run_program.hpp"

namespace ddpprof::test {

class CommandLine : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::filesystem::temp_directory_path() / ("ddpprof_cli_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    database_ = (folder_ / "run.db").string();
    SyntheticRun(database_).fill();
    store::Database::create(folder_ / "empty.db");
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder_); }

  static std::string file(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

  static inline std::filesystem::path folder_;
  static inline std::string database_;
};

}  // namespace ddpprof::test
