#include "runner/launcher/exchange/gather.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "runner/launcher/exchange/digest.hpp"

namespace ddpprof::launcher {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// The largest size of each kind of file that ddpprof import accepts.
constexpr std::uint64_t largest_bytes[] = {16u << 20, 16u << 20, 1u << 20, 256u << 20, 1ull << 40};
constexpr std::size_t most_files = 64;
constexpr std::uint64_t kept_free_bytes = 64u << 20;  // on rank 0's disk

// The files of a rank cannot be copied. The message is the reason.
struct Lost : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct Silent : Lost {  // the rank did not answer; it may have ended
  using Lost::Lost;
};
// Rank 0 cannot store more files, so the files of the remaining ranks cannot be copied either.
struct NoRoom : Lost {
  using Lost::Lost;
};

struct Offered {
  FileKind kind;
  std::uint64_t bytes;
};

struct Offer {
  std::vector<Offered> files;
  std::string start_digits;
};

Offer read_offer(const std::string& text) {
  const auto parsed = nlohmann::json::parse(text, nullptr, false);
  Offer offer;
  try {
    std::size_t singles[4] = {};
    for (const auto& file : parsed.at("files")) {
      const auto kind = std::ranges::find(kind_names, file.at(0).get<std::string>());
      if (kind == std::end(kind_names)) throw Lost("it offers an unknown kind of file");
      const auto index = static_cast<std::size_t>(kind - std::begin(kind_names));
      if (!file.at(1).is_number_unsigned()) throw Lost("its offer cannot be read");
      const auto bytes = file.at(1).get<std::uint64_t>();
      if (bytes > largest_bytes[index])
        throw Lost(fmt::format("its {} file has {} bytes; the limit is {}", *kind, bytes, largest_bytes[index]));
      if (index < 4 && ++singles[index] > 1) throw Lost(fmt::format("it offers two {} files", *kind));
      offer.files.push_back({static_cast<FileKind>(index), bytes});
    }
    if (offer.files.size() > most_files)
      throw Lost(fmt::format("it offers {} files; the limit is {}", offer.files.size(), most_files));
    if (singles[0] != 1) throw Lost("it does not offer its start file");
    parsed.at("start_sha256").get_to(offer.start_digits);
  } catch (const nlohmann::json::exception&) {
    throw Lost("its offer cannot be read");
  }
  return offer;
}

// A file that is being received. It has a temporary name until all files of the rank are there.
class Incoming {
 public:
  Incoming(fs::path path) : path_(std::move(path)) {
    partial_ = path_;
    partial_ += ".partial";
    unlink(partial_.c_str());
    descriptor_ = open(partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (descriptor_ < 0) fail();
  }
  Incoming(Incoming&& other) noexcept
      : path_(std::move(other.path_)),
        partial_(std::exchange(other.partial_, {})),
        descriptor_(std::exchange(other.descriptor_, -1)) {}
  Incoming& operator=(Incoming&&) = delete;
  ~Incoming() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!partial_.empty()) unlink(partial_.c_str());
  }

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) fail();
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  void finish() {
    if (close(std::exchange(descriptor_, -1)) != 0) fail();
  }
  void rename_to_final() {
    if (rename(partial_.c_str(), path_.c_str()) != 0) fail();
    partial_.clear();
  }

 private:
  [[noreturn]] void fail() const {
    throw NoRoom(fmt::format("rank 0 cannot write {}: {}", path_.string(), std::strerror(errno)));
  }

  fs::path path_, partial_;
  int descriptor_ = -1;
};

class Fetcher {
 public:
  Fetcher(Mailbox& mailbox, const GatherJob& job) : mailbox_(mailbox), job_(job) {}

  Gathered run() {
    advance();                                             // the other ranks wait for a sign of rank 0
    const auto offers_end = Clock::now() + job_.patience;  // all ranks arrive here at about the same time
    std::vector<int> answering;
    std::string no_room;
    for (int rank = 1; rank < job_.world_size; ++rank) {
      number_ = 0;
      try {
        if (!no_room.empty()) throw Lost(no_room);
        fetch(rank, offers_end);
        mailbox_.put(gather_key(rank, "next", number_), "done");
        answering.push_back(rank);
      } catch (const Lost& why) {
        if (dynamic_cast<const NoRoom*>(&why) != nullptr) no_room = why.what();
        if (dynamic_cast<const Silent*>(&why) == nullptr) answering.push_back(rank);
        gathered_.lost.push_back(fmt::format("rank {}: {}", rank, why.what()));
        mailbox_.put(gather_key(rank, "next", number_), fmt::format("stop: {}", why.what()));
      }
      advance();
    }
    mailbox_.put("gather/over", "1");
    // This process may serve the store. Wait until the ranks that answered have read "over".
    const auto end = Clock::now() + job_.patience;
    for (const int rank : answering) {
      const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
      if (left.count() <= 0 || !mailbox_.wait(gather_key(rank, "left"), left)) break;
    }
    return std::move(gathered_);
  }

 private:
  void advance() { mailbox_.put("gather/progress", std::to_string(++progress_)); }

  // Returns the value of `key`, or nullopt after `limit`. Changes "progress" meanwhile, so that the other ranks keep
  // waiting while one rank does not answer.
  std::optional<std::string> wait_for(const std::string& key, milliseconds limit) {
    for (milliseconds left = limit;;) {
      const milliseconds slice = std::clamp(job_.patience / 4, milliseconds(1), std::max(left, milliseconds(1)));
      auto value = mailbox_.wait(key, slice);
      left -= slice;
      if (value || left.count() <= 0) return value;
      advance();
    }
  }

