// The simulated step as lanes: it adds up to the prediction, and small cases lie where the equations put them.
#include "analysis/predict/lanes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "tests/analysis/fit/synthetic.hpp"

namespace ddpprof::fit {
namespace {

using step::Lane;
using step::Segment;
using step::SegmentKind;
using step::StepLanes;
using synthetic::TemporaryDatabase;
using synthetic::Truth;

double compute_s(const StepLanes& lanes) {
  return total_s(lanes, SegmentKind::forward) + total_s(lanes, SegmentKind::backward) +
         total_s(lanes, SegmentKind::optimizer) + total_s(lanes, SegmentKind::own_copy);
}

void expect_whole(const StepLanes& lanes) {
  ASSERT_FALSE(lanes.lanes.empty());
  double at_s = 0.0;
  for (const Segment& segment : lanes.lanes.front().segments) {
    EXPECT_EQ(segment.begin_s, at_s) << segment.name;
    EXPECT_GT(segment.end_s, segment.begin_s) << segment.name;
    at_s = segment.end_s;
  }
  EXPECT_EQ(at_s, lanes.step_s);
  for (const Lane& lane : lanes.lanes) {
    for (std::size_t i = 0; i < lane.segments.size(); ++i) {
      EXPECT_GE(lane.segments[i].begin_s, 0.0) << lane.name;
      EXPECT_LE(lane.segments[i].end_s, lanes.step_s * (1.0 + 1e-12)) << lane.name;
      if (i > 0 && !is_moment(lane.segments[i].kind)) {
        EXPECT_GE(lane.segments[i].begin_s, lane.segments[i - 1].end_s - 1e-12) << lane.name;
      }
    }
  }
}

// Time in which at least one lane other than the first has a segment of the kind.
double united_s(const StepLanes& lanes, SegmentKind kind) {
  std::vector<std::pair<double, double>> found;
  for (std::size_t i = 1; i < lanes.lanes.size(); ++i)
    for (const Segment& segment : lanes.lanes[i].segments)
      if (segment.kind == kind) found.emplace_back(segment.begin_s, segment.end_s);
  std::sort(found.begin(), found.end());
  double sum_s = 0.0, reached_s = 0.0;
  for (const auto& [begin_s, end_s] : found) {
    sum_s += std::max(0.0, end_s - std::max(begin_s, reached_s));
    reached_s = std::max(reached_s, end_s);
  }
  return sum_s;
}

const Lane* find(const StepLanes& lanes, const std::string& name) {
  const auto found =
      std::find_if(lanes.lanes.begin(), lanes.lanes.end(), [&](const Lane& lane) { return lane.name == name; });
  return found == lanes.lanes.end() ? nullptr : &*found;
}

void expect_segment(const Segment& segment, const std::string& name, SegmentKind kind, double begin_s, double end_s) {
  EXPECT_EQ(segment.name, name);
  EXPECT_EQ(to_string(segment.kind), to_string(kind)) << name;
  EXPECT_NEAR(segment.begin_s, begin_s, 1e-12) << name;
  EXPECT_NEAR(segment.end_s, end_s, 1e-12) << name;
}

TEST(SimulatedLanes, PhasesIncludeTheWaitForLaunches) {
  Truth truth;
  truth.nccl = true;
  truth.idle_share = 0.6;
  TemporaryDatabase database("lanes-host");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 3);
  const auto models = std::make_shared<const Models>(fit_models(database.get()));
  const Predictor predictor = make_predictor(models, "ddp", {});
  for (const std::int64_t workers : {1, 3, 8, 64}) {
    const StepLanes lanes = simulated_lanes(predictor, workers);
    expect_whole(lanes);
    const Terms terms = simulated_step(predictor, workers).terms, measured = as_measured(terms);
    const double near_s = 1e-9 * lanes.step_s;
    EXPECT_GT(terms.host_s, 0.2 * lanes.step_s) << workers;
    EXPECT_NEAR(compute_s(lanes), terms.compute_s + terms.host_inside_s(), near_s) << workers;
    EXPECT_NEAR(lanes.host_in_compute_s + lanes.host_in_other_s, measured.host_s, near_s) << workers;
    EXPECT_NEAR(lanes.exposed_in_compute_s, measured.exposed_s - terms.exposed_s, near_s) << workers;
    EXPECT_NEAR(measured.step_s(), terms.step_s(), near_s) << workers;
  }
}

TEST(SimulatedLanes, AddUpToThePredictionAtAnyN) {
  for (const bool crowded : {false, true}) {
    Truth truth;
    truth.noise = 0.02;
    truth.own_hosts = !crowded;
    if (crowded) truth.cores = 2;
    TemporaryDatabase database(crowded ? "lanes-crowded" : "lanes-hosts");
    synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 3);
    synthetic::add_dp(database.get(), truth, {1, 2, 4}, 4);
    const auto models = std::make_shared<const Models>(fit_models(database.get()));
    PredictOptions options;
    options.draws = 20;
    options.gpus_per_node = crowded ? 0 : 1;
    for (const char* strategy : {"ddp", "dp"}) {
      const Predictor predictor = make_predictor(models, strategy, options);
      for (const std::int64_t workers : {1, 2, 3, 4, 8, 64, 4096}) {
        SCOPED_TRACE(std::string(strategy) + " N = " + std::to_string(workers));
        const StepLanes lanes = simulated_lanes(predictor, workers);
        expect_whole(lanes);
        const Terms terms = simulated_step(predictor, workers).terms;
        const double near_s = 1e-9 * lanes.step_s;
        EXPECT_EQ(lanes.step_s, predictor.central(workers).step_s());
        EXPECT_EQ(lanes.step_s, predictor.estimate(workers).terms.step_s());
        EXPECT_EQ(total_s(lanes, SegmentKind::not_modelled), 0.0);
        // If the parts' medians add up to more than the step, compute is shortened.
        const double rest_s = terms.other_s - terms.input_s;
        EXPECT_NEAR(compute_s(lanes), terms.compute_s + std::min(0.0, rest_s), near_s);
        EXPECT_NEAR(total_s(lanes, SegmentKind::other), std::max(0.0, rest_s), near_s);
        EXPECT_NEAR(total_s(lanes, SegmentKind::data), terms.input_s, near_s);
        EXPECT_NEAR(total_s(lanes, SegmentKind::skew), terms.skew_s, near_s);
        EXPECT_NEAR(total_s(lanes, SegmentKind::exposed) + total_s(lanes, SegmentKind::copies), terms.exposed_s,
                    near_s);
        // Without buffers to broadcast, the all-reduces' exposed parts are the thread's wait.
        EXPECT_NEAR(united_s(lanes, SegmentKind::exposed), total_s(lanes, SegmentKind::exposed), near_s);
        if (workers > 4) {
          // Beyond what was measured the model is the prediction.
          EXPECT_EQ(terms.exposed_s, predictor.estimate(workers).terms.exposed_s);
        }
        if (std::string(strategy) == "dp" && workers > 1) {
          const std::size_t replicas = static_cast<std::size_t>(std::min<std::int64_t>(workers, 8));
          EXPECT_EQ(lanes.lanes.size(), 1 + replicas);
        }
      }
    }
  }
}

