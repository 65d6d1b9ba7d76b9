// Creates the shards of a large training, or merges them in a separate process whose memory can be measured.
//   merge_shards make FOLDER RANKS STEPS
//   merge_shards merge FOLDER FILE.db     prints: steps, seconds, peak resident size [KiB]
//   merge_shards sweep FILE.db CONFIGURATIONS STEPS     a database of many trainings: N = 1, 2, 4, 8 by batches
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "analysis/ingest/ingest.hpp"
#include "tests/analysis/ingest/simulated_ranks.hpp"

namespace {

namespace fs = std::filesystem;
using namespace ddpprof;

void make(const fs::path& folder, std::int32_t ranks, std::int64_t steps) {
  test::SimulatedTraining training;
  training.ranks = ranks;
  training.steps = steps;
  for (std::int32_t rank = 0; rank < ranks; ++rank)
    training.shard(rank).shard.write(folder / ("rank-" + std::to_string(rank) + ".shard"));
}

void merge(const fs::path& folder, const fs::path& file) {
  std::vector<fs::path> shards;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) shards.push_back(entry.path());
  std::sort(shards.begin(), shards.end());
  store::Database database = store::Database::create(file, store::Replace::yes);
  ingest::MeasurementInfo info;
  info.world_size = static_cast<std::int64_t>(shards.size());
  const auto begin = std::chrono::steady_clock::now();
  const ingest::IngestResult result = ingest::ingest_measurement(database, info, shards, ingest::RawPolicy::none);
  database.finish_load();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%lld %.3f %ld\n", static_cast<long long>(result.steps), took.count(), usage.ru_maxrss);
}

void sweep(const fs::path& file, int configurations, std::int64_t steps) {
  store::Database database = store::Database::create(file, store::Replace::yes);
  const test::TemporaryFolder folder;
  for (int i = 0; i < configurations; ++i) {
    test::SimulatedTraining training;
    training.ranks = 1 << (i % 4);
    training.steps = steps;
    training.samples = 8 * (1 + i / 4);
    training.compute_percent = 50 + 25 * training.samples / 8;
    std::vector<fs::path> shards;
    for (std::int32_t rank = 0; rank < training.ranks; ++rank)
      shards.push_back(training.shard(rank).shard.write(folder / ("rank-" + std::to_string(rank))));
    ingest::MeasurementInfo info;
    info.world_size = training.ranks;
    info.model = "simulated";
    info.parameter_count = 65'536'000;
    info.parameter_bytes = 4 * info.parameter_count;
    info.batch_per_worker = training.samples;
    info.cores = 64;
    info.versions = R"({"ddpprof":"0"})";
    ingest::ingest_measurement(database, info, shards, ingest::RawPolicy::rank0);
  }
  database.finish_load();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "make" && argc == 5) return make(argv[2], std::stoi(argv[3]), std::stoll(argv[4])), 0;
    if (what == "merge" && argc == 4) return merge(argv[2], argv[3]), 0;
    if (what == "sweep" && argc == 5) return sweep(argv[2], std::stoi(argv[3]), std::stoll(argv[4])), 0;
    std::fprintf(stderr,
                 "expected: make FOLDER RANKS STEPS, merge FOLDER FILE.db, or sweep FILE.db CONFIGURATIONS STEPS\n");
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "merge_shards: %s\n", error.what());
    return 1;
  }
}
