// Tests the library in separate processes, injected by NVTX_INJECTION64_PATH.
#include <gmock/gmock.h>

#include <sys/resource.h>

#include <bit>
#include <set>

#include "tests/sanitizers.hpp"
#include "tests/tracer/run_program.hpp"

namespace ddpprof::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using trace::PayloadKind;
using trace::RecordType;

std::string stderr_of(const Outcome& outcome) { return "standard error: " + outcome.err; }

class Tracer : public testing::Test {
 protected:
  // Runs a mode that leaves one shard and returns the shard.
  Shard record(const std::vector<std::string>& arguments, const Environment& environment = {}) {
    const Outcome outcome = run_annotated(arguments, folder_.path(), environment);
    EXPECT_TRUE(outcome.exited_well()) << stderr_of(outcome);
    EXPECT_THAT(outcome.err, IsEmpty());
    std::vector<Shard> shards = walk_all(folder_.path());
    EXPECT_THAT(shards, SizeIs(1));
    return shards.at(0);
  }

  TemporaryFolder folder_;
};

TEST_F(Tracer, RecordsEveryEntryPoint) {
  const Shard shard = record({"entry-points"});
  for (const char* name :
       {"mark A", "mark W \u00e4\u20ac\U0001F600", "mark Ex", "unicode in a domain", "after everything"}) {
    EXPECT_THAT(shard.named(RecordType::mark, name), SizeIs(1)) << name;
  }
  for (const char* name : {"push A", "push W", "push Ex"})
    EXPECT_THAT(shard.named(RecordType::push, name), SizeIs(1)) << name;
  for (const char* name : {"start A", "start W", "start Ex", "registered wide"}) {
    EXPECT_THAT(shard.named(RecordType::range_start, name), SizeIs(1)) << name;
  }
  EXPECT_THAT(shard.named(RecordType::mark, "registered"), SizeIs(1));
  EXPECT_THAT(shard.named(RecordType::push, "registered"), SizeIs(2));  // in two domains
  EXPECT_THAT(shard.of(RecordType::pop), SizeIs(5));                    // the sixth had no push
  EXPECT_EQ(shard.diagnostics(trace::DiagnosticCode::unbalanced_pop), 1u);

  std::set<std::uint64_t> started, ended;
  for (const Record& start : shard.of(RecordType::range_start))
    started.insert(start.as<trace::RangeStartRecord>().range_id);
  for (const Record& end : shard.of(RecordType::range_end)) ended.insert(end.as<trace::RangeEndRecord>().range_id);
  EXPECT_THAT(started, SizeIs(4));
  EXPECT_EQ(started, ended);
  // "start A" was ended on another thread.
  EXPECT_NE(shard.named(RecordType::range_start, "start A")[0].tid, shard.of(RecordType::range_end)[3].tid);
}

TEST_F(Tracer, NamesDomainsCategoriesAndThreads) {
  const Shard shard = record({"entry-points"});
  std::map<std::string, std::uint64_t> domains;
  for (const Record& domain : shard.of(RecordType::domain))
    domains[shard.name(domain)] = domain.as<trace::DomainRecord>().domain;
  ASSERT_THAT(domains, SizeIs(2));
  std::map<std::string, std::pair<std::uint32_t, std::uint32_t>> categories;
  for (const Record& record : shard.of(RecordType::category)) {
    const auto category = record.as<trace::CategoryRecord>();
    categories[shard.name(record)] = {category.domain, category.category};
  }
  const auto domain_a = static_cast<std::uint32_t>(domains.at("domain A"));
  const std::map<std::string, std::pair<std::uint32_t, std::uint32_t>> expected = {
      {"category seven", {0, 7}},
      {"category \u20ac", {0, 8}},
      {"category nine of A", {domain_a, 9}},
      {"category ten of A", {domain_a, 10}}};
  EXPECT_EQ(categories, expected);
  EXPECT_EQ(shard.named(RecordType::mark, "mark Ex")[0].as<trace::EventRecord>().category, 7u);
  EXPECT_EQ(shard.named(RecordType::mark, "registered")[0].as<trace::EventRecord>().domain, domain_a);
  EXPECT_EQ(shard.named(RecordType::mark, "mark A")[0].as<trace::EventRecord>().domain, 0u);

  EXPECT_EQ(shard.named(RecordType::thread_name, "the main thread").at(0).tid, shard.pid);
  EXPECT_EQ(shard.named(RecordType::thread_name, "another thread \u00e4").at(0).tid, shard.pid + 1);
}

