// Tests that the shard has the extended payloads and schemas of the annotated program.
#include <gmock/gmock.h>

#include <bit>
#include <cstddef>

#include "tests/tracer/annotated_payloads.hpp"
#include "tests/tracer/run_program.hpp"

namespace ddpprof::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using trace::PayloadKind;
using trace::RecordType;

// NVTX_PAYLOAD_ENTRY_TYPE_*, from nvToolsExtPayload.h
constexpr std::uint32_t int8 = 11, int16 = 13, uint8 = 12, int32 = 15, int64 = 17, float64 = 20;

struct Field {
  std::string name;
  std::uint32_t type;
  std::uint64_t offset;
  bool operator==(const Field&) const = default;
};
void PrintTo(const Field& field, std::ostream* out) { *out << field.name << ":" << field.type << "@" << field.offset; }

class Payloads : public testing::Test {
 protected:
  void SetUp() override {
    const Outcome outcome = run_annotated({"payloads"}, folder_.path());
    ASSERT_TRUE(outcome.exited_well()) << outcome.status << outcome.err;
    const std::vector<Shard> shards = walk_all(folder_.path());
    ASSERT_THAT(shards, SizeIs(1));
    shard_ = shards[0];
  }

  Record schema(const std::string& name) { return shard_.named(RecordType::schema, name).at(0); }

  std::vector<Field> fields(const std::string& name) {
    const Record record = schema(name);
    std::vector<Field> out;
    for (std::uint32_t i = 0; i < record.as<trace::SchemaRecord>().field_count; ++i) {
      trace::SchemaField field;
      std::memcpy(&field, record.bytes.data() + sizeof(trace::SchemaRecord) + i * sizeof field, sizeof field);
      out.push_back({field.name_id == 0 ? "" : shard_.strings.at(field.name_id), field.nvtx_type, field.offset_bytes});
    }
    return out;
  }

  // Checks that the event's payload equals `expected`, byte for byte, and refers to the schema of that name.
  template <typename T>
  void expect_payload(const Record& record, const std::string& schema_name, const T& expected) {
    const auto event = record.as<trace::EventRecord>();
    EXPECT_EQ(event.payload_kind, PayloadKind::extended);
    EXPECT_EQ(event.payload, schema(schema_name).template as<trace::SchemaRecord>().schema);
    const std::string bytes = record.payload();
    ASSERT_EQ(bytes.size(), sizeof expected);
    EXPECT_EQ(std::memcmp(bytes.data(), &expected, sizeof expected), 0) << schema_name;
  }
  Record mark(const std::string& name) { return shard_.named(RecordType::mark, name).at(0); }

  TemporaryFolder folder_;
  Shard shard_;
};

TEST_F(Payloads, EveryStructOfTheVocabularyComesBack) {
  expect_payload(shard_.named(RecordType::push, "step").at(0), "ddpprof.step", expected_step);
  expect_payload(shard_.named(RecordType::range_start, "collective").at(0), "ddpprof.collective", expected_collective);
  expect_payload(mark("replicate"), "ddpprof.copy", expected_copy);
  expect_payload(mark("replica_forward"), "ddpprof.replica", expected_replica);
  expect_payload(mark("fc1.weight"), "ddpprof.parameter", expected_parameter);
  expect_payload(mark("bucket_member"), "ddpprof.bucket_member", expected_member);
  expect_payload(mark("clock_sample"), "ddpprof.clock", expected_clock);
  EXPECT_THAT(fields("ddpprof.step"),
              ElementsAre(Field{"step", int64, 0}, Field{"kind", int32, 8}, Field{"samples", int32, 12}));
  EXPECT_EQ(schema("ddpprof.step").as<trace::SchemaRecord>().payload_bytes, sizeof(vocabulary::StepInfo));
}

TEST_F(Payloads, NestedSchemasAndArraysBecomeFieldsAtTheCompilersOffsets) {
  const std::uint64_t array = offsetof(Outer, array);
  EXPECT_THAT(fields("outer"),
              ElementsAre(Field{"flag", uint8, 0}, Field{"inner.a", int16, offsetof(Outer, inner)},
                          Field{"inner.b", float64, offsetof(Outer, inner) + offsetof(Inner, b)},
                          Field{"array[0]", int32, array}, Field{"array[1]", int32, array + 4},
                          Field{"array[2]", int32, array + 8}, Field{"last", int64, offsetof(Outer, last)}));
  EXPECT_EQ(schema("outer").as<trace::SchemaRecord>().payload_bytes, sizeof(Outer));
  const std::string bytes = mark("nested").payload();
  ASSERT_EQ(bytes.size(), sizeof(Outer));
  std::int64_t last = 0;
  std::memcpy(&last, bytes.data() + offsetof(Outer, last), sizeof last);
  EXPECT_EQ(last, expected_outer.last);
}

