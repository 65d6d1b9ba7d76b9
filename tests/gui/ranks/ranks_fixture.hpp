// A file for the Ranks page: four ranks of DDP, of which rank 3 computes longer, and one of DataParallel.
#pragma once

#include <QTemporaryDir>
#include <filesystem>

#include "tests/analysis/report/synthetic_run.hpp"

namespace ddpprof::gui::test {

using ddpprof::test::ms;

// A warm-up step of 300 ms, then twelve measured steps of 100 ms. Compute takes 60 ms, on rank 3 72 ms; the other ranks
// wait 12 ms for it.
inline std::int64_t write_straggler(ddpprof::test::SyntheticRun& run) {
  const std::int64_t id = run.measurement(ddpprof::test::train("ddp", 4));
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    const std::int64_t shard = run.shard(id, rank);
    run.step(shard, 0, 0, 300 * ms, 260 * ms, 20 * ms, 0, 0, 32, "warmup");
    const std::int64_t wait = rank == 3 ? 0 : 12 * ms;
    for (std::int64_t step = 1; step <= 12; ++step) {
      const std::int64_t begin = 300 * ms + (step - 1) * 100 * ms;
      const std::int64_t row =
          run.step(shard, step, begin, 100 * ms, (rank == 3 ? 72 : 60) * ms, 20 * ms + wait, 10 * ms, wait);
      run.collective(shard, row, step, 0, 1 << 20, begin + 50 * ms, begin + 50 * ms, begin + 70 * ms + wait, 20 * ms);
    }
  }
  return id;
}

class StragglerFile {
 public:
  StragglerFile() : path(std::filesystem::path(folder_.path().toStdString()) / "straggler.db") {
    ddpprof::test::SyntheticRun run(path);
    store::BulkLoad load(run.database);
    const std::int64_t dp = run.shard(run.measurement(ddpprof::test::train("dp", 2)), 0);
    for (std::int64_t i = 0; i < 3; ++i) run.step(dp, i, i * 250 * ms, 250 * ms, 150 * ms, 60 * ms, 0, 0, 64);
    ddp = write_straggler(run);
    load.commit();
    run.database.finish_load();
  }

 private:
  QTemporaryDir folder_;

 public:
  std::filesystem::path path;
  std::int64_t ddp = 0;
};

}  // namespace ddpprof::gui::test