TEST_F(Tracer, TimesNeverGoBackOnAThread) {
  const Shard shard = record({"threads", "3", "1000"});
  std::map<std::int64_t, std::int64_t> last;
  for (const Record& record : shard.records) {
    if (record.type != RecordType::push && record.type != RecordType::pop) continue;
    EXPECT_GE(record.time_ns, last[record.tid]);
    EXPECT_GE(record.time_ns, shard.opened_monotonic_ns);
    last[record.tid] = record.time_ns;
  }
  EXPECT_THAT(last, SizeIs(3));
}

TEST_F(Tracer, KeepsNumbersOfEveryType) {
  const Shard shard = record({"numbers"});
  std::vector<std::pair<PayloadKind, std::uint64_t>> values;
  for (const Record& mark : shard.named(RecordType::mark, "number")) {
    const auto event = mark.as<trace::EventRecord>();
    values.emplace_back(event.payload_kind, event.payload);
  }
  const auto bits = [](auto value) { return std::bit_cast<std::uint64_t>(value); };
  EXPECT_THAT(
      values,
      ElementsAre(std::pair(PayloadKind::uint64, UINT64_MAX), std::pair(PayloadKind::int64, bits(INT64_MIN)),
                  std::pair(PayloadKind::float64, bits(-1.5e300)),
                  std::pair(PayloadKind::uint32, std::uint64_t{4000000000u}),
                  std::pair(PayloadKind::int32, bits(std::int64_t{-5})),
                  std::pair(PayloadKind::float64, bits(0.25)),  // a float is widened to a double
                  std::pair(PayloadKind::none, std::uint64_t{0}), std::pair(PayloadKind::none, std::uint64_t{0})));
  EXPECT_EQ(shard.diagnostics(trace::DiagnosticCode::payload_refused), 1u);  // type 99
}

TEST_F(Tracer, ManyThreadsLoseNothing) {
  constexpr int threads = 8, events = 20'000;
  const Shard shard = record({"threads", std::to_string(threads), std::to_string(events)});
  EXPECT_EQ(shard.dropped, 0u);
  std::map<std::int64_t, std::vector<std::int64_t>> pushed;  // by thread: payloads in the order written
  std::map<std::int64_t, int> depth;
  for (const Record& record : shard.records) {
    if (record.type == RecordType::push) {
      const auto event = record.as<trace::EventRecord>();
      const auto value = static_cast<std::int64_t>(event.payload);
      EXPECT_THAT(shard.name(record), testing::EndsWith("name " + std::to_string(value % 17)));
      pushed[record.tid].push_back(value);
      ASSERT_EQ(depth[record.tid]++, 0);
    } else if (record.type == RecordType::pop) {
      ASSERT_EQ(--depth[record.tid], 0);
    }
  }
  ASSERT_THAT(pushed, SizeIs(threads));
  for (const auto& [tid, values] : pushed) {
    ASSERT_THAT(values, SizeIs(events));
    for (int i = 0; i < events; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], i);
  }
  for (int t = 0; t < threads; ++t) {
    EXPECT_THAT(shard.named(RecordType::thread_name, "lane " + std::to_string(t)), SizeIs(1));
  }
  // A chunk belongs to one thread, and every name has one id.
  std::map<std::uint64_t, std::set<std::int64_t>> owners;
  for (const Record& record : shard.records) owners[record.chunk].insert(record.tid);
  for (const auto& [chunk, tids] : owners) EXPECT_THAT(tids, SizeIs(1));
  std::set<std::string> texts;
  for (const auto& [id, text] : shard.strings) EXPECT_TRUE(texts.insert(text).second) << text;
}

TEST_F(Tracer, TwoModulesShareOneShardAndOneDomain) {
  const Shard shard = record({"modules", ANNOTATED_MODULE});
  EXPECT_THAT(shard.named(RecordType::push, "pushed by the module"), SizeIs(1));
  const auto by_program = shard.named(RecordType::mark, "marked by the program").at(0).as<trace::EventRecord>();
  const auto by_module = shard.named(RecordType::mark, "marked by the module").at(0).as<trace::EventRecord>();
  EXPECT_EQ(by_program.domain, by_module.domain);
  EXPECT_NE(by_program.domain, 0);
  EXPECT_THAT(shard.of(RecordType::domain), SizeIs(1));
}