TEST_F(Payloads, MembersOfAUnionStartTogether) {
  EXPECT_THAT(fields("union"),
              ElementsAre(Field{"real", float64, 0}, Field{"integer", int64, 0}, Field{"short", int32, 0}));
  EXPECT_EQ(schema("union").as<trace::SchemaRecord>().payload_bytes, 8u);
  EXPECT_THAT(fields("with a union"),
              ElementsAre(Field{"kind", int32, 0}, Field{"value.real", float64, 8}, Field{"value.integer", int64, 8},
                          Field{"value.short", int32, 8}, Field{"after", int32, 16}));
  expect_payload(mark("with a union"), "with a union", expected_choice);
}

// 60 levels of 128 fields each would be 128^60 fields without a limit.
TEST_F(Payloads, HugeSchemasAreCutAndReported) {
  EXPECT_THAT(fields("level 1"), SizeIs(128));
  EXPECT_EQ(fields("level 1")[127], (Field{"b[63].x", int32, 127 * 4}));
  EXPECT_THAT(fields("level 2"), SizeIs(2048));
  for (int level = 1; level <= 60; ++level) {
    const auto all = fields("level " + std::to_string(level));
    EXPECT_LE(all.size(), 2048u);
    for (const Field& field : all) ASSERT_LE(field.name.size(), 512u);
  }
  std::size_t said = 0;
  for (const Record& record : shard_.of(RecordType::diagnostic))
    said += shard_.name(record).find("is too large") != std::string::npos;
  EXPECT_GE(said, 2u);
}

TEST_F(Payloads, AnIdChosenInTwoDomainsIsTwoSchemas) {
  const auto here = schema("chosen here").as<trace::SchemaRecord>(),
             there = schema("chosen there").as<trace::SchemaRecord>();
  EXPECT_NE(here.schema, there.schema);
  EXPECT_NE(here.domain, there.domain);
  const auto marks = shard_.named(RecordType::mark, "with a chosen id");
  ASSERT_THAT(marks, SizeIs(2));
  EXPECT_EQ(marks[0].as<trace::EventRecord>().payload, here.schema);
  EXPECT_EQ(marks[1].as<trace::EventRecord>().payload, there.schema);
}

TEST_F(Payloads, AnEnumIsAnIntegerOfItsSize) {
  EXPECT_THAT(fields("with an enum"), ElementsAre(Field{"kind", int16, 0}, Field{"next", int8, 2}));
}

TEST_F(Payloads, TheExtensionsOwnEventsTakeTheirNameFromThePayload) {
  expect_payload(mark("carried"), "carrier", expected_carrier);
  expect_payload(shard_.named(RecordType::push, "carried").at(0), "carrier", expected_carrier);
  const auto started = shard_.named(RecordType::range_start, "a text payload").at(0).as<trace::RangeStartRecord>();
  EXPECT_EQ(started.event.payload_kind, PayloadKind::int64);
  EXPECT_EQ(static_cast<std::int64_t>(started.event.payload), -7);
  EXPECT_EQ(shard_.of(RecordType::range_end).back().as<trace::RangeEndRecord>().range_id, started.range_id);
}

TEST_F(Payloads, APayloadAtARangesEndIsAMarkInsideTheRange) {
  const Record mark_record = mark("nvtx.end_payload");
  EXPECT_EQ(mark_record.as<trace::EventRecord>().payload, std::bit_cast<std::uint64_t>(0.125));
  const auto pops = shard_.of(RecordType::pop);
  EXPECT_EQ(mark_record.time_ns, pops.back().time_ns);
}

TEST_F(Payloads, RefusedPayloadsAreReportedAndTheirEventsRecorded) {
  for (const char* name : {"unknown schema", "short", "long"}) {
    EXPECT_EQ(mark(name).as<trace::EventRecord>().payload_kind, PayloadKind::none) << name;
  }
  expect_payload(mark("twice"), "carrier", expected_carrier);
  std::string reasons;
  int refused = 0;
  for (const Record& record : shard_.of(RecordType::diagnostic)) {
    reasons += shard_.name(record) + "\n";
    refused += shard_.name(record).find("is too large") == std::string::npos;  // those are schemas
  }
  EXPECT_EQ(refused, 4);
  EXPECT_THAT(reasons, testing::HasSubstr("never registered in its domain"));
  EXPECT_THAT(reasons, testing::HasSubstr("payload of 8 bytes; its schema takes 24"));
  EXPECT_THAT(reasons, testing::HasSubstr("payload of 100000 bytes"));
  EXPECT_THAT(reasons, testing::HasSubstr("more than one payload"));
}

}  // namespace
}  // namespace ddpprof::test
