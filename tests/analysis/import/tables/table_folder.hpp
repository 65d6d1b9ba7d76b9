// A temporary folder for the text files and databases of one test.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tracer/store/database.hpp"

namespace ddpprof::test {

class TableFolder : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("ddpprof_import_tables_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  store::Database make_database(const char* name = "made.db") const {
    std::filesystem::remove(folder_ / name);
    return store::Database::create(folder_ / name);
  }

  std::filesystem::path folder_;
};

}  // namespace ddpprof::test