TEST_F(Tracer, HeaderIdentifiesTheProcess) {
  const Shard shard = record({"numbers"}, {{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}});
  EXPECT_EQ(shard.rank, 3);
  EXPECT_EQ(shard.world_size, 8);
  EXPECT_EQ(shard.local_rank, 1);
  EXPECT_EQ(shard.parent_pid, getpid());
  EXPECT_TRUE(shard.closed);
  EXPECT_EQ(shard.path.filename(), "shard-3-" + std::to_string(shard.pid) + ".ddps");
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  EXPECT_EQ(shard.host, host);
  std::string boot_id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot_id;
  EXPECT_EQ(shard.boot_id, boot_id);
  EXPECT_THAT(shard.process, Not(IsEmpty()));
}

TEST_F(Tracer, WithoutARankTheHeaderHasNone) {
  const Shard shard = record({"numbers"}, {{"RANK", ""}, {"WORLD_SIZE", "many"}});
  EXPECT_EQ(shard.rank, -1);
  EXPECT_EQ(shard.world_size, -1);
  EXPECT_THAT(shard.path.filename().string(), testing::StartsWith("shard-x-"));
}

TEST_F(Tracer, ChildOfForkHasAShardOfItsOwn) {
  const Outcome outcome = run_annotated({"fork"}, folder_.path());
  ASSERT_TRUE(outcome.exited_well()) << stderr_of(outcome);
  std::vector<Shard> shards = walk_all(folder_.path());
  ASSERT_THAT(shards, SizeIs(2));  // the grandchild has no annotations
  if (shards[0].parent_pid != getpid()) std::swap(shards[0], shards[1]);
  const Shard &parent = shards[0], &child = shards[1];
  EXPECT_EQ(child.parent_pid, parent.pid);
  EXPECT_TRUE(parent.closed);
  EXPECT_TRUE(child.closed);

  EXPECT_THAT(parent.named(RecordType::push, "open in the parent"), SizeIs(1));
  EXPECT_THAT(parent.of(RecordType::pop), SizeIs(1));
  EXPECT_THAT(parent.named(RecordType::mark, "in the parent afterwards"), SizeIs(1));
  EXPECT_THAT(parent.named(RecordType::push, "in the child"), IsEmpty());
  EXPECT_EQ(parent.diagnostics(trace::DiagnosticCode::forked), 0u);

  const auto pushed = child.named(RecordType::push, "in the child");
  ASSERT_THAT(pushed, SizeIs(1));
  EXPECT_EQ(pushed[0].tid, child.pid);
  EXPECT_THAT(child.of(RecordType::pop), SizeIs(1));  // the end of the parent's range is only in the parent's shard
  EXPECT_EQ(child.diagnostics(trace::DiagnosticCode::unbalanced_pop), 0u);
  EXPECT_EQ(child.diagnostics(trace::DiagnosticCode::forked), 1u);
  // The domain was created before the fork; the child's shard defines it again.
  ASSERT_THAT(child.of(RecordType::domain), SizeIs(1));
  EXPECT_EQ(child.name(child.of(RecordType::domain)[0]), "before the fork");
  EXPECT_EQ(child.of(RecordType::domain)[0].as<trace::DomainRecord>().domain,
            pushed[0].as<trace::EventRecord>().domain);
  EXPECT_THAT(child.named(RecordType::mark, "on a thread of the child"), SizeIs(1));
}

TEST_F(Tracer, KilledProcessLeavesEveryEventItMade) {
  constexpr int events = 100'000;  // several chunks
  const Outcome outcome = run_annotated({"killed-after", std::to_string(events)}, folder_.path());
  ASSERT_TRUE(WIFSIGNALED(outcome.status) && WTERMSIG(outcome.status) == SIGKILL) << stderr_of(outcome);
  const std::vector<Shard> shards = walk_all(folder_.path());
  ASSERT_THAT(shards, SizeIs(1));
  EXPECT_THAT(shards[0].named(RecordType::mark, "counted"), SizeIs(events));
  EXPECT_FALSE(shards[0].closed);
}

