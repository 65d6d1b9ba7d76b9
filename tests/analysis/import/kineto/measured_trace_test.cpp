// Traces recorded on V100s and A100s, compared with the values supplied with them and, to the nanosecond, with
// independent interval arithmetic on the file's decimals.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/analysis/import/load/imported.hpp"

namespace ddpprof::import {
namespace {

std::optional<std::filesystem::path> trace_folder() {
  const char* folder = std::getenv("DDPPROF_DATA_DIR");
  if (folder == nullptr) return std::nullopt;
  const std::filesystem::path traces = std::filesystem::path(folder) / "traces";
  return std::filesystem::exists(traces / "expected_kineto.csv") ? std::optional(traces) : std::nullopt;
}

// Converts microseconds such as "4458676522690.655" to nanoseconds, digit by digit.
std::int64_t nanoseconds_of(const std::string& text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  std::string digits = text.substr(0, point) + (text.substr(std::min(point + 1, text.size())) + "000").substr(0, 3);
  EXPECT_LE(text.size(), point + 4) << text << " has digits below the nanosecond";
  return std::stoll(digits);
}

struct Interval {
  std::int64_t begin_ns = 0, end_ns = 0;
};

// Intervals of each kind and step windows, read by a JSON parser that keeps numbers as written.
class Reference : public nlohmann::json_sax<nlohmann::json> {
 public:
  enum Kind { compute, communication, memory };
  std::array<std::vector<Interval>, 3> intervals;
  std::map<std::string, Interval> steps;
  std::int64_t nccl_kernels = 0;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return value_is(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return value_is(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return value_is(text); }
  bool string(string_t& text) override { return value_is(text); }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    if (++depth_ == 3) event_.clear();
    return true;
  }
  bool key(string_t& name) override {
    if (depth_ == 3) key_ = name;
    return true;
  }
  bool end_object() override {
    if (depth_-- == 3) take();
    return true;
  }
  bool start_array(std::size_t) override {
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    ADD_FAILURE() << error.what();
    return false;
  }

 private:
  bool value_is(const std::string& text) {
    if (depth_ == 3) event_[key_] = text;
    return true;
  }
  void take() {
    if (event_["ph"] != "X") return;
    std::string category = event_["cat"];
    std::transform(category.begin(), category.end(), category.begin(), [](unsigned char c) { return std::tolower(c); });
    const std::int64_t begin_ns = nanoseconds_of(event_["ts"]);
    const Interval interval{begin_ns, begin_ns + nanoseconds_of(event_["dur"])};
    if (category == "kernel") {
      const bool nccl = event_["name"].find("nccl") != std::string::npos;
      nccl_kernels += nccl ? 1 : 0;
      intervals[nccl ? communication : compute].push_back(interval);
    } else if (category == "gpu_memcpy" || category == "gpu_memset" || category == "memcpy" || category == "memset") {
      intervals[memory].push_back(interval);
    } else if (event_["name"].starts_with("ProfilerStep#") && category != "gpu_user_annotation") {
      steps[event_["name"]] = interval;
    }
  }