// Hand-made: forward 40 ms, backward 80 ms, buckets ready after 40 and 80 ms whose all-reduces take 60 and 30 ms on
// one lane, the slowest rank 10 ms late. The first is in flight from 40 to 100 ms of the backward, the second to 130.
SimulatedStep two_buckets() {
  SimulatedStep simulated;
  simulated.strategy = "ddp";
  simulated.workers = 4;
  simulated.work.data_s = 0.001;
  simulated.work.forward_s = 0.04;
  simulated.work.backward_s = 0.08;
  simulated.work.optimizer_s = 0.004;
  simulated.work.buckets = {{0.04, {0.0, 0.06, 0.0}, 0.0, 0.0}, {0.08, {0.0, 0.03, 0.0}, 0.002, 0.0}};
  simulated.buckets = {{1 << 20, 0.04}, {2 << 20, 0.08}};
  simulated.result = step::simulate(simulated.work);
  simulated.gap_s = 0.003;
  simulated.terms.compute_s = 0.126;
  simulated.terms.exposed_s = 0.05;
  simulated.terms.skew_s = 0.01;
  simulated.terms.input_s = 0.001;
  simulated.terms.other_s = 0.004;
  simulated.step_s = 0.19;
  return simulated;
}

TEST(SimulatedLanes, LieAtTheTimesOfTheEquations) {
  const StepLanes lanes = simulated_lanes(two_buckets());
  expect_whole(lanes);
  EXPECT_EQ(lanes.note, "");
  const std::vector<Segment>& thread = lanes.lanes.front().segments;
  ASSERT_EQ(thread.size(), 8U);
  expect_segment(thread[0], "input", SegmentKind::data, 0.0, 0.001);
  expect_segment(thread[1], "forward", SegmentKind::forward, 0.001, 0.041);
  expect_segment(thread[2], "backward", SegmentKind::backward, 0.041, 0.121);
  expect_segment(thread[3], "waiting for slower ranks", SegmentKind::skew, 0.121, 0.131);
  expect_segment(thread[4], "waiting for all-reduces", SegmentKind::exposed, 0.131, 0.181);
  expect_segment(thread[5], "copies back", SegmentKind::own_copy, 0.181, 0.183);
  expect_segment(thread[6], "optimizer", SegmentKind::optimizer, 0.183, 0.187);
  expect_segment(thread[7], "other", SegmentKind::other, 0.187, 0.190);

  ASSERT_EQ(lanes.lanes.size(), 4U);
  const Lane* moments = find(lanes, "buckets");
  ASSERT_NE(moments, nullptr);
  ASSERT_EQ(moments->segments.size(), 4U);
  expect_segment(moments->segments[0], "bucket 0 ready", SegmentKind::gradient, 0.081, 0.081);
  expect_segment(moments->segments[1], "bucket 0 launched", SegmentKind::launch, 0.081, 0.081);
  expect_segment(moments->segments[2], "bucket 1 ready", SegmentKind::gradient, 0.121, 0.121);
  const Lane* link = find(lanes, "all-reduce 1");
  ASSERT_NE(link, nullptr);
  ASSERT_EQ(link->segments.size(), 4U);
  expect_segment(link->segments[0], "all-reduce of bucket 0", SegmentKind::overlapped, 0.081, 0.121);
  expect_segment(link->segments[1], "all-reduce of bucket 0: waiting for slower ranks", SegmentKind::skew, 0.121,
                 0.131);
  expect_segment(link->segments[2], "all-reduce of bucket 0", SegmentKind::exposed, 0.131, 0.151);
  expect_segment(link->segments[3], "all-reduce of bucket 1", SegmentKind::exposed, 0.151, 0.181);
  EXPECT_EQ(link->segments[3].bytes, 2 << 20);
  const Lane* back = find(lanes, "copies back");
  ASSERT_NE(back, nullptr);
  ASSERT_EQ(back->segments.size(), 1U);
  expect_segment(back->segments[0], "copy back of bucket 1", SegmentKind::own_copy, 0.181, 0.183);
}

