#include "tracer/store/shard/shard_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/store/shard_builder.hpp"
#include "tracer/store/utf8.hpp"

namespace ddpprof::store {
namespace {

using test::ShardBuilder;
using test::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Logs all visited records as text, so that two readings can be compared.
class Log : public ShardVisitor {
 public:
  std::vector<std::string> lines;
  void on_chunk(std::int64_t tid) override { tid_ = tid; }
  void on_string(std::uint32_t id, std::string_view text) override { say("string", id, std::string(text)); }
  void on_thread_name(const trace::RecordHeader& h) override { say("thread", h.name_id); }
  void on_domain(const trace::DomainRecord& r) override { say("domain", r.domain); }
  void on_category(const trace::CategoryRecord& r) override { say("category", r.category); }
  void on_schema(const trace::SchemaRecord& r, std::span<const trace::SchemaField> f) override {
    say("schema", r.schema, std::to_string(f.size()));
  }
  void on_push(const trace::EventRecord& r, const ExtendedPayload& p) override {
    say("push", r.header.time_ns, std::to_string(p.bytes.size()));
  }
  void on_pop(const trace::PopRecord& r) override { say("pop", r.header.time_ns); }
  void on_mark(const trace::EventRecord& r, const ExtendedPayload& p) override {
    say("mark", r.header.time_ns, std::to_string(p.bytes.size()));
  }
  void on_range_start(const trace::RangeStartRecord& r, const ExtendedPayload& p) override {
    say("start", r.range_id, std::to_string(p.bytes.size()));
  }
  void on_range_end(const trace::RangeEndRecord& r) override { say("end", r.range_id); }
  void on_kernel(const trace::KernelRecord& r) override { say("kernel", r.end_ns); }
  void on_copy(const trace::CopyRecord& r) override { say("copy", r.bytes); }
  void on_api(const trace::ApiRecord& r) override { say("api", r.cbid); }
  void on_gpu_marker(const trace::GpuMarkerRecord& r) override { say("gpu_marker", r.marker_id); }
  void on_correlation(const trace::CorrelationRecord& r) override { say("correlation", r.external_id); }
  void on_overhead(const trace::OverheadRecord& r) override { say("overhead", r.end_ns); }
  void on_diagnostic(const trace::DiagnosticRecord& r) override { say("diagnostic", r.count); }

