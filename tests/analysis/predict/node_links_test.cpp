// Links between nodes that no measurement shows: the answer covers usual links until a link is named, and a prediction
// far beyond the data is not narrower than the errors of published tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "analysis/fit/table/learned.hpp"
#include "analysis/predict/predict.hpp"
#include "analysis/predict/predictor.hpp"
#include "tests/analysis/fit/synthetic.hpp"

namespace ddpprof::fit {
namespace {

using collective::parse_node_links;
using synthetic::TemporaryDatabase;
using synthetic::Truth;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// GPUs of one node with fast links inside it, whose backward hides little.
Truth one_node() {
  Truth truth;
  truth.nccl = true;
  truth.alpha_s = 4e-6;
  truth.beta_s_per_byte = 1.0 / 200e9;
  truth.copy_back_s_per_byte = 0.0;
  truth.bucket_bytes = {4 << 20, 25 << 20, 100 << 20};
  return truth;
}

// The same ranks where every byte crosses a link of this rate.
double step_over_s(double bytes_per_s, std::int64_t workers) {
  Truth truth = one_node();
  truth.beta_s_per_byte = 1.0 / bytes_per_s;
  truth.alpha_s = 6e-6;
  return synthetic::true_step_s(truth, workers);
}

class NodeLinksTest : public testing::Test {
 protected:
  NodeLinksTest() : database_("node-links") { synthetic::add_ddp(database_.get(), one_node(), {1, 2, 4}, 1); }

  Prediction at(std::int64_t workers, std::int64_t gpus_per_node, const std::string& link = "usual") {
    PredictOptions options;
    options.workers = {workers};
    options.gpus_per_node = gpus_per_node;
    options.inter_node = parse_node_links(link);
    return predict_all(database_.get(), options).predictions.at(0);
  }

