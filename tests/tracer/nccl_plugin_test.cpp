// Tests NCCL's profiler plugin as NCCL uses it: opened by path in a separate process, for each version of the
// interface.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include "tests/tracer/run_program.hpp"

namespace ddpprof::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using trace::NcclChannelRecord;
using trace::NcclCommunicatorRecord;
using trace::NcclOperationRecord;
using trace::RecordType;

class NcclPlugin : public testing::TestWithParam<int> {
 protected:
  Outcome run(const std::string& mode, bool traced = true) {
    Environment environment{{"RANK", "3"}, {"WORLD_SIZE", "16"}};
    if (traced) environment["DDPPROF_TRACE_DIR"] = folder_.path().string();
    return run_program(NCCL_DRIVER, {mode, std::to_string(GetParam()), TRACER_LIBRARY}, environment);
  }
  Shard record(const std::string& mode) {
    const Outcome outcome = run(mode);
    EXPECT_TRUE(outcome.exited_well()) << outcome.err;
    EXPECT_THAT(outcome.err, IsEmpty());
    return walk_all(folder_.path()).at(0);
  }
  bool names_communicators() const { return GetParam() >= 4; }

  struct Told {
    Record record;
    NcclOperationRecord fields;
  };
  static std::vector<Told> operations(const Shard& shard, const std::string& function) {
    std::vector<Told> told;
    for (const Record& record : shard.named(RecordType::nccl_operation, function))
      told.push_back({record, record.as<NcclOperationRecord>()});
    return told;
  }
  static std::string text(const Shard& shard, std::uint32_t id) { return id == 0 ? "" : shard.strings.at(id); }

  TemporaryFolder folder_;
};

TEST_P(NcclPlugin, RecordsEveryOperationWithWhatNcclTells) {
  const Shard shard = record("everything");
  ASSERT_THAT(shard.of(RecordType::nccl_operation), SizeIs(7));
  const auto reduces = operations(shard, "AllReduce");
  ASSERT_THAT(reduces, SizeIs(3));
  for (std::uint64_t i = 0; i < 3; ++i) {
    const NcclOperationRecord& reduce = reduces[i].fields;
    EXPECT_EQ(reduce.sequence, i);
    EXPECT_EQ(reduce.count, 1000u << i);
    EXPECT_EQ(text(shard, reduce.datatype_id), "ncclFloat32");
    EXPECT_EQ(text(shard, reduce.algorithm_id), "RING");
    EXPECT_EQ(text(shard, reduce.protocol_id), "LL128");
    EXPECT_EQ(reduce.channels, 24);
    EXPECT_EQ(reduce.warps, 16);
    EXPECT_EQ(reduce.flags,
              i == 2 && GetParam() >= 5 ? trace::nccl_captured : 0u);  // calls are reported since version 5
  }
  const NcclOperationRecord cast = operations(shard, "Broadcast").at(0).fields;
  EXPECT_EQ(cast.root_or_peer, 5);
  EXPECT_EQ(cast.count, 4096u);
  EXPECT_EQ(text(shard, cast.algorithm_id), "TREE");
  EXPECT_EQ(text(shard, cast.protocol_id), "SIMPLE");
  EXPECT_EQ(cast.group, reduces[1].fields.group);  // one kernel
  EXPECT_NE(cast.group, 0u);
  EXPECT_NE(reduces[0].fields.group, reduces[1].fields.group);
  const Told scatter = operations(shard, "ReduceScatter").at(0);
  EXPECT_EQ(text(shard, scatter.fields.datatype_id), "ncclBfloat16");
  EXPECT_EQ(text(shard, scatter.fields.algorithm_id), "NVLS");
  EXPECT_NE(scatter.record.tid, reduces[0].record.tid);
  EXPECT_NE(scatter.fields.communicator, reduces[0].fields.communicator);
}