 private:
  template <class N>
  void say(const char* what, N number, std::string more = "") {
    lines.push_back(std::to_string(tid_) + " " + what + " " + std::to_string(number) +
                    (more.empty() ? "" : " " + more));
  }
  std::int64_t tid_ = 0;
};

// A shard with small chunks, every record type and two threads.
ShardBuilder every_type() {
  ShardBuilder shard(512);
  shard.header.rank = 3;
  shard.header.world_size = 4;
  shard.domain(1, "ddpprof");
  shard.schema(1, 1u << 24, "s", {{"a", 17, 0}, {"b", 15, 8}});
  const std::uint64_t values[2] = {7, 8};
  auto push = shard.event(100, "forward", 1);
  push.payload_kind = trace::PayloadKind::extended;
  push.payload = 1u << 24;
  shard.add(10, trace::RecordType::push, push, ShardBuilder::extended(values));
  shard.pop(10, 200, 1);
  shard.add(10, trace::RecordType::mark, shard.event(210, "mark"));
  trace::RangeStartRecord start{};
  start.event = shard.event(220, "collective", 1);
  start.event.payload_kind = trace::PayloadKind::extended;
  start.event.payload = 1u << 24;
  start.range_id = 77;
  shard.add(20, trace::RecordType::range_start, start, ShardBuilder::extended(values));
  trace::RangeEndRecord end{};
  end.range_id = 77;
  shard.add(10, trace::RecordType::range_end, end);
  trace::RecordHeader name{};
  name.name_id = shard.text("gloo worker");
  shard.add(20, trace::RecordType::thread_name, name);
  trace::CategoryRecord category{};
  category.category = 5;
  shard.add(20, trace::RecordType::category, category);
  trace::KernelRecord kernel{};
  kernel.end_ns = 31;
  shard.add(20, trace::RecordType::kernel, kernel);
  trace::CopyRecord copy{};
  copy.bytes = 32;
  shard.add(20, trace::RecordType::memcpy_, copy);
  trace::ApiRecord api{};
  api.cbid = 33;
  shard.add(20, trace::RecordType::api_call, api);
  trace::GpuMarkerRecord marker{};
  marker.marker_id = 34;
  shard.add(20, trace::RecordType::gpu_marker, marker);
  trace::CorrelationRecord correlation{};
  correlation.external_id = 35;
  shard.add(20, trace::RecordType::correlation, correlation);
  trace::OverheadRecord overhead{};
  overhead.end_ns = 36;
  shard.add(20, trace::RecordType::overhead, overhead);
  trace::DiagnosticRecord diagnostic{};
  diagnostic.count = 37;
  shard.add(20, trace::RecordType::diagnostic, diagnostic);
  return shard;
}

TEST(ShardReader, VisitsEveryTypeInOrder) {
  TemporaryFolder folder;
  const ShardReader reader(every_type().write(folder / "a.shard"));
  EXPECT_EQ(reader.info().rank, 3);
  EXPECT_EQ(reader.info().world_size, 4);
  EXPECT_EQ(reader.info().host, "node-a");
  EXPECT_EQ(reader.info().pid, 4242);
  EXPECT_TRUE(reader.info().closed);
  Log log;
  const ShardTally tally = reader.visit(log);
  EXPECT_TRUE(tally.sound());
  EXPECT_EQ(tally.records, log.lines.size());
  std::vector<std::string> ten, twenty;
  for (const std::string& line : log.lines) {
    if (line.starts_with("10 ")) ten.push_back(line);
    if (line.starts_with("20 ")) twenty.push_back(line);
  }
  EXPECT_THAT(ten, ElementsAre("10 push 100 16", "10 pop 200", "10 mark 210 0", "10 end 77"));
  EXPECT_THAT(twenty, ElementsAre("20 start 77 16", testing::StartsWith("20 thread"), "20 category 5", "20 kernel 31",
                                  "20 copy 32", "20 api 33", "20 gpu_marker 34", "20 correlation 35", "20 overhead 36",
                                  "20 diagnostic 37"));
}

// Cuts the file at every byte. Inside the header this is an error. Otherwise exactly the complete records before the
// cut are visited, and the rest is counted.
TEST(ShardReader, TruncatedAtEveryByte) {
  TemporaryFolder folder;
  const std::vector<std::byte> whole = every_type().bytes();
  ShardBuilder::write_bytes(folder / "whole.shard", whole);
  Log all;
  ShardReader(folder / "whole.shard").visit(all);
  std::size_t records_before = 0;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    if (size == sizeof(trace::ShardHeader) + 1) size = trace::shard_header_bytes - 1;  // skips the padding
    ShardBuilder::write_bytes(folder / "cut.shard", std::span(whole).first(size));
    if (size < sizeof(trace::ShardHeader)) {
      ASSERT_THROW(ShardReader(folder / "cut.shard"), ShardError) << size;
      continue;
    }
    Log log;
    const ShardTally tally = ShardReader(folder / "cut.shard").visit(log);
    ASSERT_EQ(tally.records, log.lines.size()) << size;
    ASSERT_LE(log.lines.size(), all.lines.size());
    ASSERT_TRUE(std::equal(log.lines.begin(), log.lines.end(), all.lines.begin())) << size;
    ASSERT_GE(log.lines.size(), records_before) << size;  // a longer file never has fewer records
    records_before = log.lines.size();
    if (log.lines.size() < all.lines.size()) {
      ASSERT_FALSE(tally.sound()) << size;
      ASSERT_LE(*tally.first_bad_offset, size) << size;
      ASSERT_EQ(tally.bad_records, 0u) << size;
    }
  }
  EXPECT_EQ(records_before, all.lines.size());
}

// Flips every bit of the file in turn. The reader never crashes or hangs, and counts all visited records.
TEST(ShardReader, EveryBitFlipped) {
  TemporaryFolder folder;
  std::vector<std::byte> bytes = every_type().bytes();
  Log whole;
  ShardBuilder::write_bytes(folder / "whole.shard", bytes);
  ShardReader(folder / "whole.shard").visit(whole);
  std::size_t refused = 0, noticed = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (at >= sizeof(trace::ShardHeader) && at < trace::shard_header_bytes) continue;  // padding
    const std::byte mask = std::byte{1} << (at * 5 % 8);
    bytes[at] ^= mask;
    ShardBuilder::write_bytes(folder / "flipped.shard", bytes);
    try {
      Log log;
      const ShardTally tally = ShardReader(folder / "flipped.shard").visit(log);
      ASSERT_GE(tally.records + tally.bad_records, log.lines.size()) << at;
      noticed += !tally.sound() || tally.unknown_records > 0;
    } catch (const ShardError&) {
      ++refused;
    }
    bytes[at] ^= mask;
  }
  EXPECT_GT(refused, 16u);  // magic, version, header size
  EXPECT_GT(noticed, 16u);  // chunk magic, sizes, types
}