  TemporaryDatabase database_;
};

TEST(NodeLinks, AreReadFromText) {
  const NodeLinks ethernet = parse_node_links("100Gbit/s"), four = parse_node_links("4x100Gbit/s");
  EXPECT_LT(ethernet.most_bytes_per_s, 12.5e9);
  EXPECT_GT(ethernet.most_bytes_per_s, 0.9 * 12.5e9);
  EXPECT_DOUBLE_EQ(four.most_bytes_per_s, 4.0 * ethernet.most_bytes_per_s);
  EXPECT_DOUBLE_EQ(parse_node_links("12.5GB/s").least_bytes_per_s, ethernet.least_bytes_per_s);
  EXPECT_DOUBLE_EQ(parse_node_links("ndr").most_bytes_per_s, 50e9) << "400 Gbit/s";
  EXPECT_DOUBLE_EQ(parse_node_links("hdr").most_bytes_per_s, 25e9) << "200 Gbit/s";
  EXPECT_TRUE(ethernet.named());
  const NodeLinks usual = parse_node_links("usual");
  EXPECT_FALSE(usual.named());
  EXPECT_EQ(usual.most_bytes_per_s, parse_node_links("8xndr").most_bytes_per_s);
  EXPECT_EQ(usual.least_bytes_per_s, parse_node_links("25Gbit/s").least_bytes_per_s);
  for (const char* wrong : {"", "100", "fast", "0x100Gbit/s", "-1Gbit/s", "8x", "65xndr", "100Gbit/sec", "NDR"})
    EXPECT_THROW(parse_node_links(wrong), std::invalid_argument) << wrong;
}

TEST_F(NodeLinksTest, SixtyFourGpusOnEightNodesAreNotSixtyFourOnOne) {
  const Prediction one = at(64, 64), eight = at(64, 8);
  EXPECT_THAT(one.note, Not(HasSubstr("between nodes")));
  EXPECT_THAT(eight.note, StartsWith("links between nodes were not measured: the interval spans 25 Gbit/s Ethernet to "
                                     "8 × 400 Gbit/s InfiniBand per node"));
  EXPECT_GT(eight.step_s, 1.05 * one.step_s);
  EXPECT_NE(at(64, 4).step_s, eight.step_s);
  EXPECT_EQ(unmeasured_links(eight).find(';'), std::string::npos);
  EXPECT_EQ(unmeasured_links(one), "");
}

TEST_F(NodeLinksTest, TheIntervalHoldsUsualLinks) {
  const Prediction row = at(64, 8);
  // A quarter of 25 Gbit/s, as cloud instances reach, up to 8 NDR links.
  for (const double bytes_per_s : {0.8e9, 3e9, 10e9, 45e9, 390e9}) {
    const double true_s = step_over_s(std::min(bytes_per_s, 200e9), 64);
    EXPECT_LE(row.step_low_s, true_s) << bytes_per_s;
    EXPECT_GE(row.step_high_s, true_s) << bytes_per_s;
  }
}

TEST_F(NodeLinksTest, NamingALinkNarrowsTheInterval) {
  const auto width = [](const Prediction& row) { return std::log(row.step_high_s / row.step_low_s); };
  const Prediction usual = at(16, 8), ethernet = at(16, 8, "100Gbit/s"), ndr = at(16, 8, "8xndr");
  EXPECT_LT(width(ethernet), 0.8 * width(usual));
  EXPECT_LT(width(ndr), 0.5 * width(usual));
  EXPECT_LT(ndr.step_s, ethernet.step_s);
  EXPECT_THAT(ethernet.note, StartsWith("links between nodes were not measured: the interval assumes 100Gbit/s per "
                                        "node, of which all-reduces reach"));
  for (const double share : {0.25, 0.9}) {
    EXPECT_LE(ethernet.step_low_s, step_over_s(share * 12.5e9, 16)) << share;
    EXPECT_GE(ethernet.step_high_s, step_over_s(share * 12.5e9, 16)) << share;
  }
  EXPECT_GE(ethernet.step_low_s, usual.step_low_s);
  EXPECT_LE(ethernet.step_high_s, usual.step_high_s);
}

// The range of a link's rates contains what the fit of other links does not explain: it is not added a second time.
TEST(NodeLinks, AnUncertainFitOfOtherLinksDoesNotWidenTheRange) {
  Truth truth = one_node();
  truth.alpha_s = 1e-3;
  truth.latency_exponent = 1.6;  // no ring explains it
  TemporaryDatabase database("node-links-misfit");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  PredictOptions options;
  options.workers = {1, 16};
  options.gpus_per_node = 8;
  options.inter_node = parse_node_links("25Gbit/s");
  const std::vector<Prediction> rows = predict_all(database.get(), options).predictions;
  ASSERT_EQ(rows.size(), 2U);
  const double bytes = (4 << 20) + (25 << 20) + (100 << 20);
  const double slowest_s = rows.at(0).step_s + 2.0 * 15.0 / 16.0 * bytes / options.inter_node.least_bytes_per_s;
  EXPECT_GT(rows.at(1).step_high_s, slowest_s);
  EXPECT_LT(rows.at(1).step_high_s, 1.35 * slowest_s);
}

// A host with more GPUs than 8 is rare, so without a number of GPUs per node N = 16 needs two nodes.
TEST_F(NodeLinksTest, EightGpusPerNodeAreAssumed) {
  EXPECT_THAT(at(8, 0).note, Not(HasSubstr("between nodes")));
  const Prediction row = at(16, 0), given = at(16, 8);
  EXPECT_THAT(row.note, HasSubstr("8 GPUs per node are assumed"));
  EXPECT_EQ(row.step_s, given.step_s);
  EXPECT_EQ(row.step_high_s, given.step_high_s);
}

TEST_F(NodeLinksTest, TheNotesBeginWithTheLinks) {
  PredictOptions options;
  options.workers = {4, 16, 64};
  options.gpus_per_node = 8;
  const std::vector<Note> notes = predict_all(database_.get(), options).notes;
  ASSERT_FALSE(notes.empty());
  EXPECT_EQ(notes.front().code, "links_not_measured");
  EXPECT_EQ(notes.front().severity, "warning");
  EXPECT_THAT(notes.front().message, HasSubstr("ddp at N = 16, 64: "));
  EXPECT_THAT(notes.front().advice, HasSubstr("--inter-node"));
  for (const Note& note : notes) EXPECT_NE(note.code, "measure_next") << "no run on one node narrows it";
}

TEST_F(NodeLinksTest, AChangeIsComparedOverTheSameLinks) {
  PredictOptions options;
  options.workers = {16};
  options.gpus_per_node = 8;
  const std::vector<std::string> half = {"compression=fp16"}, value = {"bandwidth=10GB/s", "latency=20us"};
  options.what_if = parse_what_if(half);
  const WhatIfRow row = predict_all(database_.get(), options).what_ifs.at(0);
  // Half the bytes save nearly half of the step at 1.5 Gbit/s, and little over fast links.
  EXPECT_GT(row.speedup_high, 1.7);
  EXPECT_LT(row.speedup_low, 1.2);
  EXPECT_GT(row.changed_high_s / row.changed_low_s, 3.0);
  options.what_if = parse_what_if(value);
  const WhatIfRow known = predict_all(database_.get(), options).what_ifs.at(0);
  EXPECT_LT(known.changed_high_s / known.changed_low_s, 1.5) << "the value replaces the range";
  EXPECT_NEAR(known.changed_step_s / step_over_s(10e9, 16), 1.0, 0.1);
}

// Hosts whose links were measured keep their prediction, whatever link is named.
TEST(NodeLinks, AreNotUsedWhereLinksWereMeasured) {
  for (const bool nccl : {true, false}) {
    Truth truth = one_node();
    truth.nccl = nccl;
    truth.own_hosts = true;
    TemporaryDatabase database(nccl ? "node-links-measured-nccl" : "node-links-measured-gloo");
    synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
    PredictOptions options;
    options.workers = {8, 64};
    const auto usual = predict_all(database.get(), options).predictions;
    options.inter_node = parse_node_links("25Gbit/s");
    const auto named = predict_all(database.get(), options).predictions;
    for (std::size_t i = 0; i < usual.size(); ++i) {
      EXPECT_EQ(usual[i].step_s, named[i].step_s);
      EXPECT_EQ(usual[i].step_high_s, named[i].step_high_s);
      EXPECT_THAT(usual[i].note, Not(HasSubstr("between nodes")));
    }
  }
}

// Ranks on one CPU host stay on it unless hosts are asked for.
TEST(NodeLinks, RanksOfACpuShareOneHost) {
  Truth truth;
  truth.cores = 2;
  TemporaryDatabase database("node-links-cpu");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  PredictOptions options;
  options.workers = {16};
  EXPECT_THAT(predict_all(database.get(), options).predictions.at(0).note, Not(HasSubstr("between nodes")));
  options.gpus_per_node = 1;
  EXPECT_THAT(predict_all(database.get(), options).predictions.at(0).note, StartsWith(links_not_measured));
}

// learned.hpp has the errors of families that were left out.
TEST(FarBeyond, TheIntervalIsAsWideAsTheErrorsOfPublishedTables) {
  Truth truth = one_node();
  truth.own_hosts = true;  // links measured
  TemporaryDatabase database("far-beyond");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  PredictOptions options;
  options.workers = {32, 64, 512};
  const auto rows = predict_all(database.get(), options).predictions;
  const auto least_high = [&](const Prediction& row) {
    const GrowthQuestion question{Region::several_nodes, std::log2(static_cast<double>(row.world_size) / 4.0), 0.0};
    const Growth growth = growth_of(question, learned_constants.growth, options.confidence);
    return std::exp(growth.high - growth.mean);
  };
  EXPECT_THAT(rows[0].note, Not(HasSubstr("published scaling tables"))) << "8 times the largest measured N";
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_THAT(rows[i].note, HasSubstr("published scaling tables"));
    EXPECT_GE(rows[i].step_high_s, rows[i].step_s * least_high(rows[i]));
    EXPECT_LT(rows[i].step_low_s, rows[i].step_s);
  }
  EXPECT_GT(least_high(rows[2]), least_high(rows[1]));
}

// The times of a ring over one link, 1 KiB to 256 MiB.
collective::Curve curve_of(const Truth& truth, std::int64_t ranks, std::int64_t hosts) {
  std::vector<collective::SizeTime> times;
  for (double bytes = 1 << 10; bytes <= 256 << 20; bytes *= 4.0) {
    const auto n = static_cast<double>(ranks);
    times.push_back({bytes, 2.0 * (n - 1.0) * (truth.alpha_s + bytes / n * truth.beta_s_per_byte)});
  }
  return {ranks, times, hosts};
}

// All all-reduces were measured between nodes, by a log or by the job. The question is about one node, whose links may
// be faster.
TEST(LinksInsideANode, MayBeFasterThanMeasuredLinksBetweenNodes) {
  Truth across = one_node();
  across.alpha_s = 30e-6;
  across.beta_s_per_byte = 1.0 / 10e9;
  across.own_hosts = true;
  PredictOptions options;
  options.gpus_per_node = 8;
  options.workers = {8, 16};
  for (const bool log : {true, false}) {
    TemporaryDatabase database("links-inside");
    synthetic::add_ddp(database.get(), across, log ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{1, 2, 4},
                       1);
    options.all_reduce.clear();
    if (log) options.all_reduce = {curve_of(across, 16, 2)};
    const PredictResult result = predict_all(database.get(), options);
    const Prediction &one = result.predictions.at(0), &two = result.predictions.at(1);
    for (const Truth& truth : {across, one_node()}) {
      EXPECT_LE(one.step_low_s, synthetic::true_step_s(truth, 8)) << log;
      EXPECT_GE(one.step_high_s, synthetic::true_step_s(truth, 8)) << log;
    }
    EXPECT_THAT(one.note, StartsWith("links inside a node were not measured: the interval goes from"));
    EXPECT_EQ(unmeasured_inside_links(two), "");
    EXPECT_EQ(result.notes.front().code, "links_not_measured");
    EXPECT_THAT(result.notes.front().message, StartsWith("ddp at N = 8: links inside a node"));
    if (!log) continue;
    options.all_reduce.push_back(curve_of(one_node(), 8, 1));
    const Prediction known = predict_all(database.get(), options).predictions.at(0);
    EXPECT_EQ(unmeasured_inside_links(known), "");
    EXPECT_NEAR(known.step_s / synthetic::true_step_s(one_node(), 8), 1.0, 0.02);
  }
}

// A log whose ranks fit on one host has not measured the links between hosts, whether it names its hosts or not.
TEST_F(NodeLinksTest, ALogWithoutHostsIsOfOneHostIfItsRanksFit) {
  const auto predicted = [&](std::int64_t ranks, std::int64_t hosts, const std::string& link = "usual") {
    PredictOptions options;
    options.workers = {8, 16, 64};
    options.gpus_per_node = 8;
    options.inter_node = parse_node_links(link);
    options.all_reduce = {curve_of(one_node(), ranks, hosts)};
    return predict_all(database_.get(), options);
  };
  const auto has = [](const PredictResult& result, const std::string& text) {
    return std::ranges::any_of(result.notes,
                               [&](const Note& note) { return note.message.find(text) != std::string::npos; });
  };
  const PredictResult named = predicted(8, 1), unnamed = predicted(8, 0), ethernet = predicted(8, 0, "25Gbit/s");
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(unnamed.predictions.at(i).step_s, named.predictions.at(i).step_s);
    EXPECT_EQ(unnamed.predictions.at(i).step_high_s, named.predictions.at(i).step_high_s);
  }
  EXPECT_GT(unnamed.predictions.at(1).step_high_s, 1.5 * unnamed.predictions.at(0).step_s);
  EXPECT_EQ(unnamed.notes.front().code, "links_not_measured");
  EXPECT_THAT(unnamed.notes.front().message, HasSubstr("N = 16, 64"));
  EXPECT_TRUE(has(unnamed, "one host is assumed"));
  EXPECT_FALSE(has(named, "one host is assumed"));
  EXPECT_GT(ethernet.predictions.at(1).step_s, unnamed.predictions.at(1).step_s) << "the named link is used";
  EXPECT_FALSE(has(ethernet, "is not used"));

