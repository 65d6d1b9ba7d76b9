// Why the TensorBoard plugin's distributed view shows another overlap than the intervals have.
//
// Its rule (torch-tb-profiler 0.4.3, event_parser.py and overall_parser.py): communication is each range, of the host
// or of a GPU's annotations, named nccl:all_reduce, nccl:broadcast, …, and each kernel whose "External id" is that of
// such a range. Every other kernel is computation. The overlap is the intersection of both. In these traces no kernel
// has such an id: in the A100's trace, NCCL's kernels have the id of record_param_comms, the operation inside the
// range. So they count as computation, and overlap with their own annotation. The plugin moves the steps' ends to the
// last event that they launched; in these steps this is the annotated end.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/import/bytes/byte_source.hpp"

namespace ddpprof::import {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Interval {
  double start_us = 0, end_us = 0;
};
using Intervals = std::vector<Interval>;

Intervals united(Intervals any) {
  std::ranges::sort(any, {}, &Interval::start_us);
  Intervals result;
  for (const Interval& one : any) {
    if (!result.empty() && one.start_us <= result.back().end_us)
      result.back().end_us = std::max(result.back().end_us, one.end_us);
    else
      result.push_back(one);
  }
  return result;
}

Intervals common(const Intervals& a, const Intervals& b) {
  Intervals result;
  for (const Interval& x : a)
    for (const Interval& y : b) {
      const Interval part{std::max(x.start_us, y.start_us), std::min(x.end_us, y.end_us)};
      if (part.start_us < part.end_us) result.push_back(part);
    }
  return united(std::move(result));
}

double total_us(const Intervals& set) {
  double sum = 0;
  for (const Interval& one : set) sum += one.end_us - one.start_us;
  return sum;
}

json events_of(const fs::path& file) {
  const auto source = open_bytes(file);
  std::string text;
  std::vector<std::byte> block(1 << 20);
  while (const std::size_t count = source->read(block)) text.append(reinterpret_cast<const char*>(block.data()), count);
  return json::parse(text).at("traceEvents");
}

struct Figures {
  std::size_t found_by_id = 0;           // kernels that the plugin counts as communication
  double plugin_us = 0, overlap_us = 0;  // of the step: by the plugin's rule, and of NCCL's kernels with all others
};

Figures figures_of(const fs::path& file, const std::string& step_name) {
  static const std::set<std::string> ops{"nccl:broadcast", "nccl:reduce", "nccl:all_reduce", "nccl:all_gather",
                                         "nccl:reduce_scatter"};
  const json events = events_of(file);
  const auto id_of = [](const json& event) {
    const json arguments = event.value("args", json::object());
    return arguments.contains("External id") ? arguments["External id"].get<std::int64_t>() : std::int64_t{-1};
  };
  const auto time_of = [](const json& event) {
    const double start_us = event["ts"].get<double>();
    return Interval{start_us, start_us + event["dur"].get<double>()};
  };
  std::set<std::int64_t> annotated;
  Intervals plugin_communication, plugin_computation, communication, compute, step;
  for (const json& event : events) {
    if (event.value("ph", "") != "X") continue;
    const std::string category = event.value("cat", ""), name = event.value("name", "");
    if (category != "kernel" && ops.contains(name)) {
      annotated.insert(id_of(event));
      plugin_communication.push_back(time_of(event));
    }
    if (category == "user_annotation" && name == step_name) step.push_back(time_of(event));
  }
  Figures figures;
  for (const json& event : events) {
    if (event.value("ph", "") != "X" || event.value("cat", "") != "kernel") continue;
    const bool found = annotated.contains(id_of(event));
    figures.found_by_id += found ? 1 : 0;
    (found ? plugin_communication : plugin_computation).push_back(time_of(event));
    (event["name"].get<std::string>().find("nccl") != std::string::npos ? communication : compute)
        .push_back(time_of(event));
  }
  EXPECT_EQ(step.size(), 1U) << step_name;
  const auto overlap_us = [&](const Intervals& a, const Intervals& b) {
    return total_us(common(common(united(a), step), common(united(b), step)));
  };
  figures.plugin_us = overlap_us(plugin_computation, plugin_communication);
  figures.overlap_us = overlap_us(compute, communication);
  return figures;
}

class TensorBoardFigures : public testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("DDPPROF_DATA_DIR");
    if (!folder || !fs::exists(fs::path(folder) / "traces")) GTEST_SKIP() << "DDPPROF_DATA_DIR holds no traces";
    traces_ = fs::path(folder) / "traces";
  }
  fs::path traces_;
};

TEST_F(TensorBoardFigures, OverlapOfNcclsKernelsWithTheirOwnAnnotations) {
  const Figures a100 = figures_of(traces_ / "a100_ddp_rank0of2.json.gz", "ProfilerStep#4");
  EXPECT_EQ(a100.found_by_id, 0U);
  EXPECT_NEAR(a100.plugin_us, 12'085.0, 0.5) << "the plugin's value";
  EXPECT_NEAR(a100.overlap_us, 1'825.3, 0.5) << "the intervals' value";
}

// This trace has no GPU annotations: the host's launches of all-reduces overlap kernels.
TEST_F(TensorBoardFigures, OverlapOfTheHostsAnnotationsWhereNothingOverlaps) {
  const Figures v100 = figures_of(traces_ / "v100_ddp_rank1of2.json.gz", "ProfilerStep#2");
  EXPECT_EQ(v100.found_by_id, 0U);
  EXPECT_EQ(v100.plugin_us, 13'397.0);
  EXPECT_EQ(v100.overlap_us, 0.0);
}

}  // namespace
}  // namespace ddpprof::import
