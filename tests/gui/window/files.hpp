// Trace databases for the window's tests: valid ones and every kind of broken one.
#pragma once

#include <gtest/gtest.h>

#include <QTemporaryDir>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/analysis/fit/synthetic.hpp"
#include "tests/analysis/report/synthetic_run.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::gui::test {

struct Folder {
  QTemporaryDir folder;
  std::filesystem::path operator/(const std::string& name) const {
    return std::filesystem::path(folder.path().toStdString()) / name;
  }
};

// ddp at N = 1, 2, 4 and dp at 1, 2: enough for fits and predictions.
inline void write_sound(const std::filesystem::path& path) {
  store::Database database = store::Database::create(path);
  fit::synthetic::Truth truth;
  truth.noise = 0.01;
  truth.steps = 12;
  fit::synthetic::add_ddp(database, truth, {1, 2, 4}, 1);
  fit::synthetic::add_dp(database, truth, {1, 2}, 2);
  database.finish_load();
}

inline void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace ddpprof::gui::test
