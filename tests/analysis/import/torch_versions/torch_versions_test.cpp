// Traces of small trainings with several versions of torch (scripts/torch-versions). Expected values are the facts that
// job.py wrote beside each trace: from its own clock, from DDP's Logger, and from the calls of torch.distributed.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "tests/analysis/import/load/imported.hpp"

namespace ddpprof::import {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::int64_t clock_slack_ns = 2'000;  // timestamps in the trace are rounded
// Python's part of the calls of forward and backward, which the job's clock counts to them.
constexpr std::int64_t closure_slack_ns = 300'000;
constexpr std::int64_t rounding_ns = 1'000;  // of a sum of intervals

std::vector<std::string> versions() {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(VERSIONS_FOLDER)) found.push_back(entry.path().filename().string());
  std::sort(found.begin(), found.end());
  return found;
}

// The sum of a job's sizes in bytes: "parameter_shapes" of floats.
std::vector<std::int64_t> parameter_bytes(const json& facts) {
  std::vector<std::int64_t> all;
  for (const json& shape : facts["parameter_shapes"]) {
    std::int64_t bytes = 4;
    for (const json& extent : shape) bytes *= extent.get<std::int64_t>();
    all.push_back(bytes);
  }
  return all;
}

std::string content(const fs::path& path) {
  const std::unique_ptr<ByteSource> source = open_bytes(path);
  std::string text;
  std::vector<std::byte> block(1 << 20);
  while (const std::size_t count = source->read(block)) text.append(reinterpret_cast<const char*>(block.data()), count);
  return text;
}

// Interval arithmetic on a trace, for each step: the time in which Gloo's threads execute a collective, and the part of
// it in which an operation of another thread computes.
struct StepTimes {
  std::int64_t communication_ns = 0, overlapped_ns = 0;
};

std::vector<StepTimes> times_of(const fs::path& path) {
  using Interval = std::pair<double, double>;  // us
  const json trace = json::parse(content(path));
  std::vector<Interval> steps, runs, operations;
  std::set<std::int64_t> backend_threads;
  const auto each = [&](auto&& take) {
    for (const json& event : trace["traceEvents"])
      if (event.value("ph", "") == "X") take(event, event["name"].get<std::string>());
  };
  const auto interval = [](const json& event) {
    const double start = event["ts"];
    return Interval{start, start + event["dur"].get<double>()};
  };
  each([&](const json& event, const std::string& name) {
    if (name.starts_with("ProfilerStep#")) steps.push_back(interval(event));
    if (!name.starts_with("gloo:")) return;
    runs.push_back(interval(event));
    backend_threads.insert(event["tid"].get<std::int64_t>());
  });
  each([&](const json& event, const std::string& name) {
    if ((name.starts_with("aten::") || name.starts_with("fsdp::")) &&
        backend_threads.count(event["tid"].get<std::int64_t>()) == 0)
      operations.push_back(interval(event));
  });
  std::sort(steps.begin(), steps.end());
  std::vector<StepTimes> times;
  for (const auto& [from, to] : steps) {
    // Between neighbouring ends of intervals nothing changes.
    std::vector<double> ends{from, to};
    for (const auto* all : {&runs, &operations})
      for (const auto& [start, end] : *all)
        for (const double moment : {start, end})
          if (moment > from && moment < to) ends.push_back(moment);
    std::sort(ends.begin(), ends.end());
    double communication_us = 0, overlapped_us = 0;
    for (std::size_t i = 1; i < ends.size(); ++i) {
      const double middle = (ends[i - 1] + ends[i]) / 2, lasts_us = ends[i] - ends[i - 1];
      const auto inside = [&](const Interval& one) { return one.first < middle && middle < one.second; };
      if (!std::any_of(runs.begin(), runs.end(), inside)) continue;
      communication_us += lasts_us;
      if (std::any_of(operations.begin(), operations.end(), inside)) overlapped_us += lasts_us;
    }
    times.push_back({std::llround(communication_us * 1e3), std::llround(overlapped_us * 1e3)});
  }
  return times;
}