  int depth_ = 0;
  std::string key_;
  std::map<std::string, std::string> event_;
};

// Returns disjoint intervals in order.
std::vector<Interval> joined(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
  std::vector<Interval> result;
  for (const Interval& interval : intervals)
    if (!result.empty() && interval.begin_ns <= result.back().end_ns)
      result.back().end_ns = std::max(result.back().end_ns, interval.end_ns);
    else
      result.push_back(interval);
  return result;
}

std::vector<Interval> common(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::vector<Interval> result;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size(); a[i].end_ns < b[j].end_ns ? ++i : ++j)
    if (const Interval both{std::max(a[i].begin_ns, b[j].begin_ns), std::min(a[i].end_ns, b[j].end_ns)};
        both.begin_ns < both.end_ns)
      result.push_back(both);
  return result;
}

std::int64_t length_ns(const std::vector<Interval>& intervals) {
  std::int64_t sum = 0;
  for (const Interval& interval : intervals) sum += interval.end_ns - interval.begin_ns;
  return sum;
}

class MeasuredTraces : public testing::TestWithParam<std::string> {};

TEST_P(MeasuredTraces, AgreeWithIntervalArithmeticToTheNanosecond) {
  const auto folder = trace_folder();
  if (!folder) GTEST_SKIP() << "DDPPROF_DATA_DIR holds no traces";
  std::string text, piece(std::size_t{1} << 20, '\0');
  const auto source = open_bytes(*folder / GetParam());
  while (const std::size_t got = source->read(std::as_writable_bytes(std::span<char>(piece))))
    text.append(piece, 0, got);
  Reference reference;
  ASSERT_TRUE(nlohmann::json::sax_parse(text, &reference));
  std::vector<Interval> all;
  for (std::vector<Interval>& kind : reference.intervals) {
    all.insert(all.end(), kind.begin(), kind.end());
    kind = joined(kind);
  }
  all = joined(all);
  std::map<std::string, Interval> windows = reference.steps;
  windows["all"] = {all.front().begin_ns, all.back().end_ns};

  const Folder place;
  ImportOptions options;
  options.keep_raw = false;
  const Imported imported = import_files(place, {*folder / GetParam()}, options);
  ASSERT_EQ(imported.error, "");
  ASSERT_EQ(imported.totals.size(), 1U);
  const std::map<std::string, DeviceTotals>& found = imported.totals.begin()->second;
  EXPECT_EQ(found.size(), windows.size());
  for (const auto& [name, window] : windows) {
    const auto within = [&](const std::vector<Interval>& intervals) { return common(intervals, {window}); };
    const auto compute = within(reference.intervals[Reference::compute]),
               communication = within(reference.intervals[Reference::communication]);
    ASSERT_TRUE(found.contains(name)) << name;
    const DeviceTotals& totals = found.at(name);
    EXPECT_EQ(totals.span_ns, window.end_ns - window.begin_ns) << name;
    EXPECT_EQ(totals.compute_ns, length_ns(compute)) << name;
    EXPECT_EQ(totals.communication_ns, length_ns(communication)) << name;
    EXPECT_EQ(totals.memory_ns, length_ns(within(reference.intervals[Reference::memory]))) << name;
    EXPECT_EQ(totals.overlapped_ns, length_ns(common(compute, communication))) << name;
    EXPECT_EQ(totals.busy_ns, length_ns(within(all))) << name;
  }
  EXPECT_EQ(found.at("all").collective_kernels, reference.nccl_kernels);

  // Devices wait for launches where no interval is, within the steps of the device. Neither job waits for data.
  store::Database database = store::Database::open_read(place.path() / "imported.db");
  SQLite::Statement steps(database.sql(), "SELECT start_ns, duration_ns, device_idle_ns, data_wait_ns FROM step");
  int count = 0;
  for (; steps.executeStep(); ++count) {
    const std::int64_t start_ns = steps.getColumn(0).getInt64(), duration_ns = steps.getColumn(1).getInt64();
    EXPECT_EQ(steps.getColumn(3).getInt64(), 0);
    const std::int64_t without_ns = duration_ns - length_ns(common(all, {{start_ns, start_ns + duration_ns}}));
    EXPECT_LE(steps.getColumn(2).getInt64(), without_ns) << "pauses of a full queue are no waits for launches";
    EXPECT_GE(steps.getColumn(2).getInt64(), without_ns / 2);
  }
  EXPECT_GT(count, 2);
}

// The supplied values were computed in microseconds with doubles: exact if times are whole microseconds, as on the
// V100.
TEST_P(MeasuredTraces, AgreeWithTheFiguresGivenWithThem) {
  const auto folder = trace_folder();
  if (!folder) GTEST_SKIP() << "DDPPROF_DATA_DIR holds no traces";
  const bool whole = GetParam().starts_with("v100");
  const Folder place;
  ImportOptions options;
  options.keep_raw = false;
  const Imported imported = import_files(place, {*folder / GetParam()}, options);
  ASSERT_EQ(imported.error, "");
  std::ifstream file(*folder / "expected_kineto.csv");
  std::string line;
  const auto next = [&] {
    const bool found = static_cast<bool>(std::getline(file, line));
    if (line.ends_with('\r')) line.pop_back();
    return found;
  };
  next();
  ASSERT_EQ(line,
            "file,rank,step,span_us,compute_us,comm_us,mem_us,overlap_us,exposed_comm_us,gpu_idle_us,"
            "overlap_pct_of_comm,nccl_kernels");
  int rows = 0;
  while (next()) {
    std::istringstream cells(line);
    std::vector<std::string> cell(12);
    for (std::string& each : cell) std::getline(cells, each, ',');
    if (cell[0] != GetParam()) continue;
    ++rows;
    const DeviceTotals& totals = imported.totals.at(std::stoll(cell[1])).at(cell[2]);
    const std::int64_t found[] = {totals.span_ns,
                                  totals.compute_ns,
                                  totals.communication_ns,
                                  totals.memory_ns,
                                  totals.overlapped_ns,
                                  totals.communication_ns - totals.overlapped_ns,
                                  totals.span_ns - totals.busy_ns};
    for (std::size_t i = 0; i < std::size(found); ++i)
      EXPECT_LE(std::abs(found[i] - nanoseconds_of(cell[i + 3])), whole ? 0 : 100) << cell[2] << " column " << i + 3;
    EXPECT_EQ(totals.collective_kernels, std::stoll(cell[11])) << cell[2];
  }
  EXPECT_EQ(rows, whole ? 6 : 4);
}

INSTANTIATE_TEST_SUITE_P(Kineto, MeasuredTraces,
                         testing::Values("v100_ddp_rank1of2.json.gz", "a100_ddp_rank0of2.json.gz"),
                         [](const auto& tested) { return tested.param.substr(0, 4); });

}  // namespace
}  // namespace ddpprof::import