TEST(SimulatedLanes, FollowTheCalibration) {
  SimulatedStep simulated = two_buckets();
  simulated.terms.compute_s *= 1.5;
  simulated.terms.exposed_s *= 3.0;
  simulated.step_s = simulated.terms.step_s();
  const StepLanes lanes = simulated_lanes(simulated);
  expect_whole(lanes);
  const std::vector<Segment>& thread = lanes.lanes.front().segments;
  expect_segment(thread[2], "backward", SegmentKind::backward, 0.061, 0.181);
  expect_segment(thread[4], "waiting for all-reduces", SegmentKind::exposed, 0.191, 0.341);
  const Lane* link = find(lanes, "all-reduce 1");
  ASSERT_NE(link, nullptr);
  expect_segment(link->segments[0], "all-reduce of bucket 0", SegmentKind::overlapped, 0.121, 0.181);
  expect_segment(link->segments[2], "all-reduce of bucket 0", SegmentKind::exposed, 0.191, 0.251);
}

TEST(SimulatedLanes, ShowTheTimeThatIsNotModelled) {
  SimulatedStep simulated = two_buckets();
  simulated.step_s = 0.2;
  const StepLanes more = simulated_lanes(simulated);
  expect_whole(more);
  expect_segment(more.lanes.front().segments.back(), "not modelled", SegmentKind::not_modelled, 0.19, 0.2);
  EXPECT_EQ(more.note, "");
  simulated.step_s = 0.095;
  const StepLanes less = simulated_lanes(simulated);
  expect_whole(less);
  EXPECT_NEAR(compute_s(less), 0.063, 1e-12);
  EXPECT_NE(less.note, "");
}