class torch_versions : public testing::TestWithParam<std::string> {
 protected:
  void read(const std::string& job) {
    const fs::path folder = fs::path(VERSIONS_FOLDER) / GetParam();
    std::vector<fs::path> files;
    for (const std::string rank : {"0", "1"}) {
      files.push_back(folder / job / ("rank" + rank + ".json.gz"));
      facts_.push_back(json::parse(std::ifstream(folder / ("facts" + rank + ".json")))[job]);
    }
    imported_ = import_files(folder_, files);
    ASSERT_EQ(imported_.error, "");
    database_.emplace(store::Database::open_read(folder_.path() / "imported.db"));
  }
  template <class Row>  // called with each row
  void rows(const std::string& sql, Row&& take) {
    SQLite::Statement query(database_->sql(), sql);
    while (query.executeStep()) take(query);
  }
  std::vector<std::int64_t> numbers(const std::string& sql) {
    std::vector<std::int64_t> all;
    rows(sql, [&](SQLite::Statement& row) { all.push_back(row.getColumn(0).getInt64()); });
    return all;
  }
  std::int64_t number(const std::string& sql) {
    const std::vector<std::int64_t> all = numbers(sql);
    EXPECT_EQ(all.size(), 1U) << sql;
    return all.empty() ? -1 : all.front();
  }

  // The job, and each rank's steps: numbers, durations, samples, the optimizer's time.
  void expect_job(const std::string& strategy, bool closure = false) {
    const json& facts = facts_.front();
    rows("SELECT world_size, status, strategy, backend, device, batch_per_worker, accumulation FROM measurement",
         [&](SQLite::Statement& row) {
           EXPECT_EQ(row.getColumn(0).getInt64(), facts["world_size"]);
           EXPECT_EQ(row.getColumn(1).getString(), "ok");
           EXPECT_EQ(row.getColumn(2).getString(), strategy);
           EXPECT_EQ(row.getColumn(3).getString(), "gloo");
           EXPECT_EQ(row.getColumn(4).getString(), "cpu");
           EXPECT_EQ(row.getColumn(5).getInt64(), facts["batch"]);
           EXPECT_EQ(row.getColumn(6).getInt64(), facts["accumulation"]);
         });
    EXPECT_EQ(imported_.told.count("bad_event"), 0U);
    EXPECT_EQ(imported_.told.count("rank_unknown"), 0U);
    for (std::size_t rank = 0; rank < facts_.size(); ++rank) {
      SCOPED_TRACE("rank " + std::to_string(rank));
      expect_steps(rank, closure);
    }
  }

  void expect_steps(std::size_t rank, bool closure) {
    const json& facts = facts_[rank];
    std::size_t i = 0;
    rows(
        "SELECT st.step, st.duration_ns, st.samples, st.id FROM step st JOIN shard s ON s.id = st.shard_id WHERE "
        "s.rank = " +
            std::to_string(rank) + " ORDER BY st.step",
        [&](SQLite::Statement& row) {
          ASSERT_LT(i, facts["steps"].size());
          const json& step = facts["steps"][i];
          EXPECT_EQ(row.getColumn(0).getInt64(),
                    facts["first_step"].get<std::int64_t>() + static_cast<std::int64_t>(i));
          EXPECT_GE(row.getColumn(1).getInt64(), step["least_ns"].get<std::int64_t>() - clock_slack_ns);
          if (!step["most_ns"].is_null()) {
            EXPECT_LE(row.getColumn(1).getInt64(), step["most_ns"].get<std::int64_t>() + clock_slack_ns);
          }
          EXPECT_EQ(row.getColumn(2).getInt64(),
                    facts["batch"].get<std::int64_t>() * facts["accumulation"].get<std::int64_t>());
          const std::string of_step = " FROM phase WHERE step_id = " + std::to_string(row.getColumn(3).getInt64());
          const std::int64_t optimizer_ns = number("SELECT sum(duration_ns)" + of_step + " AND name = 'optimizer'");
          const auto clock_ns = step["optimizer_ns"].get<std::int64_t>();
          if (closure) {
            EXPECT_LE(std::abs(optimizer_ns - clock_ns), closure_slack_ns);
          } else {
            EXPECT_GT(optimizer_ns, 0);
            EXPECT_LE(optimizer_ns, clock_ns + clock_slack_ns);
          }
          EXPECT_EQ(number("SELECT count(*)" + of_step + " AND name = 'backward'"), facts["accumulation"]);
          ++i;
        });
    EXPECT_EQ(i, facts["steps"].size());
  }