TEST_P(NcclPlugin, RecordsMessages) {
  const Shard shard = record("everything");
  const NcclOperationRecord send = operations(shard, "Send").at(0).fields;
  const NcclOperationRecord receive = operations(shard, "Recv").at(0).fields;
  EXPECT_EQ(send.flags, trace::nccl_point_to_point);
  EXPECT_EQ(send.root_or_peer, 7);
  EXPECT_EQ(receive.root_or_peer, 2);
  EXPECT_EQ(send.count, 77u);
  EXPECT_EQ(receive.count, 78u);
  EXPECT_EQ(text(shard, send.datatype_id), "ncclFloat16");
  EXPECT_EQ(text(shard, receive.datatype_id), "ncclInt64");
  EXPECT_EQ(send.channels, names_communicators() ? 2 : 0);
  EXPECT_EQ(send.group, receive.group);
  EXPECT_EQ(send.algorithm_id, 0u);
}

TEST_P(NcclPlugin, DescribesCommunicatorsOnce) {
  const Shard shard = record("everything");
  const auto described = shard.of(RecordType::nccl_communicator);
  ASSERT_THAT(described, SizeIs(2));
  for (const Record& record : described) {
    const auto communicator = record.as<NcclCommunicatorRecord>();
    const bool world = communicator.hash == 0xaaaa000000000001;
    if (!world) {
      EXPECT_EQ(communicator.hash, 0xbbbb000000000002);
    }
    EXPECT_EQ(shard.name(record), world ? "world" : "");
    EXPECT_EQ(communicator.rank, world ? 3 : 1);
    EXPECT_EQ(communicator.ranks, !names_communicators() ? -1 : world ? 16 : 8);
    EXPECT_EQ(communicator.nodes, !names_communicators() ? -1 : world ? 2 : 1);
    EXPECT_EQ(communicator.interface_version, static_cast<std::uint32_t>(GetParam()));
    const auto function = world ? "AllReduce" : "ReduceScatter";
    EXPECT_EQ(operations(shard, function).at(0).fields.communicator, communicator.communicator);
  }
}

// CUPTI does not time kernels in this process. From version 4 on NCCL passes the GPU's own times.
TEST_P(NcclPlugin, AsksForChannelsOnlyWhereTheyAreNeededAndTimed) {
  const Outcome outcome = run("everything");
  const bool channels = GetParam() >= 4;
  EXPECT_EQ(outcome.out, std::string("ddpprof mask ") + (channels ? "70" : "6") + "\n");
  const Shard shard = walk_all(folder_.path()).at(0);
  const auto records = shard.of(RecordType::nccl_channel);
  ASSERT_THAT(records, SizeIs(channels ? 4 : 0));
  if (!channels) return;
  std::map<std::uint64_t, NcclChannelRecord> begun;
  for (const Record& record : records) {
    const auto channel = record.as<NcclChannelRecord>();
    if (channel.ended == 0) {
      begun[channel.event] = channel;
      EXPECT_EQ(channel.operation, operations(shard, "AllReduce").at(0).fields.operation);
      EXPECT_EQ(channel.timer_ns, 5'000'000u + channel.channel);
    } else {
      EXPECT_TRUE(begun.contains(channel.event));
      EXPECT_EQ(channel.timer_ns, 5'090'000u);
    }
  }
  EXPECT_THAT(begun, SizeIs(2));
}

TEST_P(NcclPlugin, DeclinesWhereNothingIsRecorded) {
  const Outcome outcome = run("off", false);
  EXPECT_TRUE(outcome.exited_well()) << outcome.err;
  EXPECT_EQ(outcome.out, "mask 0 no context");
}

// NCCL up to 2.30.7 passes the address of its only mask to each init (src/plugin/profiler.cc, ncclProfilerEventMask).
TEST_P(NcclPlugin, ANewCommunicatorSwitchesNoOtherOneOff) {
  const Outcome outcome = run("mask");
  EXPECT_TRUE(outcome.exited_well()) << outcome.err;
  EXPECT_EQ(outcome.out, "without events 0");
}