TEST(SimulatedLanes, OfAllReducesAtOnceAreOnSeveralLanes) {
  SimulatedStep simulated = two_buckets();
  simulated.work.lanes = 2;
  simulated.work.lanes_share_link = false;
  simulated.result = step::simulate(simulated.work);  // 40 … 100 and 80 … 110 ms
  simulated.terms.exposed_s = 0.03;
  simulated.step_s = simulated.terms.step_s();
  const StepLanes lanes = simulated_lanes(simulated);
  const Lane* second = find(lanes, "all-reduce 2");
  ASSERT_NE(second, nullptr);
  ASSERT_EQ(second->segments.size(), 2U);
  expect_segment(second->segments[0], "all-reduce of bucket 1: waiting for slower ranks", SegmentKind::skew, 0.121,
                 0.131);
  expect_segment(second->segments[1], "all-reduce of bucket 1", SegmentKind::exposed, 0.131, 0.161);
}

// Three replicas, each copy 1 ms and 1 ns a byte, device 0's own copy half of that: replicate takes 1.5 + 2 + 2 ms.
TEST(SimulatedLanes, OfDataParallelServeOneReplicaAfterTheOther) {
  SimulatedStep simulated;
  simulated.strategy = "dp";
  simulated.workers = 3;
  step::DataParallelStep& copying = simulated.copying;
  copying.replicas = 3;
  copying.parameter_bytes = 1e6;
  copying.root_s_per_byte = copying.to_root_s_per_byte = 1e-9;
  copying.own_copy = 0.5;
  copying.copy_overhead_s = 1e-3;
  copying.data_s = 0.002;
  copying.forward_s = 0.01;
  copying.backward_s = 0.02;
  copying.optimizer_s = 0.005;
  simulated.copies = step::simulate(copying);
  simulated.terms.compute_s = 0.035;
  simulated.terms.exposed_s = simulated.copies.copies_s;  // 5.5 + 3 + 3 + 5.5
  simulated.terms.input_s = simulated.terms.other_s = 0.002;
  simulated.step_s = 0.054;
  const StepLanes lanes = simulated_lanes(simulated);
  expect_whole(lanes);
  const std::vector<Segment>& root = lanes.lanes.front().segments;
  ASSERT_EQ(root.size(), 8U);
  expect_segment(root[1], "replicate", SegmentKind::copies, 0.002, 0.0075);
  EXPECT_EQ(root[1].bytes, 3'000'000);
  expect_segment(root[2], "scatter", SegmentKind::copies, 0.0075, 0.0105);
  expect_segment(root[3], "forward", SegmentKind::forward, 0.0105, 0.0205);
  expect_segment(root[4], "gather", SegmentKind::copies, 0.0205, 0.0235);
  expect_segment(root[5], "backward", SegmentKind::backward, 0.0235, 0.0435);
  expect_segment(root[6], "reduce", SegmentKind::copies, 0.0435, 0.049);
  expect_segment(root[7], "optimizer", SegmentKind::optimizer, 0.049, 0.054);
  ASSERT_EQ(lanes.lanes.size(), 4U);
  EXPECT_EQ(lanes.lanes[2].name, "replica 1");
  const std::vector<Segment>& second = lanes.lanes[2].segments;
  ASSERT_EQ(second.size(), 6U);
  expect_segment(second[0], "parameters received", SegmentKind::copies, 0.0035, 0.0055);
  expect_segment(second[1], "inputs received", SegmentKind::copies, 0.0085, 0.0095);
  expect_segment(second[2], "forward", SegmentKind::forward, 0.0105, 0.0205);
  expect_segment(second[5], "gradients given", SegmentKind::copies, 0.045, 0.047);
}

TEST(SimulatedLanes, RefuseWhatCannotBePredicted) {
  TemporaryDatabase database("lanes-refusal");
  synthetic::add_ddp(database.get(), Truth(), {1}, 3);
  const auto models = std::make_shared<const Models>(fit_models(database.get()));
  const auto said = [&](const std::string& strategy, std::int64_t workers) -> std::string {
    try {
      simulated_lanes(models, strategy, workers);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(said("ddp", 1), "");
  EXPECT_NE(said("ddp", 8).find("all-reduce: "), std::string::npos);
  EXPECT_EQ(said("dp", 2), "no step of dp was measured");
  EXPECT_NE(said("ddp", 0).find("expected 1 or more"), std::string::npos);
}

}  // namespace
}  // namespace ddpprof::fit
