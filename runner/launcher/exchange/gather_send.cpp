#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runner/launcher/exchange/digest.hpp"
#include "runner/launcher/exchange/gather.hpp"
#include "tracer/format/shard_format.hpp"

namespace ddpprof::launcher {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds slice{500};  // between two checks of "progress"

struct OwnFile {
  FileKind kind;
  fs::path path;
  std::uint64_t bytes = 0;
  std::string head;  // a shard's header at the time of the offer, because the process still records
};

std::optional<OwnFile> own_file(FileKind kind, const fs::path& path) {
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  if (error) return std::nullopt;
  OwnFile file{kind, path, bytes, ""};
  if (kind != FileKind::shard) return file;
  std::string head(trace::shard_header_bytes, '\0');
  std::ifstream in(path, std::ios::binary);
  if (!in.read(head.data(), static_cast<std::streamsize>(head.size()))) return file;
  const auto number = [&](std::size_t offset) {
    std::uint64_t value = 0;
    std::memcpy(&value, head.data() + offset, sizeof value);
    return value;
  };
  // The file is larger than its written part, because it grows in advance.
  const std::uint64_t chunks =
      std::min(number(offsetof(trace::ShardHeader, chunks_used)), number(offsetof(trace::ShardHeader, chunk_capacity)));
  file.bytes = std::min(file.bytes, trace::shard_header_bytes + chunks * trace::chunk_bytes);
  file.head = std::move(head);
  return file;
}

std::vector<OwnFile> own_files(const GatherJob& job) {
  const RankFiles files = rank_files_in(job.folder, job.rank);
  std::vector<OwnFile> own;
  const auto add = [&](FileKind kind, const fs::path& path) {
    if (auto file = own_file(kind, path)) own.push_back(std::move(*file));
  };
  add(FileKind::start, files.start);
  add(FileKind::scenario, files.scenario);
  add(FileKind::run, files.run);
  add(FileKind::result, files.result);
  for (const fs::path& shard : shards_of(files.trace, job.rank)) add(FileKind::shard, shard);
  return own;
}

std::string offer_of(const GatherJob& job, const std::vector<OwnFile>& files) {
  nlohmann::json list = nlohmann::json::array();
  std::string start_digits;
  for (const OwnFile& file : files) {
    list.push_back({kind_names[static_cast<int>(file.kind)], file.bytes});
    if (file.kind != FileKind::start) continue;
    std::ifstream in(file.path, std::ios::binary);
    Sha256 digest;
    digest.add(std::string(std::istreambuf_iterator<char>(in), {}));
    start_digits = digest.digits();
  }
  const std::string text = nlohmann::json{{"files", list}, {"start_sha256", start_digits}}.dump();
  return seal_of(job, job.rank, -1, text) + text;
}

// Returns "" if the file cannot be read any more.
std::string piece_of(const OwnFile& file, std::uint64_t offset) {
  std::string piece(std::min<std::uint64_t>(piece_bytes, file.bytes - offset), '\0');
  std::ifstream in(file.path, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(offset));
  if (!in.read(piece.data(), static_cast<std::streamsize>(piece.size()))) return "";
  if (offset == 0 && piece.size() >= file.head.size()) piece.replace(0, file.head.size(), file.head);
  return piece;
}

// Returns the value of `key`, or nullopt if "progress" has not changed for the job's patience.
std::optional<std::string> wait_while_progress(Mailbox& mailbox, const GatherJob& job, const std::string& key) {
  std::string progress;
  auto end = Clock::now() + job.patience;
  while (Clock::now() < end) {
    if (auto word = mailbox.wait(key, std::min(slice, job.patience))) return word;
    if (auto now = mailbox.wait("gather/progress", milliseconds(1)); now && *now != progress) {
      progress = std::move(*now);
      end = Clock::now() + job.patience;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string send_files(Mailbox& mailbox, const GatherJob& job) {
  const std::vector<OwnFile> files = own_files(job);
  const std::string silent =
      fmt::format("rank 0 fetched nothing for {:.3g} s", std::chrono::duration<double>(job.patience).count());
  std::string why;
  mailbox.put(gather_key(job.rank, "offer"), offer_of(job, files));
  std::int64_t number = 0;
  const auto asked = [&] {  // true if rank 0 requests the next piece
    const auto word = wait_while_progress(mailbox, job, gather_key(job.rank, "next", number));
    if (word == "send") return true;
    why = !word ? silent : *word == "done" ? "" : *word;
    return false;
  };
  bool goes_on = true;
  for (std::size_t i = 0; i < files.size() && goes_on; ++i) {
    for (std::uint64_t offset = 0; offset < files[i].bytes && (goes_on = asked()); offset += piece_bytes, ++number) {
      const std::string piece = piece_of(files[i], offset);
      mailbox.put(gather_key(job.rank, "piece", number), seal_of(job, job.rank, number, piece) + piece);
    }
  }
  if (goes_on) asked();
  // A launcher may end all ranks when one exits with an error. Wait until the files of all ranks are copied.
  if (why != silent) wait_while_progress(mailbox, job, "gather/over");
  mailbox.put(gather_key(job.rank, "left"), "1");
  return why;
}

}  // namespace ddpprof::launcher