  void expect_buckets() {
    const json& facts = facts_.front();
    const std::vector<std::int64_t> bytes = parameter_bytes(facts);
    EXPECT_EQ(numbers("SELECT bytes FROM parameter ORDER BY parameter"), bytes);
    std::int64_t all_bytes = 0;
    for (const std::int64_t one : bytes) all_bytes += one;
    EXPECT_EQ(number("SELECT parameter_bytes FROM measurement"), all_bytes);
    std::vector<std::int64_t> members, bucket_bytes;
    for (const json& bucket : facts["buckets"]) {
      bucket_bytes.push_back(0);
      for (const json& member : bucket) {
        members.push_back(member);
        bucket_bytes.back() += bytes[member.get<std::size_t>()];
      }
    }
    EXPECT_EQ(numbers("SELECT parameter FROM bucket ORDER BY bucket, position"), members);
    for (const std::int64_t step : numbers("SELECT id FROM step"))
      EXPECT_EQ(numbers("SELECT bytes FROM collective WHERE op = 'all_reduce' AND bucket >= 0 AND step_id = " +
                        std::to_string(step) + " ORDER BY bucket"),
                bucket_bytes);
  }

  Folder folder_;
  std::vector<json> facts_;  // by rank
  Imported imported_;
  std::optional<store::Database> database_;
};

TEST_P(torch_versions, Ddp) {
  ASSERT_NO_FATAL_FAILURE(read("ddp"));
  expect_job("ddp");
  expect_buckets();
}

TEST_P(torch_versions, DdpInsideOfAClosure) {
  ASSERT_NO_FATAL_FAILURE(read("closure"));
  expect_job("ddp", true);
  expect_buckets();
}

TEST_P(torch_versions, Fsdp2) {
  ASSERT_NO_FATAL_FAILURE(read("fsdp2"));
  expect_job("fsdp");
  const std::vector<std::int64_t> bytes = parameter_bytes(facts_.front());  // without the padding of the collectives
  EXPECT_EQ(number("SELECT parameter_bytes FROM measurement"),
            std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}));
  for (std::size_t rank = 0; rank < facts_.size(); ++rank) {
    const std::vector<std::int64_t> steps =
        numbers("SELECT st.id FROM step st JOIN shard s ON s.id = st.shard_id WHERE s.rank = " + std::to_string(rank) +
                " ORDER BY st.step");
    ASSERT_EQ(steps.size(), facts_[rank]["calls"].size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      std::vector<std::pair<std::string, std::int64_t>> called, read;
      for (const json& call : facts_[rank]["calls"][i]) called.emplace_back(call[0].get<std::string>(), call[1]);
      rows("SELECT op, bytes FROM collective WHERE step_id = " + std::to_string(steps[i]) + " ORDER BY launch_ns",
           [&](SQLite::Statement& row) {
             read.emplace_back(row.getColumn(0).getString(), row.getColumn(1).getInt64());
           });
      EXPECT_EQ(read, called);
    }
  }
}

// FSDP2's layers wait for their parameters, and its backward for the gradients: no operation runs meanwhile.
TEST_P(torch_versions, TheCommunicationOfFsdp2IsExposed) {
  ASSERT_NO_FATAL_FAILURE(read("fsdp2"));
  for (const std::string rank : {"0", "1"}) {
    SCOPED_TRACE("rank " + rank);
    const std::vector<StepTimes> times =
        times_of(fs::path(VERSIONS_FOLDER) / GetParam() / "fsdp2" / ("rank" + rank + ".json.gz"));
    std::size_t i = 0;
    rows("SELECT communication_ns, exposed_ns FROM step st JOIN shard s ON s.id = st.shard_id WHERE s.rank = " + rank +
             " ORDER BY st.step",
         [&](SQLite::Statement& row) {
           ASSERT_LT(i, times.size());
           EXPECT_EQ(times[i].overlapped_ns, 0);
           EXPECT_LE(std::abs(row.getColumn(0).getInt64() - times[i].communication_ns), rounding_ns);
           EXPECT_LE(std::abs(row.getColumn(1).getInt64() - times[i].communication_ns), rounding_ns);
           ++i;
         });
    EXPECT_EQ(i, times.size());
  }
}

INSTANTIATE_TEST_SUITE_P(torch, torch_versions, testing::ValuesIn(versions()),
                         [](const testing::TestParamInfo<std::string>& tested) {
                           std::string name = tested.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace ddpprof::import
