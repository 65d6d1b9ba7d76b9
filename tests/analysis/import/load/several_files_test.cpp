// Several files as one measurement: the rank of each, files that are left out, matching collectives, and a full or
// missing disk.
#include <gmock/gmock.h>

#include "analysis/import/load/ranks.hpp"
#include "tests/analysis/import/kineto/trace_text.hpp"
#include "tests/analysis/import/load/imported.hpp"

namespace ddpprof::import {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

std::string sound(int rank, int world_size) { return sound_trace(rank, world_size).text(); }

TraceText nameless() {
  TraceText trace = sound_trace(0, 2);
  trace.before.pop_back();
  return trace;
}

std::string message_of(const Imported& imported, const std::string& code) {
  const auto found = imported.told.find(code);
  return found == imported.told.end() ? "" : found->second.message;
}

std::vector<std::int64_t> ranks_of(const Imported& imported) {
  std::vector<std::int64_t> ranks;
  for (const auto& [rank, windows] : imported.totals) ranks.push_back(rank);
  return ranks;
}

TEST(SeveralFiles, TwoRanksAreOneMeasurement) {
  const Folder folder;
  const Imported imported =
      import_files(folder, {folder.write("a.json", sound(1, 2)), folder.write("b.json", sound(0, 2))});
  EXPECT_EQ(imported.error, "");
  EXPECT_EQ(imported.result.ranks, 2);
  EXPECT_EQ(imported.result.world_size, 2);
  EXPECT_EQ(imported.result.steps, 6);
  EXPECT_THAT(ranks_of(imported), ElementsAre(0, 1));
  EXPECT_EQ(imported.all().compute_ns, 2 * 3 * Sound::compute_ns);
  EXPECT_EQ(imported.all().overlapped_ns, 2 * 3 * Sound::overlapped_ns);
  for (const char* code :
       {"rank_missing", "collective_unmatched", "collectives_unlike", "rank_by_order", "ranks_unlike", "steps_unlike"})
    EXPECT_EQ(imported.told.count(code), 0U) << code << ": " << message_of(imported, code);
  EXPECT_EQ(imported.rows.at("kernel"), 2 * 15);
  EXPECT_EQ(imported.rows.at("measurement"), 1);
}

// torch 2.12 and newer writes the name of the host.
TEST(SeveralFiles, HostsAreCountedByTheirNames) {
  for (const auto& [other, hosts] : {std::pair{"node-1", 2}, {"node-0", 1}}) {
    const Folder folder;
    TraceText first = sound_trace(0, 2), second = sound_trace(1, 2);
    first.after.push_back(R"("host_name": "node-0")");
    second.after.push_back(std::string(R"("host_name": ")") + other + "\"");
    import_files(folder, {folder.write("a.json", first.text()), folder.write("b.json", second.text())});
    store::Database database = store::Database::open_read(folder.path() / "imported.db");
    SQLite::Statement query(database.sql(), "SELECT nodes FROM measurement");
    ASSERT_TRUE(query.executeStep());
    EXPECT_EQ(query.getColumn(0).getInt(), hosts);
  }
}

// Two hosts whose processes have the same id; the second profile began after the first one had ended.
TEST(SeveralFiles, ProcessesOfTwoHostsAreNotCyclesOfOne) {
  const auto later = [](TraceText trace) {
    for (std::string& event : trace.events) {
      const std::size_t from = event.find("\"ts\": ") + 6, to = event.find_first_of(",}", from);
      event.replace(from, to - from, std::to_string(std::stoll(event.substr(from, to - from)) + 1'000'000));
      if (event.find("ProfilerStep#") != std::string::npos) event = replaced(event, "ProfilerStep#", "ProfilerStep#1");
    }
    return trace.text();
  };
  const Folder folder;
  const Imported one =
      import_files(folder, {folder.write("node-0_4711.1700000000000.pt.trace.json", nameless().text()),
                            folder.write("node-0_4711.1700000001000.pt.trace.json", later(nameless()))});
  EXPECT_EQ(one.told.count("cycles_joined"), 1U);
  EXPECT_EQ(one.result.ranks, 1);
  const Imported two =
      import_files(folder, {folder.write("node-0_4711.1700000000000.pt.trace.json", nameless().text()),
                            folder.write("node-1_4711.1700000001000.pt.trace.json", later(nameless()))});
  EXPECT_EQ(two.told.count("cycles_joined"), 0U);
  EXPECT_EQ(two.result.ranks, 2);
}

TEST(SeveralFiles, TwoOfOneRankTheSecondIsLeftOut) {
  const Folder folder;
  const Imported imported =
      import_files(folder, {folder.write("a.json", sound(0, 2)), folder.write("b.json", sound_trace(0, 2, 2).text())});
  EXPECT_EQ(imported.result.ranks, 1);
  EXPECT_EQ(imported.all().compute_ns, 3 * Sound::compute_ns);
  EXPECT_EQ(imported.rows.at("kernel"), 15) << "the second file has no rows";
  EXPECT_THAT(message_of(imported, "rank_twice"), AllOf(HasSubstr("a.json"), HasSubstr("b.json"), HasSubstr("rank 0")));
  EXPECT_THAT(message_of(imported, "rank_missing"), HasSubstr("rank 1 of 2"));
}

TEST(SeveralFiles, AMissingRankIsSaid) {
  const Folder folder;
  const Imported imported =
      import_files(folder, {folder.write("a.json", sound(0, 4)), folder.write("b.json", sound(2, 4))});
  EXPECT_EQ(imported.result.world_size, 4);
  EXPECT_THAT(ranks_of(imported), ElementsAre(0, 2));
  EXPECT_EQ(imported.counts().at("rank_missing"), 2);
  EXPECT_THAT(message_of(imported, "rank_missing"), HasSubstr("1, 3 of 4"));
}

TEST(SeveralFiles, AWorldSmallerThanARankIsSaid) {
  const Folder folder;
  const Imported imported =
      import_files(folder, {folder.write("a.json", sound(0, 2)), folder.write("b.json", sound(5, 2))});
  EXPECT_EQ(imported.result.world_size, 6);
  EXPECT_THAT(message_of(imported, "world_size_unlike"),
              AllOf(HasSubstr("b.json"), HasSubstr("rank 5"), HasSubstr("2")));
}

TEST(SeveralFiles, WorldsUnlikeAreTwoJobs) {
  const Folder folder;
  const Imported imported =
      import_files(folder, {folder.write("a.json", sound(0, 2)), folder.write("b.json", sound(1, 4))});
  EXPECT_EQ(imported.result.world_size, 4);
  EXPECT_EQ(imported.rows.at("measurement"), 2);
  EXPECT_EQ(imported.counts().at("rank_missing"), 1 + 3);
}

TEST(SeveralFiles, RanksByTheirNames) {
  const Folder folder;
  const std::string text = nameless().text();
  const Imported imported =
      import_files(folder, {folder.write("run_rank10.json", text), folder.write("run_rank2.json", text)});
  EXPECT_THAT(ranks_of(imported), ElementsAre(2, 10));
  EXPECT_EQ(imported.result.world_size, 11);
  EXPECT_EQ(imported.told.count("rank_by_order"), 0U);
}

TEST(SeveralFiles, RanksByTheirOrderAreSaid) {
  const Folder folder;
  const std::string text = nameless().text();
  const Imported imported = import_files(
      folder, {folder.write("x.json", text), folder.write("y.json", text), folder.write("z.json", sound(1, 3))});
  EXPECT_THAT(ranks_of(imported), ElementsAre(0, 1, 2));
  EXPECT_THAT(message_of(imported, "rank_by_order"),
              AllOf(HasSubstr("x.json is rank 0"), HasSubstr("y.json is rank 2")));
}

TEST(SeveralFiles, OneWithFewerCollectivesStillMatchesTheOthers) {
  const Folder folder;
  TraceText fewer = sound_trace(1, 2);
  const std::string first = fewer.event_with("ncclDevKernel", "\"correlation\": 9}}");
  std::erase(fewer.events, first);
  const Imported imported =
      import_files(folder, {folder.write("a.json", sound(0, 2)), folder.write("b.json", fewer.text())});
  // Numbered by step, the collectives of the second and third step are matched; the first step's is not.
  EXPECT_EQ(imported.counts().at("collective_unmatched"), 1) << message_of(imported, "collective_unmatched");
  EXPECT_EQ(imported.told.count("collectives_unlike"), 0U);
  EXPECT_EQ(imported.all().communication_ns, 5 * Sound::communication_ns);
}

TEST(SeveralFiles, SizesUnlikeOnTwoRanks) {
  const Folder folder;
  TraceText unlike = sound_trace(1, 2);
  std::string& second = unlike.event_with("ncclDevKernel", "\"correlation\": 109}}");
  second = replaced(replaced(second, "\"In msg nelems\": 1000", "\"In msg nelems\": 1001"), "\"Out msg nelems\": 1000",
                    "\"Out msg nelems\": 1001");
  const Imported imported =
      import_files(folder, {folder.write("a.json", sound(0, 2)), folder.write("b.json", unlike.text())});
  EXPECT_EQ(imported.counts().at("collectives_unlike"), 2);  // one on each rank
  EXPECT_THAT(message_of(imported, "clock_unknown"), HasSubstr("that agree in kind and size"));
  EXPECT_EQ(imported.all().communication_ns, 6 * Sound::communication_ns);
}

TEST(SeveralFiles, OneThatCannotBeUsedIsLeftOut) {
  const Folder folder;
  const Imported imported =
      import_files(folder, {folder.write("a.json", "<html>"), folder.write("b.json", sound(1, 2)),
                            folder.path() / "missing.json", folder.write("c.json", sound(0, 2)), folder.path()});
  EXPECT_EQ(imported.error, "");
  EXPECT_EQ(imported.result.ranks, 2);
  EXPECT_EQ(imported.counts().at("file_unusable"), 3);
  std::string all;
  for (const auto& [code, told] : imported.told) all += told.message + "\n";
  EXPECT_THAT(all, AllOf(HasSubstr("a.json"), HasSubstr("missing.json"), HasSubstr(folder.path().string())));
  EXPECT_EQ(imported.rows.at("kernel"), 30);
  EXPECT_EQ(imported.all().compute_ns, 6 * Sound::compute_ns);
}

TEST(SeveralFiles, NoneThatCanBeUsedNamesThemAll) {
  const Folder folder;
  const Imported imported = import_files(
      folder, {folder.write("a.json", "<html>"), folder.write("b.json", ""), folder.path() / "missing.json"});
  EXPECT_THAT(imported.error, AllOf(HasSubstr("a.json"), HasSubstr("b.json"), HasSubstr("missing.json")));
  for (const auto& [table, rows] : imported.rows) EXPECT_EQ(rows, 0) << table;
}

TEST(SeveralFiles, NoFile) {
  const Folder folder;
  EXPECT_THAT(import_files(folder, {}).error, HasSubstr("no file"));
}

TEST(SeveralFiles, RanksUnlikeAreSaidWithWhoDiffers) {
  const Folder folder;
  TraceText on_cpu = sound_trace(2, 3);
  std::erase_if(on_cpu.events, [](const std::string& event) {
    for (const char* category : {"\"kernel\"", "\"cuda_runtime\"", "\"gpu_memcpy\""})
      if (event.find(category) != event.npos) return true;
    return false;
  });
  for (std::string& member : on_cpu.before)
    if (member.find("\"nccl\"") != member.npos) member = replaced(member, "\"nccl\"", "\"gloo\"");
  const Imported imported =
      import_files(folder, {folder.write("a.json", sound(0, 3)), folder.write("b.json", sound_trace(1, 3, 5).text()),
                            folder.write("c.json", on_cpu.text())});
  std::string unlike;
  const auto told = imported.told.equal_range("ranks_unlike");
  for (auto one = told.first; one != told.second; ++one) unlike += one->second.message + "\n";
  EXPECT_THAT(unlike, AllOf(HasSubstr("devices: most ranks GPU, but rank 2 (c.json) CPU"),
                            HasSubstr("backends: most ranks nccl, but rank 2 (c.json) gloo")));
  EXPECT_THAT(message_of(imported, "steps_unlike"), HasSubstr("rank 1 (b.json) 5"));
  EXPECT_THAT(imported.counts().at("steps_unlike"), 1);
}

// Two groups of two ranks train models of other sizes, as an actor and a critic: the steps of the ranks are not alike.
TEST(SeveralFiles, GroupsThatTrainOtherModelsAreSaid) {
  const auto gradients_told = [](int elements) {
    const Folder folder;
    std::vector<std::filesystem::path> files;
    for (int rank = 0; rank < 4; ++rank) {
      TraceText trace = sound_trace(rank, 4);
      if (rank >= 2)
        for (std::string& event : trace.events)
          if (event.find("\"Collective name\"") != event.npos)
            event = replaced(replaced(event, "[0, 1]", "[2, 3]"), R"("In msg nelems": 1000, "Out msg nelems": 1000)",
                             "\"In msg nelems\": " + std::to_string(elements));
      files.push_back(folder.write("rank" + std::to_string(rank) + ".json", trace.text()));
    }
    const Imported imported = import_files(folder, files);
    EXPECT_EQ(imported.told.count("not_data_parallel"), 4U);
    const auto told = imported.told.find("ranks_unlike");
    return told == imported.told.end() ? std::string() : told->second.message;
  };
  EXPECT_THAT(gradients_told(5000), AllOf(HasSubstr("gradients: "), HasSubstr("rank 3 (rank3.json) 20000 bytes")));
  EXPECT_EQ(gradients_told(1000), "");
}

// Sizes that each rank derived from its own durations: rank 0 waited in bucket 0 for rank 1.
TEST(SeveralFiles, AssumedSizesAreThoseOfTheRankThatWaitedLeast) {
  std::vector<ingest::LoadedShard> shards(2);
  const std::int64_t ends_ns[2][2] = {{400, 700}, {100, 400}}, bytes[2][2] = {{70, 30}, {40, 60}};
  for (std::size_t rank = 0; rank < 2; ++rank)
    for (std::int32_t bucket = 0; bucket < 2; ++bucket) {
      ingest::CollectiveFact fact;
      fact.bucket = bucket;
      fact.start_ns = 100 * bucket;
      fact.end_ns = ends_ns[rank][bucket];
      fact.bytes = bytes[rank][bucket];
      shards[rank].trace.collectives.push_back(fact);
      shards[rank].trace.parameters.push_back({1 - bucket, "bucket", bytes[rank][bucket] / 4, bytes[rank][bucket]});
    }
  share_assumed_sizes(shards);
  for (const ingest::LoadedShard& shard : shards) {
    EXPECT_EQ(shard.trace.collectives[0].bytes, 40);
    EXPECT_EQ(shard.trace.collectives[1].bytes, 60);
    EXPECT_EQ(shard.trace.parameters[0].bytes, 40);
  }
}

TEST(SeveralFiles, TheSameTracesInTwoFoldersAreSaid) {
  const Folder folder;
  std::vector<std::filesystem::path> files;
  for (const char* name : {"one", "two"}) {
    std::filesystem::create_directories(folder.path() / name);
    for (int rank = 0; rank < 2; ++rank)
      files.push_back(folder.write(std::string(name) + "/rank" + std::to_string(rank) + ".json", sound(rank, 2)));
  }
  EXPECT_THAT(message_of(import_files(folder, files), "same_job"), HasSubstr("given twice"));
  files.resize(2);
  EXPECT_EQ(import_files(folder, files).told.count("same_job"), 0U);
}

// CUPTI failed on rank 1: its host launched kernels, and the trace has none.
TEST(SeveralFiles, ARankWithoutItsDevicesIsLeftOut) {
  const Folder folder;
  TraceText without = sound_trace(1, 2);
  std::erase_if(without.events, [](const std::string& event) {
    return event.find("\"kernel\"") != event.npos || event.find("\"gpu_memcpy\"") != event.npos;
  });
  const Imported imported =
      import_files(folder, {folder.write("a.json", sound(0, 2)), folder.write("b.json", without.text())});
  EXPECT_EQ(imported.error, "");
  EXPECT_THAT(message_of(imported, "rank_without_devices"), HasSubstr("b.json (rank 1)"));
  EXPECT_THAT(message_of(imported, "rank_missing"), HasSubstr("no file of rank 1 of 2"));
  EXPECT_THAT(ranks_of(imported), ElementsAre(0));
  EXPECT_EQ(imported.told.count("device_not_recorded"), 0U);
}

// Traces before torch 2.12 have no name of the host: 4 ranks cannot be on a host with 2 GPUs.
TEST(SeveralFiles, MoreRanksThanGpusAreOnSeveralHosts) {
  const Folder folder;
  const auto of = [&](int world_size, const std::string& gpus) {
    TraceText trace = sound_trace(0, world_size);
    for (std::string& member : trace.before)
      if (member.find("deviceProperties") != member.npos) member = R"("deviceProperties": [)" + gpus + "]";
    return import_files(folder, {folder.write("rank0.json", trace.text())});
  };
  const auto hosts = [&] {
    store::Database database = store::Database::open_read(folder.path() / "imported.db");
    return database.sql().execAndGet("SELECT nodes FROM measurement").getInt();
  };
  const std::string gpu = R"({"id": 0, "name": "NVIDIA A100"})";
  EXPECT_THAT(message_of(of(4, gpu + ", " + gpu), "hosts_by_devices"), HasSubstr("2 hosts are assumed"));
  EXPECT_EQ(hosts(), 2);
  EXPECT_EQ(of(2, gpu + ", " + gpu).told.count("hosts_by_devices"), 0U);
  EXPECT_EQ(hosts(), 1);
  EXPECT_EQ(of(4, gpu).told.count("hosts_by_devices"), 0U) << "CUDA_VISIBLE_DEVICES shows one GPU only";
  EXPECT_EQ(hosts(), 1);
  EXPECT_THAT(message_of(of(16, gpu), "hosts_unknown"), HasSubstr("one host is assumed"));
}

TEST(SeveralFiles, TwoImportsAreTwoMeasurements) {
  const Folder folder;
  store::Database database = store::Database::create(folder.path() / "imported.db");
  ImportOptions options;
  options.files = {folder.write("a.json", sound(0, 2)), folder.write("b.json", sound(1, 2))};
  import_into(database, options);
  const Imported second = import_into(database, options);
  EXPECT_EQ(second.error, "");
  EXPECT_EQ(second.rows.at("measurement"), 2);
  EXPECT_EQ(second.rows.at("shard"), 4);
  EXPECT_EQ(second.rows.at("kernel"), 60);
}

TEST(SeveralFiles, WithoutRawEventsTheTotalsAreTheSame) {
  const Folder folder;
  ImportOptions options;
  options.keep_raw = false;
  const Imported imported = import_files(folder, {folder.write("a.json", sound(0, 2))}, options);
  EXPECT_EQ(imported.all().compute_ns, 3 * Sound::compute_ns);
  EXPECT_EQ(imported.rows.at("step"), 3);
  for (const char* table : {"kernel", "range", "api_call", "memcpy"}) EXPECT_EQ(imported.rows.at(table), 0) << table;
}

TEST(SeveralFiles, ATinyBoundOfMemoryChangesNothing) {
  const Folder folder;
  const std::vector<std::filesystem::path> files = {folder.write("a.json", sound_trace(0, 2, 300).text()),
                                                    folder.write("b.json", sound_trace(1, 2, 300).text())};
  ImportOptions tiny;
  tiny.memory_bytes = 20'000;
  tiny.temporary_folder = folder.path();
  const Imported spilled = import_files(folder, files, tiny), held = import_files(folder, files);
  EXPECT_EQ(spilled.error, "");
  EXPECT_EQ(spilled.totals, held.totals);
  EXPECT_EQ(spilled.rows, held.rows);
  EXPECT_EQ(spilled.counts(), held.counts());
  EXPECT_EQ(held.all().compute_ns, 600 * Sound::compute_ns);
}

TEST(SeveralFiles, WithoutRoomForTemporaryFilesNothingIsImported) {
  const Folder folder;
  ImportOptions options;
  options.memory_bytes = 20'000;
  options.temporary_folder = folder.path() / "not there";
  const Imported imported = import_files(
      folder, {folder.write("a.json", sound_trace(0, 2, 300).text()), folder.write("b.json", sound(1, 2))}, options);
  EXPECT_THAT(imported.error, HasSubstr("not there"));
  for (const auto& [table, rows] : imported.rows) EXPECT_EQ(rows, 0) << table;
}

}  // namespace
}  // namespace ddpprof::import