TEST(ShardReader, GarbageNeverCrashes) {
  TemporaryFolder folder;
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::byte> bytes = every_type().bytes();
    for (std::size_t i = trace::shard_header_bytes; i < bytes.size(); ++i)
      if (random() % 4 == 0) bytes[i] = static_cast<std::byte>(random());
    ShardBuilder::write_bytes(folder / "g.shard", bytes);
    Log log;
    EXPECT_NO_THROW(ShardReader(folder / "g.shard").visit(log));
  }
}

TEST(ShardReader, OneBadRecordDoesNotHideTheNext) {
  TemporaryFolder folder;
  ShardBuilder shard;
  shard.push(10, 1, "a");
  auto lying = shard.event(2, "b");
  lying.payload_kind = trace::PayloadKind::extended;
  const std::uint64_t length = 1000;  // longer than the record
  shard.add(10, trace::RecordType::push, lying, std::as_bytes(std::span(&length, 1)));
  shard.add(10, static_cast<trace::RecordType>(999), shard.event(3, "c"));  // from a later format
  trace::RecordHeader small{};
  shard.add(10, trace::RecordType::kernel, small);  // too small for a kernel
  shard.pop(10, 5);
  Log log;
  const ShardTally tally = ShardReader(shard.write(folder / "a.shard")).visit(log);
  std::erase_if(log.lines, [](const std::string& line) { return line.find("string") != std::string::npos; });
  EXPECT_THAT(log.lines, ElementsAre("10 push 1 0", "10 push 2 0", "10 pop 5"));
  EXPECT_EQ(tally.bad_records, 2u);
  EXPECT_EQ(tally.unknown_records, 1u);
  EXPECT_EQ(tally.bad_chunks, 0u);
}

// A push of each of `chunks` threads in a separate chunk after the chunk of names. `zeroed` has the indexes of chunks
// that are set to zero; 0 is the chunk of names.
ShardTally with_zeroed(std::size_t chunks, std::vector<std::size_t> zeroed, bool closed,
                       std::vector<std::string>* lines) {
  constexpr std::size_t size = 512;
  TemporaryFolder folder;
  ShardBuilder shard(size);
  shard.header.closed = closed;
  for (std::size_t i = 0; i < chunks; ++i) shard.push(static_cast<std::int64_t>(10 + i), 1, "a");
  std::vector<std::byte> bytes = shard.bytes();
  for (const std::size_t index : zeroed) {
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(trace::shard_header_bytes + index * size);
    std::fill(begin, begin + size, std::byte{0});
  }
  ShardBuilder::write_bytes(folder / "a.shard", bytes);
  Log log;
  const ShardTally tally = ShardReader(folder / "a.shard").visit(log);
  if (lines) *lines = log.lines;
  return tally;
}

TEST(ShardReader, ClaimedButUnusedChunksAreNotDamage) {
  // A process killed between claiming a chunk and its first record: the chunk counts as used and is all zero.
  EXPECT_TRUE(with_zeroed(2, {2}, false, nullptr).sound());
  // A process that ended regularly leaves no such chunk, and two threads cannot leave three.
  EXPECT_EQ(with_zeroed(2, {2}, true, nullptr).zero_chunks, 1u);
  EXPECT_EQ(with_zeroed(4, {2, 3, 4}, false, nullptr).zero_chunks, 3u);
}