  std::string sealed(int rank, std::int64_t number, const std::optional<std::string>& value) const {
    if (!value) throw Silent(fmt::format("nothing came from it within {:.3g} s", seconds()));
    const std::string_view text = *value;
    if (text.size() < seal_digits ||
        !equal_in_constant_time(text.substr(0, seal_digits), seal_of(job_, rank, number, text.substr(seal_digits))))
      throw Lost(number < 0 ? "the seal of its offer is wrong"
                            : fmt::format("the seal of its piece {} is wrong", number));
    return value->substr(seal_digits);
  }

  double seconds() const { return std::chrono::duration<double>(job_.patience).count(); }

  std::string piece(int rank) {
    const std::int64_t number = number_++;  // "stop" answers the next number: this piece is already requested
    mailbox_.put(gather_key(rank, "next", number), "send");
    const std::string key = gather_key(rank, "piece", number);
    std::string bytes = sealed(rank, number, wait_for(key, job_.patience));
    mailbox_.remove(key);
    mailbox_.remove(gather_key(rank, "next", number));
    advance();
    return bytes;
  }

  bool is_here(const RankFiles& files, const Offer& offer) const {
    std::ifstream in(files.start, std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(in), {});
    if (text.empty()) return false;
    Sha256 digest;
    digest.add(text);
    return digest.digits() == offer.start_digits;
  }

  static bool any_there(const RankFiles& files, int rank) {
    std::error_code error;
    return !shards_of(files.trace, rank).empty() ||
           std::ranges::any_of(std::initializer_list<fs::path>{files.start, files.scenario, files.run, files.result},
                               [&](const fs::path& path) { return fs::exists(fs::symlink_status(path, error)); });
  }

  static void changing(const std::function<void()>& change) {
    try {
      change();
    } catch (const fs::filesystem_error& failed) {
      throw NoRoom(fmt::format("rank 0 cannot change {}: {}", failed.path1().string(), failed.code().message()));
    }
  }

  void fetch(int rank, Clock::time_point offers_end) {
    const auto left = std::chrono::duration_cast<milliseconds>(offers_end - Clock::now());
    const Offer offer =
        read_offer(sealed(rank, -1, wait_for(gather_key(rank, "offer"), std::max(left, milliseconds(100)))));
    const RankFiles files = rank_files_in(job_.folder, rank);
    if (is_here(files, offer)) {
      ++gathered_.here;
      return;
    }
    std::uint64_t all_bytes = 0;
    for (const Offered& file : offer.files) all_bytes += file.bytes;
    std::error_code error;
    const fs::space_info space = fs::space(job_.folder, error);
    if (!error && (space.available < kept_free_bytes || all_bytes > space.available - kept_free_bytes))
      throw Lost(fmt::format("its files have {} bytes, and rank 0's disk has {} free", all_bytes, space.available));
    if (!job_.overwrite && any_there(files, rank))
      throw Lost(
          fmt::format("rank 0's folder {} contains files of rank {} from an earlier run, which are kept; give rank 0 "
                      "--overwrite, or a folder without results",
                      job_.folder.string(), rank));
    changing([&] { fs::create_directories(files.trace); });
    std::vector<Incoming> incoming;
    std::size_t start = 0;
    int shards = 0;
    for (const Offered& file : offer.files) {
      if (file.kind == FileKind::start) start = incoming.size();
      const fs::path paths[] = {files.start, files.scenario, files.run, files.result,
                                files.trace / fmt::format("shard-{}-{}.ddps", rank, shards + 1)};
      shards += file.kind == FileKind::shard ? 1 : 0;
      Incoming& own = incoming.emplace_back(paths[static_cast<int>(file.kind)]);
      for (std::uint64_t got = 0; got < file.bytes;) {
        const std::string bytes = piece(rank);
        if (bytes.size() != std::min<std::uint64_t>(piece_bytes, file.bytes - got))
          throw Lost(fmt::format("its piece {} has {} bytes, not the offered size", number_ - 1, bytes.size()));
        own.write(bytes);
        got += bytes.size();
      }
      own.finish();
    }
    changing([&] { remove_rank_files(files, rank); });  // of an earlier run
    for (std::size_t i = 0; i < incoming.size(); ++i)
      if (i != start) incoming[i].rename_to_final();
    incoming[start].rename_to_final();  // last: the start file marks the rank as complete
    ++gathered_.came;
    gathered_.bytes += all_bytes;
  }

  Mailbox& mailbox_;
  const GatherJob& job_;
  Gathered gathered_;
  std::int64_t number_ = 0;  // of the next piece, counted over all files of a rank
  std::int64_t progress_ = 0;
};

}  // namespace

std::string seal_of(const GatherJob& job, int sender, std::int64_t number, std::string_view piece) {
  Sha256 digest;
  digest.add(fmt::format("{} {} {}\n", job.run, sender, number));
  digest.add(piece);
  const std::string digits = digest.digits();
  return job.token != nullptr ? job.token->prove("piece", digits) : digits;
}

std::string gather_key(int rank, const char* what) { return fmt::format("gather/{}/{}", rank, what); }
std::string gather_key(int rank, const char* what, std::int64_t number) {
  return fmt::format("gather/{}/{}/{}", rank, what, number);
}

Gathered fetch_files(Mailbox& mailbox, const GatherJob& job) { return Fetcher(mailbox, job).run(); }

}  // namespace ddpprof::launcher