  const PredictResult large = predicted(16, 0, "25Gbit/s");
  EXPECT_TRUE(has(large, "its times are used inside a host and across hosts"));
  EXPECT_TRUE(has(large, "is not used: the log of all-reduces does not name its hosts"));
  EXPECT_TRUE(has(predicted(16, 2, "25Gbit/s"), "is not used: the links between nodes were measured"));
}

// The job has measured the links inside its node. A log between nodes says nothing about them. All messages have one
// size, so that latency and bandwidth are not separable, and the log's latency is not that of the node.
TEST(LinksInsideANode, OfTheJobAreNotChangedByALogBetweenNodes) {
  Truth truth = one_node();
  truth.bucket_bytes = {64 << 20, 64 << 20, 64 << 20};
  TemporaryDatabase database("links-of-the-job");
  synthetic::add_ddp(database.get(), truth, {1, 2}, 1);
  PredictOptions options;
  options.gpus_per_node = 8;
  options.workers = {2, 4, 8};
  const PredictResult without = predict_all(database.get(), options);
  for (const std::int64_t per_host : {4, 8}) {
    Truth across = truth;
    across.alpha_s = 1e-3;
    across.beta_s_per_byte = 1.0 / 10e9;
    options.all_reduce = {curve_of(across, 2 * per_host, 2)};
    const PredictResult with = predict_all(database.get(), options);
    for (std::size_t i = 0; i < 3; ++i) {
      const Prediction &row = with.predictions.at(i), &other = without.predictions.at(i);
      EXPECT_NEAR(row.communication_s / other.communication_s, 1.0, 1e-3) << row.world_size;
      EXPECT_NEAR(row.step_s / other.step_s, 1.0, 1e-3) << row.world_size;
      EXPECT_EQ(unmeasured_inside_links(row), "");
    }
  }
}

// A ring across hosts also uses the links inside each host, so it cannot be faster than these.
TEST(LinksInsideANode, SlowerThanALogBetweenNodesGiveAWarning) {
  Truth truth = one_node();
  truth.beta_s_per_byte = 1.0 / 5e9;
  TemporaryDatabase database("links-slower");
  synthetic::add_ddp(database.get(), truth, {1, 2}, 1);
  PredictOptions options;
  options.gpus_per_node = 8;
  options.workers = {2, 8, 64};
  for (const double rate : {40e9, 4e9}) {
    Truth across = truth;
    across.alpha_s = 20e-6;
    across.beta_s_per_byte = 1.0 / rate;
    options.all_reduce = {curve_of(across, 64, 8)};
    const auto warning = testing::Contains(
        testing::Field(&Note::message, HasSubstr("times the time that the log between hosts has for as many ranks")));
    const PredictResult result = predict_all(database.get(), options);
    if (rate > 5e9) {
      EXPECT_THAT(result.notes, warning);
    } else {
      EXPECT_THAT(result.notes, Not(warning));
    }
  }
}

}  // namespace
}  // namespace ddpprof::fit
