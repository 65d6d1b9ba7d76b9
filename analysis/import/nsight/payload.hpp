// Decodes the payload of NCCL's NVTX ranges: communicator, message size, number of ranks.
//
// An export has it as JSON (nsys export --include-json=true) or as bytes (--include-blobs=true), which are described by
// the tables NVTX_PAYLOAD_SCHEMAS and NVTX_PAYLOAD_SCHEMA_ENTRIES. Without either option it is left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/import/nsight/nsight_file.hpp"

namespace ddpprof::import {

struct NcclPayload {
  std::optional<std::uint64_t> communicator;  // equal on all its ranks
  std::optional<std::int64_t> bytes;          // of one message
  std::optional<std::int64_t> ranks, rank, device;
  bool absurd = false;  // an impossible number was left out
};

class PayloadSchemas {
 public:
  explicit PayloadSchemas(NsightFile&);

  // Decodes a header of four 64-bit words (domain, schema, size, offset of the next one) and the fields behind it,
  // little endian. The bytes may also be hexadecimal digits. None: too short, or no known field.
  std::optional<NcclPayload> decode(std::span<const std::byte>) const;
  static std::optional<NcclPayload> from_json(std::string_view);

 private:
  enum class Field { communicator, bytes, ranks, rank, device };
  struct Entry {
    Field field;
    std::uint64_t offset = 0;
    std::size_t bytes = 0;
    bool is_signed = false;
  };
  static std::optional<Field> field_of(std::string_view name);
  static void set(NcclPayload&, Field, std::uint64_t value);

  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<Entry>> schemas_;  // by domain and schema
};

}  // namespace ddpprof::import
