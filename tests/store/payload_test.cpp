#include "tracer/store/shard/payload.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

namespace ddpprof::store {
namespace {

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

std::string json(const PayloadDecoder& decoder, std::uint64_t schema, std::span<const std::byte> bytes) {
  std::string out;
  decoder.append_json(out, 1, {schema, bytes});
  return out;
}

constexpr std::uint64_t id = 1u << 24;

TEST(Payload, DecodesAnUnknownProgramsSchema) {
  struct Message {  // NVTX types: uint64, int32, double, float, char, uint8, address
    std::uint64_t comm;
    std::int32_t rank;
    float half;
    double seconds;
    const void* pointer;
    char letter;
    std::uint8_t byte;
  } message{0xffffffffffffffffULL, -7, 0.5f, 1.25, reinterpret_cast<const void*>(0x10), 'q', 200};
  PayloadSchema schema{"someone's", {}};
  PayloadDecoder::add_field(schema, "comm", 18, offsetof(Message, comm));
  PayloadDecoder::add_field(schema, "rank \"quoted\"", 15, offsetof(Message, rank));
  PayloadDecoder::add_field(schema, "half", 19, offsetof(Message, half));
  PayloadDecoder::add_field(schema, "seconds", 20, offsetof(Message, seconds));
  PayloadDecoder::add_field(schema, "pointer", 23, offsetof(Message, pointer));
  PayloadDecoder::add_field(schema, "letter", 1, offsetof(Message, letter));
  PayloadDecoder::add_field(schema, "byte", 12, offsetof(Message, byte));
  PayloadDecoder::add_field(schema, "future", 120, 0);
  PayloadDecoder decoder;
  decoder.define(1, id, schema);
  EXPECT_EQ(json(decoder, id, bytes_of(message)),
            R"({"comm":18446744073709551615,"rank \"quoted\"":-7,"half":0.5,"seconds":1.25,"pointer":"0x10",)"
            R"("letter":"q","byte":200,"future":null})");
  EXPECT_EQ(field_value(schema.fields[0], bytes_of(message)), FieldValue(UINT64_MAX));
  EXPECT_EQ(field_value(schema.fields[1], bytes_of(message)), FieldValue(std::int64_t{-7}));
  EXPECT_EQ(field_value(schema.fields[6], bytes_of(message)), FieldValue(std::uint64_t{200}));
}

// A union of an int64 and a float: both have the recorded offset 0.
TEST(Payload, MembersOfAUnionShareTheirOffset) {
  const std::int64_t value = 0x3fc00000;  // its low half is 1.5f
  PayloadSchema schema{"union", {}};
  PayloadDecoder::add_field(schema, "whole", 17, 0);
  PayloadDecoder::add_field(schema, "half", 19, 0);
  PayloadDecoder decoder;
  decoder.define(1, id, schema);
  EXPECT_EQ(json(decoder, id, bytes_of(value)), R"({"whole":1069547520,"half":1.5})");
}

TEST(Payload, MissingBytesAreNull) {
  PayloadSchema schema{"s", {}};
  PayloadDecoder::add_field(schema, "a", 17, 0);
  PayloadDecoder::add_field(schema, "b", 17, 8);
  PayloadDecoder::add_field(schema, "far", 17, ~std::uint64_t{0} - 3);  // offset + size overflows
  PayloadDecoder decoder;
  decoder.define(1, id, schema);
  const std::int64_t one = 5;
  EXPECT_EQ(json(decoder, id, bytes_of(one)), R"({"a":5,"b":null,"far":null})");
}

TEST(Payload, NestedSchemasNestAndEnd) {
  PayloadSchema inner{"inner", {}};
  PayloadDecoder::add_field(inner, "x", 15, 0);
  PayloadSchema outer{"outer", {}};
  PayloadDecoder::add_field(outer, "n", 15, 0);
  PayloadDecoder::add_field(outer, "in", static_cast<std::uint32_t>(id + 1), 4);
  PayloadSchema endless{"endless", {}};
  PayloadDecoder::add_field(endless, "self", static_cast<std::uint32_t>(id + 2), 0);
  PayloadDecoder decoder;
  decoder.define(1, id, outer);
  decoder.define(1, id + 1, inner);
  decoder.define(1, id + 2, endless);
  const std::int32_t two[2] = {1, 2};
  EXPECT_EQ(json(decoder, id, bytes_of(two)), R"({"n":1,"in":{"x":2}})");
  EXPECT_TRUE(nlohmann::json::accept(json(decoder, id + 2, bytes_of(two))));
}

// 200 fields with the schema itself would be 200^8 values. A limited number is written, as valid JSON.
TEST(Payload, HugeSchemasAreCut) {
  PayloadSchema endless{"endless", {}};
  for (int i = 0; i < 200; ++i)
    PayloadDecoder::add_field(endless, "f" + std::to_string(i), static_cast<std::uint32_t>(id), 0);
  PayloadDecoder decoder;
  decoder.define(1, id, endless);
  const std::int32_t value = 1;
  const std::string text = json(decoder, id, bytes_of(value));
  EXPECT_TRUE(nlohmann::json::accept(text));
  EXPECT_LT(text.size(), PayloadDecoder::most_values * 16U);
}

TEST(Payload, PredefinedTypesAndUndefinedSchemas) {
  PayloadDecoder decoder;
  const std::int32_t three[3] = {1, -2, 3};
  EXPECT_EQ(json(decoder, 15, bytes_of(three)), "[1,-2,3]");
  const double one = 2.5;
  EXPECT_EQ(json(decoder, 20, bytes_of(one)), "2.5");
  EXPECT_EQ(json(decoder, 25, std::as_bytes(std::span("hi", 2))), R"("hi")");
  EXPECT_EQ(json(decoder, 999999999, std::as_bytes(std::span("\x01\xff", 2))), R"({"schema":999999999,"hex":"01ff"})");
}

// Half precision by its definition: 1.5 = 0x3E00, -2 = 0xC000, the smallest subnormal 2^-24 = 0x0001. bfloat16 is the
// upper half of a float: 1.5 = 0x3FC0. NaN and infinity become null in JSON.
TEST(Payload, ShortFloats) {
  PayloadDecoder decoder;
  const std::uint16_t halves[4] = {0x3E00, 0xC000, 0x0001, 0x7C00};
  EXPECT_EQ(json(decoder, 42, bytes_of(halves)), "[1.5,-2,5.960464477539063e-08,null]");
  const std::uint16_t brain = 0x3FC0;
  EXPECT_EQ(json(decoder, 50, bytes_of(brain)), "1.5");
}

TEST(Payload, ADomainsOwnSchemaComesFirst) {
  PayloadSchema theirs{"theirs", {}}, ours{"ours", {}};
  PayloadDecoder decoder;
  decoder.define(2, id, theirs);
  EXPECT_EQ(decoder.find(1, id)->name, "theirs");
  decoder.define(1, id, ours);
  EXPECT_EQ(decoder.find(1, id)->name, "ours");
  EXPECT_EQ(decoder.find(2, id)->name, "theirs");
  EXPECT_EQ(decoder.find(1, id + 1), nullptr);
}

}  // namespace
}  // namespace ddpprof::store