// Another process kills it at any point: all events that it has reported are in the shard, in order.
TEST_F(Tracer, KilledAnywhereLeavesAReadableShard) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    TemporaryFolder folder;
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const std::string descriptor = std::to_string(ends[1]);
    const pid_t child = fork();
    if (child == 0) {
      setenv("NVTX_INJECTION64_PATH", TRACER_LIBRARY, 1);
      setenv("DDPPROF_TRACE_DIR", folder.path().c_str(), 1);
      alarm(60);
      execl(ANNOTATED_PROGRAM, ANNOTATED_PROGRAM, "until-killed", descriptor.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    std::int64_t reported = -1, value = 0;
    const std::int64_t enough = 500 + 1713 * attempt;
    while (reported < enough && read(ends[0], &value, sizeof value) == sizeof value) reported = value;
    kill(child, SIGKILL);
    while (read(ends[0], &value, sizeof value) == sizeof value) reported = value;
    close(ends[0]);
    waitpid(child, nullptr, 0);
    const std::vector<Shard> shards = walk_all(folder.path());
    ASSERT_THAT(shards, SizeIs(1));
    const std::vector<Record> marks = shards[0].named(RecordType::mark, "counted");
    ASSERT_GE(marks.size(), static_cast<std::size_t>(reported + 1));
    ASSERT_LE(marks.size(), static_cast<std::size_t>(reported + 2));  // the last one may not have been reported yet
    for (std::size_t i = 0; i < marks.size(); ++i) ASSERT_EQ(marks[i].as<trace::EventRecord>().payload, i);
  }
}

TEST_F(Tracer, AtTheCapRecordsAreCountedAndThreadsKeepAPrefix) {
  constexpr std::uint64_t threads = 4, events = 30'000;
  const Shard shard =
      record({"threads", std::to_string(threads), std::to_string(events)}, {{"DDPPROF_TRACE_MAX_MB", "1"}});
  EXPECT_LE(std::filesystem::file_size(shard.path), 1u << 20);
  EXPECT_EQ(shard.chunks_used, shard.chunk_capacity);
  EXPECT_EQ(shard.chunk_capacity, ((1u << 20) - 4096) / 65536);
  EXPECT_EQ(shard.growth_error, 0);  // reaching the cap is not an error
  EXPECT_TRUE(shard.closed);
  const std::uint64_t kept = shard.of(RecordType::push).size() + shard.of(RecordType::pop).size();
  EXPECT_GT(shard.dropped, 0u);
  EXPECT_GE(kept + shard.dropped, threads * events * 2);                     // every record is counted
  EXPECT_LE(kept + shard.dropped, threads * events * 2 + threads * events);  // dropped names count, too
  std::map<std::int64_t, std::uint64_t> next;
  for (const Record& push : shard.of(RecordType::push))
    ASSERT_EQ(push.as<trace::EventRecord>().payload, next[push.tid]++);
}

TEST_F(Tracer, ADiskThatFillsUpCostsRecordsNotTheProgram) {
  constexpr std::uint64_t events = 50'000;
  const Shard shard = record({"disk-full", std::to_string(events)});
  EXPECT_LE(std::filesystem::file_size(shard.path), 1'500'000u);
  // All chunks that fit were used: 22 chunks of 64 KiB and the header are below 1.5 MB, 23 are not.
  EXPECT_EQ(shard.chunks_used, 22u);
  const std::uint64_t kept = shard.of(RecordType::push).size() + shard.of(RecordType::pop).size();
  EXPECT_EQ(kept + shard.dropped, 2 * events);
  EXPECT_EQ(shard.growth_error, EFBIG);  // returned by posix_fallocate; a full disk returns ENOSPC
  std::uint64_t next = 0;
  for (const Record& push : shard.of(RecordType::push)) ASSERT_EQ(push.as<trace::EventRecord>().payload, next++);
}

// A limit as batch systems set it (ulimit -v). Mapping the whole cap would take this memory from the program.
TEST_F(Tracer, ALimitOfMemoryLowersTheCap) {
  if (test::under_address_sanitizer() || test::under_thread_sanitizer()) {
    GTEST_SKIP() << "a sanitizer's shadow memory exceeds the limit";
  }
  constexpr std::uint64_t events = 300'000;
  const Shard shard = record({"little-memory", std::to_string(events)});
  const std::uint64_t kept = shard.of(RecordType::push).size() + shard.of(RecordType::pop).size();
  EXPECT_GT(kept, 0u);
  EXPECT_EQ(kept + shard.dropped, 2 * events);
  EXPECT_LE(std::filesystem::file_size(shard.path), 16u << 20);
  EXPECT_EQ(shard.growth_error, ENOMEM);
}

