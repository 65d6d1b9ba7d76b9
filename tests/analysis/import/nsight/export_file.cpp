#include "tests/analysis/import/nsight/export_file.hpp"

#include <SQLiteCpp/Statement.h>
#include <unistd.h>

#include <atomic>

namespace ddpprof::import::nsight_test {
namespace {

std::filesystem::path fresh_path() {
  static std::atomic<int> number{0};
  return std::filesystem::temp_directory_path() /
         ("nsight_" + std::to_string(getpid()) + "_" + std::to_string(number++) + ".sqlite");
}

void little_endian(std::vector<unsigned char>& bytes, std::uint64_t value, int size) {
  for (int i = 0; i < size; ++i) bytes.push_back(static_cast<unsigned char>(value >> (8 * i)));
}

std::vector<unsigned char> with_header(std::uint64_t schema, const std::vector<unsigned char>& fields) {
  std::vector<unsigned char> bytes;
  for (const std::uint64_t word : {std::uint64_t{1}, schema, std::uint64_t{fields.size()}, std::uint64_t{32}})
    little_endian(bytes, word, 8);
  bytes.insert(bytes.end(), fields.begin(), fields.end());
  return bytes;
}

}  // namespace

Export::Export(Version version)
    : version_(version),
      path_(fresh_path()),
      sql_(std::in_place, path_.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE) {
  const bool process = version != Version::v2019;
  run("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY");
  run("CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)");
  run(std::string("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, "
                  "contextId INTEGER, ") +
      (version == Version::v2025 ? "greenContextId INTEGER, " : "") + "streamId INTEGER, correlationId INTEGER, " +
      (process ? "globalPid INTEGER, " : "") + "demangledName INTEGER, shortName INTEGER, " +
      (version >= Version::v2023 ? "mangledName INTEGER, " : "") +
      "registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, "
      "blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER" +
      (process ? ", graphNodeId INTEGER" : "") + ")");
  run(std::string("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId "
                  "INTEGER, correlationId INTEGER, ") +
      (process ? "globalPid INTEGER, " : "") + "bytes INTEGER, copyKind INTEGER)");
  run("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, "
      "correlationId INTEGER, nameId INTEGER, returnValue INTEGER)");
  run(std::string("CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER, category "
                  "INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, "
                  "domainId INTEGER, uint64Value INTEGER, jsonTextId INTEGER, jsonText TEXT") +
      (version >= Version::v2023 ? ", binaryData TEXT" : "") + ")");
  if (version == Version::v2025) {
    run("CREATE TABLE ENUM_NSYS_EVENT_TYPE (id INTEGER PRIMARY KEY, name TEXT, label TEXT)");
    run("INSERT INTO ENUM_NSYS_EVENT_TYPE VALUES (34, 'NvtxMark', ''), (59, 'NvtxPushPopRange', ''), "
        "(60, 'NvtxStartEndRange', ''), (75, 'NvtxDomainCreate', '')");
    run("CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)");
    run("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION', '2025.3.1.90')");
  }
}

Export::~Export() {
  sql_.reset();
  std::error_code error;
  std::filesystem::remove(path_, error);
}

std::int64_t Export::string(const std::string& text) {
  const auto [entry, fresh] = strings_.emplace(text, static_cast<std::int64_t>(strings_.size()) + 1);
  if (fresh) {
    SQLite::Statement insert(*sql_, "INSERT INTO StringIds VALUES (?, ?)");
    insert.bind(1, entry->second);
    insert.bind(2, text);
    insert.exec();
  }
  return entry->second;
}

void Export::kernel(const Kernel& kernel) {
  const std::int64_t name = string(kernel.name);
  SQLite::Statement insert(*sql_, std::string("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, "
                                              "correlationId, demangledName, shortName") +
                                      (version_ == Version::v2019 ? ") VALUES (?, ?, ?, ?, ?, ?, ?)"
                                                                  : ", globalPid) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
  insert.bind(1, kernel.start_ns);
  insert.bind(2, kernel.end_ns);
  insert.bind(3, kernel.device);
  insert.bind(4, kernel.stream);
  if (kernel.correlation) insert.bind(5, *kernel.correlation);
  insert.bind(6, name);
  insert.bind(7, name);
  if (version_ != Version::v2019) insert.bind(8, process_id(kernel.pid));
  insert.exec();
}

void Export::copy(std::int64_t start_ns, std::int64_t end_ns, std::int64_t device, std::int64_t pid) {
  SQLite::Statement insert(*sql_, std::string("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId, "
                                              "bytes, copyKind") +
                                      (version_ == Version::v2019 ? ") VALUES (?, ?, ?, 7, 1024, 1)"
                                                                  : ", globalPid) VALUES (?, ?, ?, 7, 1024, 1, ?)"));
  insert.bind(1, start_ns);
  insert.bind(2, end_ns);
  insert.bind(3, device);
  if (version_ != Version::v2019) insert.bind(4, process_id(pid));
  insert.exec();
}

void Export::call(std::int64_t start_ns, std::int64_t end_ns, std::int64_t correlation, std::int64_t pid,
                  std::int64_t tid) {
  const std::int64_t name = string("cudaLaunchKernel_v7000");
  SQLite::Statement insert(*sql_, "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, ?, 0)");
  insert.bind(1, start_ns);
  insert.bind(2, end_ns);
  insert.bind(3, thread_id(pid, tid));
  insert.bind(4, correlation);
  insert.bind(5, name);
  insert.exec();
}

void Export::range(const Range& range) {
  const std::int64_t name = range.by_id ? string(range.name) : 0;
  SQLite::Statement insert(*sql_,
                           std::string("INSERT INTO NVTX_EVENTS (start, end, eventType, text, textId, globalTid, "
                                       "domainId, jsonText") +
                               (range.binary.empty() ? ") VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
                                                     : ", binaryData) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  insert.bind(1, range.start_ns);
  if (range.end_ns) insert.bind(2, *range.end_ns);
  insert.bind(3, range.type);
  if (range.by_id)
    insert.bind(5, name);
  else
    insert.bind(4, range.name);
  insert.bind(6, thread_id(range.pid, range.tid));
  insert.bind(7, range.domain);
  if (!range.json.empty()) insert.bind(8, range.json);
  if (!range.binary.empty()) insert.bind(9, range.binary.data(), static_cast<int>(range.binary.size()));
  insert.exec();
}

void Export::run(const std::string& sql) { sql_->exec(sql); }

void Export::nccl_schemas() {
  run("CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId INTEGER, schemaId INTEGER, idx INTEGER, flags INTEGER, type "
      "INTEGER, name TEXT, description TEXT, arrayOrUnionDetail INTEGER, offset INTEGER)");
  // Twice, because two processes register them.
  for (int process = 0; process < 2; ++process)
    run("INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES "
        "(1, 16777223, 0, NULL, 18, 'NCCL communicator ID', NULL, NULL, NULL), "
        "(1, 16777223, 1, NULL, 22, 'Message size [bytes]', NULL, NULL, 8), "
        "(1, 16777223, 2, NULL, 16777232, 'Reduction operation', NULL, NULL, 16), "
        "(1, 16777218, 0, NULL, 18, 'NCCL communicator ID', NULL, NULL, NULL), "
        "(1, 16777218, 1, NULL, 5, 'No. of ranks', NULL, NULL, 8), "
        "(1, 16777218, 2, NULL, 5, 'Rank', NULL, NULL, 12), "
        "(1, 16777218, 3, NULL, 5, 'CUDA device', NULL, NULL, 16)");
}

std::vector<unsigned char> Export::all_reduce(std::uint64_t communicator, std::uint64_t bytes) {
  std::vector<unsigned char> fields;
  little_endian(fields, communicator, 8);
  little_endian(fields, bytes, 8);
  little_endian(fields, 0, 8);
  return with_header(all_reduce_schema, fields);
}

std::vector<unsigned char> Export::member(std::uint64_t communicator, std::uint32_t ranks, std::uint32_t rank,
                                          std::uint32_t device) {
  std::vector<unsigned char> fields;
  little_endian(fields, communicator, 8);
  for (const std::uint32_t value : {ranks, rank, device, std::uint32_t{0}}) little_endian(fields, value, 4);
  return with_header(member_schema, fields);
}

const std::filesystem::path& Export::done() {
  sql_.reset();
  return path_;
}

std::vector<ReadRank> read(const std::filesystem::path& path) { return read_nsight_file(path, {}, nullptr, 0); }

std::string error_of(const std::filesystem::path& path) {
  try {
    read(path);
  } catch (const ImportError& error) {
    return error.what();
  }
  return {};
}

const Note* find_note(const ReadRank& rank, std::string_view code) {
  for (const auto* notes : {&rank.notes, &rank.training.notes})
    for (const Note& note : *notes)
      if (note.code == code) return &note;
  return nullptr;
}

std::string note(const ReadRank& rank, std::string_view code) {
  const Note* found = find_note(rank, code);
  return found ? found->message : std::string();
}

std::int64_t note_count(const ReadRank& rank, std::string_view code) {
  const Note* found = find_note(rank, code);
  return found ? found->count : 0;
}

const DeviceTime& whole(const ReadRank& rank) { return rank.training.device_times.at(0).time; }

}  // namespace ddpprof::import::nsight_test