// A sparse hole, as after a crash of the machine before pages reached the disk: the records after it are read.
TEST(ShardReader, AHoleIsReportedAndTheRestRead) {
  std::vector<std::string> lines;
  const ShardTally tally = with_zeroed(3, {2}, false, &lines);
  EXPECT_FALSE(tally.sound());
  EXPECT_EQ(tally.zero_chunks, 1u);
  EXPECT_EQ(tally.first_bad_offset, trace::shard_header_bytes + 2 * 512);
  EXPECT_THAT(lines, ElementsAre(testing::StartsWith("1 string"), "10 push 1 0", "12 push 1 0"));
}

// The page with the chunk's header is lost, but not the next one, whose records cannot be distinguished from garbage.
TEST(ShardReader, AHoleAtAChunksStartLosesTheChunk) {
  TemporaryFolder folder;
  ShardBuilder shard(512);
  for (int i = 0; i < 6; ++i) shard.push(10, i, "a");
  shard.push(11, 9, "a");
  std::vector<std::byte> bytes = shard.bytes();
  const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(trace::shard_header_bytes + 512);
  std::fill(begin, begin + 64, std::byte{0});
  ShardBuilder::write_bytes(folder / "a.shard", bytes);
  Log log;
  const ShardTally tally = ShardReader(folder / "a.shard").visit(log);
  EXPECT_EQ(tally.bad_chunks, 1u);
  EXPECT_EQ(tally.lost_bytes, 512u);
  EXPECT_THAT(log.lines, ElementsAre(testing::StartsWith("1 string"), "11 push 9 0"));
}

TEST(ShardReader, FailedClaimsAreClamped) {
  TemporaryFolder folder;
  ShardBuilder shard(512);
  shard.push(10, 1, "a");
  shard.header.chunk_capacity = 2;
  std::vector<std::byte> bytes = shard.bytes();
  const std::uint64_t claims = 1000;
  std::memcpy(bytes.data() + offsetof(trace::ShardHeader, chunks_used), &claims, sizeof claims);
  ShardBuilder::write_bytes(folder / "a.shard", bytes);
  Log log;
  EXPECT_TRUE(ShardReader(folder / "a.shard").visit(log).sound());
}

TEST(ShardReader, ReportsWhatIsWrong) {
  TemporaryFolder folder;
  EXPECT_THROW(ShardReader(folder / "none"), ShardError);
  EXPECT_THROW(ShardReader(folder / "."), ShardError);
  std::vector<std::byte> bytes = every_type().bytes();
  bytes[offsetof(trace::ShardHeader, version)] = std::byte{9};
  ShardBuilder::write_bytes(folder / "v.shard", bytes);
  try {
    ShardReader reader(folder / "v.shard");
    FAIL();
  } catch (const ShardError& error) {
    EXPECT_THAT(error.what(), HasSubstr("version 9"));
    EXPECT_THAT(error.what(), HasSubstr("v.shard"));
  }
}

TEST(ShardReader, AnImplausibleTimeIsUnknown) {
  TemporaryFolder folder;
  for (const std::int64_t damaged : {std::int64_t{-1}, INT64_MIN, INT64_MAX, std::int64_t{1} << 62}) {
    ShardBuilder shard = every_type();
    shard.header.opened_monotonic_ns = shard.header.closed_monotonic_ns = damaged;
    shard.header.opened_realtime_ns = 1'700'000'000'000'000'000;
    shard.write(folder / "d.shard");
    const ShardReader reader(folder / "d.shard");
    EXPECT_EQ(reader.info().opened_monotonic_ns, 0);
    EXPECT_EQ(reader.info().closed_monotonic_ns, 0);
    EXPECT_EQ(reader.info().opened_realtime_ns, 1'700'000'000'000'000'000);
  }
}

TEST(Utf8, KeepsWhatIsWellFormed) {
  const std::string good = "a \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80";  // é, €, an emoji
  EXPECT_EQ(to_valid_utf8(good), good);
  const std::string replacement = "\xEF\xBF\xBD";
  EXPECT_EQ(to_valid_utf8("\xC0\x80"), replacement + replacement);                    // overlong NUL
  EXPECT_EQ(to_valid_utf8("\xED\xA0\x80"), replacement + replacement + replacement);  // a surrogate
  EXPECT_EQ(to_valid_utf8("x\xE2\x82"), "x" + replacement + replacement);             // cut off
  EXPECT_EQ(to_valid_utf8(std::string_view("a\0b", 3)), "a" + replacement + "b");
}

}  // namespace
}  // namespace ddpprof::store
