// Two databases with chosen times, and their comparison.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "analysis/report/render/render.hpp"
#include "analysis/report/tables/compare/compare.hpp"
#include "tests/analysis/report/synthetic_run.hpp"

namespace ddpprof::test {

using nlohmann::json;

struct Times {
  std::int64_t step_ms = 100, compute_ms = 80, communication_ms = 30, overlapped_ms = 20;
  std::vector<std::int64_t> skew_ms = {1};  // by step, repeated
  int steps = 8, repeats = 1;
  std::int64_t spread_us = 0;       // steps of repeat r take r · spread more
  std::int64_t skew_spread_ms = 0;  // and have r · spread more skew if their skew is not 0
};

class TwoFiles : public testing::Test {
 protected:
  void SetUp() override {
    const std::string base = std::string(testing::TempDir()) + "compare_" + std::to_string(getpid());
    a_path_ = base + "_a.db";
    b_path_ = base + "_b.db";
    a_ = std::make_unique<SyntheticRun>(a_path_);
    b_ = std::make_unique<SyntheticRun>(b_path_);
  }
  void TearDown() override {
    a_.reset();
    b_.reset();
    std::filesystem::remove(a_path_);
    std::filesystem::remove(b_path_);
  }

  static void add(SyntheticRun& run, store::MeasurementRow row, const Times& times) {
    store::BulkLoad load(run.database);
    for (int repeat = 0; repeat < times.repeats; ++repeat) {
      row.repeat = repeat;
      const std::int64_t measurement = run.measurement(row);
      for (std::int64_t rank = 0; rank < (row.strategy == "dp" ? 1 : row.world_size); ++rank) {
        const std::int64_t shard = run.shard(measurement, rank);
        for (int i = 0; i < times.steps; ++i) {
          const std::int64_t skew_ms = times.skew_ms[static_cast<std::size_t>(i) % times.skew_ms.size()];
          run.step(shard, i, i * 1000 * ms, times.step_ms * ms + repeat * times.spread_us * 1000, times.compute_ms * ms,
                   times.communication_ms * ms, times.overlapped_ms * ms,
                   (skew_ms > 0 ? skew_ms + repeat * times.skew_spread_ms : 0) * ms);
        }
      }
    }
    load.commit();
  }

  json compared(const std::vector<report::KeyDifference>& keys = {}) {
    std::ostringstream out;
    render(report::compare(a_->database, b_->database, keys), report::Format::json, out);
    return json::parse(out.str());
  }
  static json rows(const json& report, const std::string& table) {
    for (const json& one : report["tables"])
      if (one["name"] == table) return one["rows"];
    ADD_FAILURE() << "no table " << table;
    return {};
  }
  static json row(const json& report, const std::string& table, const json& key) {
    for (const json& candidate : rows(report, table)) {
      bool same = true;
      for (const auto& [field, value] : key.items()) same = same && candidate[field] == value;
      if (same) return candidate;
    }
    ADD_FAILURE() << "no row " << key << " in " << table;
    return {};
  }

  std::filesystem::path a_path_, b_path_;
  std::unique_ptr<SyntheticRun> a_, b_;
};

}  // namespace ddpprof::test
