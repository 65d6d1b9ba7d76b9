// Files that ranks send to rank 0 through a store: complete, in pieces, and with ranks that fail during the transfer.
#include "runner/launcher/exchange/gather.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "runner/launcher/exchange/digest.hpp"
#include "tests/store/shard_builder.hpp"

namespace ddpprof::launcher {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Behaves like c10d's store, in this process.
class Box : public Mailbox {
 public:
  void put(const std::string& key, const std::string& value) override {
    const std::lock_guard lock(mutex_);
    values_[key] = value;
    held_bytes_ = 0;
    for (const auto& [name, text] : values_) held_bytes_ += text.size();
    most_held_bytes_ = std::max(most_held_bytes_, held_bytes_);
    changed_.notify_all();
  }
  std::optional<std::string> wait(const std::string& key, milliseconds limit) override {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, limit, [&] { return values_.contains(key); })) return std::nullopt;
    return values_.at(key);
  }
  void remove(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    values_.erase(key);
  }
  std::size_t most_held_bytes() const { return most_held_bytes_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
  std::size_t held_bytes_ = 0, most_held_bytes_ = 0;
};

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Gather : public testing::Test {
 protected:
  GatherJob job(int rank, int world_size, const std::string& folder) {
    GatherJob job;
    job.folder = folder_ / folder;
    job.rank = rank;
    job.world_size = world_size;
    job.run = "0123456789abcdef";
    job.patience = milliseconds(60'000);
    return job;
  }
  GatherJob own(int rank, int world_size = 3) { return job(rank, world_size, "host-" + std::to_string(rank)); }

  // Writes the files that `ddpprof worker` leaves, with a shard of `shard_bytes`.
  void write_files(const GatherJob& job, std::size_t shard_bytes) {
    const RankFiles files = rank_files_in(job.folder, job.rank);
    fs::create_directories(files.trace);
    const std::string rank = std::to_string(job.rank);
    std::ofstream(files.start) << "{\"rank\": " << rank << "}";
    std::ofstream(files.scenario) << "name: rank-" << rank << "\n";
    std::ofstream(files.run) << "{\"run\": \"x\"}";
    std::ofstream(files.result) << "{\"result\": " << rank << "}";
    std::string shard(shard_bytes, '\0');
    for (std::size_t i = 0; i < shard.size(); ++i) shard[i] = static_cast<char>(i * 31 + i / 4096);
    std::ofstream(files.trace / ("shard-" + rank + "-4711.ddps"), std::ios::binary) << shard;
  }

  void expect_same(const GatherJob& sender, const GatherJob& rank_0) {
    const RankFiles theirs = rank_files_in(sender.folder, sender.rank),
                    ours = rank_files_in(rank_0.folder, sender.rank);
    EXPECT_EQ(read(ours.start), read(theirs.start));
    EXPECT_EQ(read(ours.scenario), read(theirs.scenario));
    EXPECT_EQ(read(ours.run), read(theirs.run));
    EXPECT_EQ(read(ours.result), read(theirs.result));
    const auto shards = shards_of(ours.trace, sender.rank);
    ASSERT_EQ(shards.size(), 1U);
    EXPECT_EQ(shards[0].filename(), "shard-" + std::to_string(sender.rank) + "-1.ddps");
    EXPECT_EQ(read(shards[0]), read(shards_of(theirs.trace, sender.rank).at(0)));
  }

  static std::vector<std::string> names_in(const fs::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (!entry.is_directory()) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }

  // Rank 1 behaves like `rank_1`, rank 2 correctly.
  Gathered gather_with(const std::function<void(Mailbox&)>& rank_1, milliseconds patience, std::string& second) {
    GatherJob zero = own(0), two = own(2);
    zero.patience = patience;
    for (const GatherJob& each : {zero, own(1), two}) write_files(each, 100'000);
    Box box;
    std::thread one([&] { rank_1(box); }), other([&] { second = send_files(box, two); });
    const Gathered gathered = fetch_files(box, zero);
    one.join();
    other.join();
    expect_same(two, zero);
    return gathered;
  }

  test::TemporaryFolder folder_;
};

TEST_F(Gather, BringsEveryFileWholeInPieces) {
  const Token token("a secret that all ranks share");
  for (const Token* secret : {static_cast<const Token*>(nullptr), &token}) {
    GatherJob zero = own(0), one = own(1), two = own(2);
    for (GatherJob* each : {&zero, &one, &two}) {
      each->token = secret;
      fs::remove_all(each->folder);
    }
    write_files(zero, 10);
    write_files(one, 2 * piece_bytes + 12'345);
    write_files(two, piece_bytes);  // exactly one piece
    Box box;
    std::string first = "-", second = "-";
    std::thread sender_1([&] { first = send_files(box, one); }), sender_2([&] { second = send_files(box, two); });
    const Gathered gathered = fetch_files(box, zero);
    sender_1.join();
    sender_2.join();
    EXPECT_EQ(first, "");
    EXPECT_EQ(second, "");
    EXPECT_EQ(gathered.came, 2);
    EXPECT_THAT(gathered.lost, IsEmpty());
    EXPECT_GT(gathered.bytes, 3 * piece_bytes);
    EXPECT_LT(box.most_held_bytes(), piece_bytes + 20'000) << "never more than one piece at a time";
    expect_same(one, zero);
    expect_same(two, zero);
  }
}

TEST_F(Gather, OfAShardSendsWhatItHolds) {
  // A shard is larger than its written part: only the used chunks are sent.
  GatherJob zero = own(0, 2), one = own(1, 2);
  for (const GatherJob& each : {zero, one}) write_files(each, 10);
  const fs::path path = shards_of(rank_files_in(one.folder, 1).trace, 1).at(0);
  test::ShardBuilder builder;
  builder.header.rank = 1;
  builder.text("a text");
  builder.write(path);
  const auto used = fs::file_size(path);
  fs::resize_file(path, used + (8u << 20));
  Box box;
  std::thread sender([&] { EXPECT_EQ(send_files(box, one), ""); });
  fetch_files(box, zero);
  sender.join();
  EXPECT_EQ(fs::file_size(shards_of(rank_files_in(zero.folder, 1).trace, 1).at(0)), used);
}

TEST_F(Gather, ASharedFolderIsNoticed) {
  GatherJob zero = job(0, 2, "shared"), one = job(1, 2, "shared");
  write_files(zero, 10);
  write_files(one, 10);
  const auto before = names_in(zero.folder);
  Box box;
  std::thread sender([&] { EXPECT_EQ(send_files(box, one), ""); });
  const Gathered gathered = fetch_files(box, zero);
  sender.join();
  EXPECT_EQ(gathered.here, 1);
  EXPECT_EQ(gathered.came, 0);
  EXPECT_EQ(names_in(zero.folder), before);
}

TEST_F(Gather, AnEarlierRunsFilesStayUnlessRank0WasToldToOverwriteThem) {
  GatherJob zero = own(0), one = own(1), two = own(2), old = job(1, 3, "host-0");
  for (const GatherJob& each : {zero, one, two, old}) write_files(each, 500);
  const std::string earlier = "{\"rank\": 1, \"earlier\": true}";
  std::ofstream(rank_files_in(old.folder, 1).start) << earlier;
  Box box;
  std::thread first(
      [&] { EXPECT_THAT(send_files(box, one), HasSubstr("contains files of rank 1 from an earlier run")); });
  std::thread second([&] { EXPECT_EQ(send_files(box, two), ""); });
  const Gathered gathered = fetch_files(box, zero);
  first.join();
  second.join();
  EXPECT_EQ(gathered.came, 1);
  EXPECT_THAT(gathered.lost, ElementsAre(HasSubstr("give rank 0 --overwrite")));
  EXPECT_EQ(read(rank_files_in(old.folder, 1).start), earlier);
  EXPECT_EQ(shards_of(rank_files_in(old.folder, 1).trace, 1).size(), 1U);
}

TEST_F(Gather, AnEarlierRunsFilesStayUntilTheNewOnesHaveCome) {
  GatherJob zero = own(0, 2), one = own(1, 2), old = job(1, 2, "host-0");
  zero.overwrite = true;
  zero.patience = milliseconds(300);
  write_files(zero, 10);
  write_files(one, 500);
  write_files(old, 500);
  const std::string earlier = "{\"rank\": 1, \"earlier\": true}";
  std::ofstream(rank_files_in(old.folder, 1).start) << earlier;
  Box box;
  const std::string offer = R"({"files": [["start", 3]], "start_sha256": ""})";  // and then the rank is silent
  box.put(gather_key(1, "offer"), seal_of(one, 1, -1, offer) + offer);
  EXPECT_EQ(fetch_files(box, zero).lost.size(), 1U);
  EXPECT_EQ(read(rank_files_in(old.folder, 1).start), earlier);
  EXPECT_EQ(shards_of(rank_files_in(old.folder, 1).trace, 1).size(), 1U);
}

TEST_F(Gather, AnEarlierRunsFilesDoNotStay) {
  GatherJob zero = own(0, 2), one = own(1, 2), old = job(1, 2, "host-0");
  write_files(old, 500);
  std::ofstream(rank_files_in(old.folder, 1).start) << "{\"rank\": 1, \"earlier\": true}";
  zero.overwrite = true;
  write_files(zero, 10);
  write_files(one, 10);
  Box box;
  std::thread sender([&] { EXPECT_EQ(send_files(box, one), ""); });
  EXPECT_EQ(fetch_files(box, zero).came, 1);
  sender.join();
  expect_same(one, zero);
}

TEST_F(Gather, ARankThatNeverComesCostsItsOwnFilesOnly) {
  std::string second = "-";
  const Gathered gathered = gather_with([](Mailbox&) {}, milliseconds(1'000), second);
  EXPECT_EQ(second, "");
  EXPECT_THAT(gathered.lost, ElementsAre("rank 1: nothing came from it within 1 s"));
  EXPECT_FALSE(fs::exists(rank_files_in(own(0).folder, 1).start));
}

// Rank 0 waits for the silent rank as long as the other ranks wait for rank 0, and starts after them.
TEST_F(Gather, WaitingForASilentRankCostsNobodyElsesFiles) {
  GatherJob zero = own(0), two = own(2);
  for (GatherJob* each : {&zero, &two}) {
    each->patience = milliseconds(4'000);
    write_files(*each, 10);
  }
  Box box;
  std::string second = "-";
  std::thread sender([&] { second = send_files(box, two); });
  std::this_thread::sleep_for(milliseconds(2'000));
  const Gathered gathered = fetch_files(box, zero);
  sender.join();
  EXPECT_EQ(second, "");
  EXPECT_THAT(gathered.lost, ElementsAre("rank 1: nothing came from it within 4 s"));
  expect_same(two, zero);
}

TEST_F(Gather, ARankThatDiesInTheMiddleLeavesNothingHalf) {
  std::string second = "-";
  const auto dies = [&](Mailbox& box) {
    struct Dying : Mailbox {
      explicit Dying(Mailbox& other) : box(other) {}
      void put(const std::string& key, const std::string& value) override {
        if (key.find("piece/2") != std::string::npos) throw std::runtime_error("killed");
        box.put(key, value);
      }
      std::optional<std::string> wait(const std::string& key, milliseconds limit) override {
        return box.wait(key, limit);
      }
      void remove(const std::string& key) override { box.remove(key); }
      Mailbox& box;
    } dying(box);
    EXPECT_THROW(send_files(dying, own(1)), std::runtime_error);
  };
  const Gathered gathered = gather_with(dies, milliseconds(1'000), second);
  EXPECT_EQ(second, "");
  EXPECT_THAT(gathered.lost, ElementsAre("rank 1: nothing came from it within 1 s"));
  for (const std::string& name : names_in(own(0).folder)) {
    EXPECT_THAT(name, testing::Not(HasSubstr("partial")));
    EXPECT_THAT(name, testing::Not(testing::ContainsRegex("^(rank|scenario|run|result|shard)-1[-.]")));
  }
}

TEST_F(Gather, RejectsFalseOffersWithAMessage) {
  const struct {
    const char* offer;
    const char* expected;
  } lies[] = {
      {R"({"files": [["start", 9]], "start_sha256": ""})", "its piece 0 has 3 bytes, not the offered size"},
      {R"({"files": [["start", 3], ["../../etc/cron.d/x", 3]], "start_sha256": ""})", "an unknown kind of file"},
      {R"({"files": [["start", 99999999]], "start_sha256": ""})", "the limit is 16777216"},
      {R"({"files": [["start", 3], ["start", 3]], "start_sha256": ""})", "it offers two start files"},
      {R"({"files": [["shard", 3]], "start_sha256": ""})", "it does not offer its start file"},
      {R"({"files": [["start", 3], ["shard", 1099511627776]], "start_sha256": ""})", "and rank 0's disk has"},
      {R"({"files": [["start", -3]], "start_sha256": ""})", "its offer cannot be read"},
      {R"({"files": [["start", 3.0]], "start_sha256": ""})", "its offer cannot be read"},
      {R"({"files": [["start", true]], "start_sha256": ""})", "its offer cannot be read"},
      {"garbage", "its offer cannot be read"},
  };
  for (const auto& lie : lies) {
    std::string second = "-";
    std::optional<std::string> told;
    const auto liar = [&](Mailbox& box) {
      const GatherJob job = own(1);
      box.put(gather_key(1, "offer"), seal_of(job, 1, -1, lie.offer) + lie.offer);
      for (int number = 0; number < 3 && (!told || *told == "send"); ++number) {
        told = box.wait(gather_key(1, "next", number), milliseconds(60'000));
        box.put(gather_key(1, "piece", number), seal_of(job, 1, number, "abc") + "abc");
      }
      box.put(gather_key(1, "left"), "1");
    };
    const Gathered gathered = gather_with(liar, milliseconds(60'000), second);
    EXPECT_EQ(second, "");
    ASSERT_EQ(gathered.lost.size(), 1U) << lie.offer;
    EXPECT_THAT(gathered.lost[0], HasSubstr(lie.expected)) << lie.offer;
    ASSERT_TRUE(told) << lie.offer;
    EXPECT_THAT(*told, testing::StartsWith("stop: ")) << lie.offer;
  }
}

TEST_F(Gather, WhoDoesNotKnowTheTokenSendsNothing) {
  const Token token("a secret that all ranks share"), other("another secret, of a stranger");
  GatherJob zero = own(0, 2), one = own(1, 2);
  zero.token = &token;
  one.token = &other;
  for (const GatherJob& each : {zero, one}) write_files(each, 10);
  Box box;
  std::thread sender([&] { EXPECT_THAT(send_files(box, one), HasSubstr("the seal of its offer is wrong")); });
  EXPECT_THAT(fetch_files(box, zero).lost, ElementsAre("rank 1: the seal of its offer is wrong"));
  sender.join();
}

TEST_F(Gather, ARankIsToldWhenRank0IsSilent) {
  GatherJob one = own(1, 2);
  one.patience = milliseconds(700);
  write_files(one, 10);
  Box box;
  EXPECT_THAT(send_files(box, one), HasSubstr("rank 0 fetched nothing for 0.7 s"));
}

// A limit on file sizes replaces a full disk: the same call fails.
TEST_F(Gather, AFullDiskKeepsWhatCame) {
  GatherJob zero = own(0, 4), one = own(1, 4), two = own(2, 4), three = own(3, 4);
  write_files(zero, 10);
  write_files(one, 10'000);
  write_files(two, 300'000);
  write_files(three, 10);
  auto* const before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  rlimit small = limit;
  small.rlim_cur = 100'000;
  setrlimit(RLIMIT_FSIZE, &small);
  Box box;
  std::string said[3];
  std::vector<std::thread> senders;
  for (const GatherJob* sender : {&one, &two, &three})
    senders.emplace_back([&box, sender, &said] { said[sender->rank - 1] = send_files(box, *sender); });
  const Gathered gathered = fetch_files(box, zero);
  for (std::thread& sender : senders) sender.join();
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  EXPECT_EQ(gathered.came, 1);
  EXPECT_EQ(gathered.lost.size(), 2U);
  EXPECT_EQ(said[0], "");
  for (const int rank : {1, 2}) EXPECT_THAT(said[rank], HasSubstr("rank 0 cannot write ")) << rank;
  expect_same(one, zero);
  EXPECT_FALSE(fs::exists(rank_files_in(zero.folder, 2).start));
}

}  // namespace
}  // namespace ddpprof::launcher