// A limit on file sizes at the start lowers the cap, because growing beyond the limit would raise SIGXFSZ.
TEST_F(Tracer, AFileSizeLimitLowersTheCap) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{512 * 1024, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const Shard shard = record({"threads", "1", "30000"});
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_LE(std::filesystem::file_size(shard.path), 512u * 1024);
  EXPECT_EQ(shard.growth_error, EFBIG);
  EXPECT_GT(shard.dropped, 0u);
  EXPECT_THAT(shard.of(RecordType::push), Not(IsEmpty()));
}

TEST_F(Tracer, TheDriversInjectionWorksAndMissingPartsAreReported) {
  const Shard shard = record({"cuda", TRACER_LIBRARY});
  EXPECT_THAT(shard.named(RecordType::mark, "on the host"), SizeIs(1));
  const std::uint64_t unavailable = shard.diagnostics(trace::DiagnosticCode::cupti_unavailable);
  if (std::filesystem::exists("/dev/nvidiactl")) {
    EXPECT_LE(unavailable, 1u);
    return;
  }
  ASSERT_EQ(unavailable, 1u);  // reported once, although the driver calls twice
  const std::string said = shard.name(shard.of(RecordType::diagnostic).at(0));
  EXPECT_THAT(said, testing::AnyOf(HasSubstr("libcupti cannot be loaded"), HasSubstr("CUPTI refused"),
                                   HasSubstr("this build has no CUDA part")));
}

TEST_F(Tracer, WithoutAFolderItStaysSilent) {
  const Outcome outcome = run_annotated({"numbers"}, "", {{"DDPPROF_TRACE_DIR", ""}});
  EXPECT_TRUE(outcome.exited_well());
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST_F(Tracer, AnUnwritableFolderIsReportedOnceAndTheProgramRunsOn) {
  const Outcome outcome = run_annotated({"modules", ANNOTATED_MODULE}, "/proc/no-such-folder");
  EXPECT_TRUE(outcome.exited_well()) << stderr_of(outcome);
  const std::string said = "ddpprof tracer: cannot create /proc/no-such-folder/shard-";
  EXPECT_THAT(outcome.err, HasSubstr(said));
  EXPECT_EQ(outcome.err.find(said), outcome.err.rfind(said));
  EXPECT_THAT(outcome.err, HasSubstr("Set DDPPROF_TRACE_DIR to a writable folder"));
}

TEST_F(Tracer, AnInvalidCapIsReportedAndTheDefaultUsed) {
  const Outcome outcome = run_annotated({"numbers"}, folder_.path(), {{"DDPPROF_TRACE_MAX_MB", "much"}});
  EXPECT_TRUE(outcome.exited_well());
  EXPECT_THAT(outcome.err, HasSubstr("DDPPROF_TRACE_MAX_MB=\"much\": expected MiB, a whole number"));
  EXPECT_EQ(walk_all(folder_.path()).at(0).chunk_capacity, ((std::uint64_t{1024} << 20) - 4096) / 65536);
}

TEST_F(Tracer, ASignalHandlerThatAnnotatesDoesNotTearRecords) {
  const Shard shard = record({"signals"});
  std::int64_t open = 0;
  for (const Record& record : shard.records) {  // walk() has checked that every record is complete
    if (record.type == RecordType::push) ++open;
    if (record.type == RecordType::pop) --open;
    ASSERT_TRUE(open == 0 || open == 1);
  }
  EXPECT_THAT(shard.of(RecordType::push), SizeIs(400'000));
  // The first mark is not from the handler. An interruption of the tracer itself counts as a dropped record.
  EXPECT_GT(shard.named(RecordType::mark, "in the handler").size() + shard.dropped, 1u);
}

TEST_F(Tracer, ExportsItsEntryPointsAndNothingElse) {
  std::FILE* nm = popen("nm -D --defined-only " TRACER_LIBRARY, "r");
  ASSERT_NE(nm, nullptr);
  std::set<std::string> symbols;
  char line[1024];
  while (std::fgets(line, sizeof line, nm) != nullptr) {
    const std::string text(line, strcspn(line, "\n"));
    symbols.insert(text.substr(text.rfind(' ') + 1));
  }
  EXPECT_EQ(pclose(nm), 0);
  EXPECT_THAT(symbols,
              ElementsAre("InitializeInjection", "InitializeInjectionNvtx2", "InitializeInjectionNvtxExtension",
                          "ddpprof_tracer_finish", "ddpprof_tracer_version", "ncclProfiler_v1", "ncclProfiler_v2",
                          "ncclProfiler_v3", "ncclProfiler_v4", "ncclProfiler_v5", "ncclProfiler_v6"));
}

}  // namespace
}  // namespace ddpprof::test