TEST_P(NcclPlugin, OutlivesAbuse) {
  const Outcome outcome = run("abuse");
  ASSERT_TRUE(outcome.exited_well()) << outcome.err;
  std::map<std::string, int> algorithms;
  std::map<std::uint64_t, int> sequences;
  for (const Shard& shard : walk_all(folder_.path()))
    for (const Record& record : shard.of(RecordType::nccl_operation)) {
      const auto operation = record.as<NcclOperationRecord>();
      ++sequences[operation.sequence];
      ++algorithms[text(shard, operation.algorithm_id)];
    }
  EXPECT_EQ(algorithms["A_NAME_OF_TOMORROW"], GetParam() == 1 ? 0 : 1);  // version 1 has codes, not names
  EXPECT_EQ(sequences[~0ull], 2);
  EXPECT_EQ(sequences[9], 1);   // after the communicator's end
  EXPECT_EQ(sequences[10], 1);  // in a forked child
}

TEST_P(NcclPlugin, KeepsWhatAKilledProcessToldOf) {
  const Outcome outcome = run("killed");
  EXPECT_TRUE(WIFSIGNALED(outcome.status));
  EXPECT_THAT(operations(walk_all(folder_.path()).at(0), "AllReduce"), SizeIs(100));
}

TEST_P(NcclPlugin, RecordsOnManyThreads) {
  const Shard shard = record("threads");
  std::map<std::uint64_t, int> sequences, groups;
  for (const Told& told : operations(shard, "AllReduce")) {
    ++sequences[told.fields.sequence];
    ++groups[told.fields.group];
  }
  EXPECT_THAT(sequences, SizeIs(4000));
  EXPECT_THAT(groups, SizeIs(4000));
  EXPECT_THAT(shard.of(RecordType::nccl_communicator), SizeIs(1));
}

TEST_P(NcclPlugin, AFullShardLosesRecordsAndCountsThem) {
  const Outcome outcome = run_program(NCCL_DRIVER, {"flood", std::to_string(GetParam()), TRACER_LIBRARY},
                                      {{"DDPPROF_TRACE_DIR", folder_.path().string()}, {"DDPPROF_TRACE_MAX_MB", "1"}});
  ASSERT_TRUE(outcome.exited_well()) << outcome.err;
  const Shard shard = walk_all(folder_.path()).at(0);
  const std::size_t kept = operations(shard, "AllReduce").size();
  EXPECT_GT(kept, 10'000u);  // 1 MiB has room for 13 thousand records of 80 bytes
  EXPECT_EQ(kept + shard.dropped, 20'000u);
}

// The installed NCCL library contains the names that it looks up. It uses the newest one.
TEST(NcclItself, FindsTheNewestTableThatItLooksFor) {
  const std::string nccl = NCCL_LIBRARY;
  if (nccl.empty() || !std::filesystem::exists(nccl)) GTEST_SKIP() << "no libnccl.so.2 is installed";
  std::ifstream file(nccl, std::ios::binary);
  std::string bytes(std::filesystem::file_size(nccl), '\0');  // 200 MB: read in one call
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(file) << nccl;
  const std::string stem = "ncclProfiler_v";
  int newest = 0;
  for (std::size_t at = bytes.find(stem); at != std::string::npos; at = bytes.find(stem, at + 1)) {
    const char digit = bytes.at(at + stem.size());
    if (digit > '0' && digit <= '9' && bytes.at(at + stem.size() + 1) == '\0') newest = std::max(newest, digit - '0');
  }
  if (newest == 0) GTEST_SKIP() << nccl << " is older than its profiler plugins (2.23)";
  void* nccl_itself = dlopen(nccl.c_str(), RTLD_NOW | RTLD_LOCAL);  // both libraries must work in one process
  if (nccl_itself == nullptr) GTEST_SKIP() << dlerror();
  void* plugin = dlopen(TRACER_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(plugin, nullptr) << dlerror();
  EXPECT_NE(dlsym(plugin, (stem + std::to_string(newest)).c_str()), nullptr) << "version " << newest;
}

INSTANTIATE_TEST_SUITE_P(Versions, NcclPlugin, testing::Range(1, 7),
                         [](const auto& version) { return "V" + std::to_string(version.param); });

}  // namespace
}  // namespace ddpprof::test
