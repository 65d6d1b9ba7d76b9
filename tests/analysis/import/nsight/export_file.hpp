// Small exports in the formats of several Nsight Systems versions, created for one test each.
#pragma once

#include <SQLiteCpp/Database.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/import/load/read_rank.hpp"

namespace ddpprof::import::nsight_test {

// Schemas: 2019 (kernels without a process); 2021.5 (texts inline or by number); 2023 (mangled names, payload bytes);
// 2025 (green contexts, enumerations of event types, payload schemas).
enum class Version { v2019, v2021, v2023, v2025 };

// A serialised id. The machine's bits are not zero, as in real files of one machine.
constexpr std::int64_t thread_id(std::int64_t pid, std::int64_t tid) { return std::int64_t{1} << 48 | pid << 24 | tid; }
constexpr std::int64_t process_id(std::int64_t pid) { return thread_id(pid, 0); }

struct Kernel {
  std::int64_t start_ns = 0, end_ns = 0, device = 0, pid = 100, stream = 7;
  std::optional<std::int64_t> correlation = std::nullopt;
  std::string name = "gemm";
};
struct Range {
  std::int64_t start_ns = 0;
  std::optional<std::int64_t> end_ns = std::nullopt;
  std::string name = {};
  std::int64_t pid = 100, tid = 100, domain = 0;
  std::string json = {};
  std::vector<unsigned char> binary = {};
  std::int64_t type = 59;
  bool by_id = false;
};

class Export {
 public:
  explicit Export(Version = Version::v2025);
  ~Export();
  Export(const Export&) = delete;
  Export& operator=(const Export&) = delete;

  std::int64_t string(const std::string&);  // returns its number
  void kernel(const Kernel&);
  void copy(std::int64_t start_ns, std::int64_t end_ns, std::int64_t device = 0, std::int64_t pid = 100);
  void call(std::int64_t start_ns, std::int64_t end_ns, std::int64_t correlation, std::int64_t pid = 100,
            std::int64_t tid = 100);
  void range(const Range&);
  void run(const std::string& sql);

  // NCCL's schemas for all-reduce and for the creation of a communicator.
  void nccl_schemas();
  static constexpr std::int64_t all_reduce_schema = 16777223, member_schema = 16777218;
  static std::vector<unsigned char> all_reduce(std::uint64_t communicator, std::uint64_t bytes);
  static std::vector<unsigned char> member(std::uint64_t communicator, std::uint32_t ranks, std::uint32_t rank,
                                           std::uint32_t device);

  // Closes the file. Nothing can be added afterwards.
  const std::filesystem::path& done();
  const std::filesystem::path& path() const { return path_; }

 private:
  Version version_;
  std::filesystem::path path_;
  std::optional<SQLite::Database> sql_;
  std::map<std::string, std::int64_t> strings_;
};

std::vector<ReadRank> read(const std::filesystem::path&);
// The import's error message, or empty.
std::string error_of(const std::filesystem::path&);
const Note* find_note(const ReadRank&, std::string_view code);
// The note's text; "" without one.
std::string note(const ReadRank&, std::string_view code);
std::int64_t note_count(const ReadRank&, std::string_view code);
// Times of the whole trace.
const DeviceTime& whole(const ReadRank&);

}  // namespace ddpprof::import::nsight_test
