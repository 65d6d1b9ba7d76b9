// A trace database with DDP and DataParallel steps of known parameters. It is deleted with the object.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/analysis/fit/synthetic.hpp"
#include "tracer/store/database.hpp"
#include "tracer/store/rows/inserter.hpp"
#include "tracer/store/rows/run_rows.hpp"

namespace ddpprof::gui::test {

class MeasuredFile {
 public:
  // 13 MiB of gradients, 1 MB of inputs and 10 kB of outputs per replica. With memory: at N = 2, 30 MB on DDP's
  // devices, 40 MB on DataParallel's root and 20 MB on its other device.
  MeasuredFile(const std::string& name, const std::vector<std::int64_t>& ddp, const std::vector<std::int64_t>& dp,
               bool memory = false)
      : path_(std::filesystem::temp_directory_path() /
              ("ddpprof-gui-strategies-" + std::to_string(::getpid()) + "-" + name + ".db")) {
    store::Database database = store::Database::create(path_, store::Replace::yes);
    fit::synthetic::Truth truth;
    truth.noise = 0.01;
    truth.own_hosts = true;
    if (!ddp.empty()) fit::synthetic::add_ddp(database, truth, ddp, 3);
    if (!dp.empty()) fit::synthetic::add_dp(database, truth, dp, 4);
    if (!memory) return;
    const auto id_of = [&](const std::string& strategy) {
      SQLite::Statement q(database.sql(), "SELECT id FROM measurement WHERE strategy = ? AND world_size = 2");
      q.bind(1, strategy);
      q.executeStep();
      return q.getColumn(0).getInt64();
    };
    store::Inserter<store::MemoryRow> rows(database);
    rows.insert({id_of("ddp"), 0, 0, 1, 29'000'000});
    rows.insert({id_of("ddp"), 1, 0, 1, 30'000'000});
    rows.insert({id_of("dp"), 0, 0, 1, 40'000'000});
    rows.insert({id_of("dp"), 0, 1, 1, 20'000'000});
  }
  ~MeasuredFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  MeasuredFile(const MeasuredFile&) = delete;
  MeasuredFile& operator=(const MeasuredFile&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace ddpprof::gui::test
