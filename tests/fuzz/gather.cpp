// Files that a rank sends to rank 0 through the store: for any offer and data, the files arrive complete under names
// that rank 0 makes, or none of them arrive.
#include "runner/launcher/exchange/gather.hpp"

#include <map>
#include <set>
#include <vector>

#include "tests/fuzz/fuzz_target.hpp"

using namespace ddpprof;

namespace {

// Has all messages of the rank from the start. Missing messages never come, so reading does not wait.
class Said : public launcher::Mailbox {
 public:
  void put(const std::string& key, const std::string& value) override { values_[key] = value; }
  std::optional<std::string> wait(const std::string& key, std::chrono::milliseconds) override {
    const auto found = values_.find(key);
    if (found == values_.end()) return std::nullopt;
    return found->second;
  }
  void remove(const std::string& key) override { values_.erase(key); }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace

// Parts between lines of "--": the offer, then the pieces. The first byte decides whether they have their seals.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  if (size == 0) return 0;
  const bool sealed = data[0] != 'u';
  std::string_view input = fuzz::text_of(data + 1, size - 1);
  launcher::GatherJob job;
  job.folder = folder.path() / "attempt-0";
  job.world_size = 2;
  job.run = "0123456789abcdef";
  job.patience = std::chrono::milliseconds(1000);
  std::error_code error;
  std::filesystem::remove_all(job.folder, error);
  std::filesystem::create_directories(job.folder);

  Said mailbox;
  std::int64_t number = -1;
  std::size_t sent_bytes = 0;
  for (bool more = true; more; ++number) {
    constexpr std::string_view between = "\n--\n";
    const std::size_t end = input.find(between);
    more = end != std::string_view::npos;
    const std::string part(input.substr(0, end));
    input.remove_prefix(more ? end + between.size() : input.size());
    const std::string key = number < 0 ? launcher::gather_key(1, "offer") : launcher::gather_key(1, "piece", number);
    mailbox.put(key, (sealed ? launcher::seal_of(job, 1, number, part) : "") + part);
    if (number >= 0) sent_bytes += part.size();
  }
  const launcher::Gathered gathered = launcher::fetch_files(mailbox, job);
  fuzz::require(gathered.came + static_cast<int>(gathered.lost.size()) + gathered.here == 1,
                "a rank comes or does not");
  fuzz::require(gathered.came == 0 || (sealed && gathered.bytes <= sent_bytes), "what came was sent");
  const launcher::RankFiles files = launcher::rank_files_in(job.folder, 1);
  fuzz::require(std::filesystem::exists(files.start) == (gathered.came == 1), "a rank that came is there");
  const std::set<std::filesystem::path> own{files.start, files.scenario, files.run, files.result};
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(job.folder)) {
    if (entry.is_directory()) continue;
    bytes += entry.file_size();
    const bool shard = entry.path().parent_path() == files.trace && entry.path().extension() == ".ddps";
    fuzz::require(gathered.came == 1 && (shard || own.contains(entry.path())), "no other file is left");
  }
  fuzz::require(bytes == gathered.bytes, "what came lies there");
  return 0;
}
