// The question of a state of the knobs, as options of the command line.
#include "gui/models/scaling/knobs.hpp"

#include <gtest/gtest.h>

#include "tests/gui/scaling/files.hpp"

namespace ddpprof::gui::whatif {
namespace {

using Items = std::vector<std::string>;

TEST(Knobs, AsMeasuredAreNotAChange) {
  const TestFile file;
  const auto opened = file.open();
  const Knobs measured = measured_knobs(*opened, "ddp");
  EXPECT_EQ(measured.workers, 64);  // the largest N of the default question
  EXPECT_EQ(measured.batch, 32);
  EXPECT_EQ(measured.accumulation, 1);
  EXPECT_EQ(measured.bucket_cap_mb, 25.0);
  EXPECT_EQ(what_if_items(measured, measured), Items{});
  EXPECT_FALSE(what_if(measured, measured).any());
}

TEST(Knobs, EachIsOneItemOfTheCommandLine) {
  Knobs measured;
  measured.batch = 32;
  const auto items = [&](const auto& turn) {
    Knobs knobs = measured;
    turn(knobs);
    return what_if_items(knobs, measured);
  };
  EXPECT_EQ(items([](Knobs& k) { k.bandwidth = 1.68; }), Items{"bandwidth=1.68x"});
  EXPECT_EQ(items([](Knobs& k) { k.latency = 0.1; }), Items{"latency=0.1x"});
  EXPECT_EQ(items([](Knobs& k) { k.bucket_cap_mb = 50.0; }), Items{"bucket_cap_mb=50"});
  EXPECT_EQ(items([](Knobs& k) { k.sixteen_bit = "precision=bf16"; }), Items{"precision=bf16"});
  EXPECT_EQ(items([](Knobs& k) { k.overlap = false; }), Items{"overlap=off"});
  EXPECT_EQ(items([](Knobs& k) { k.batch = 64; }), Items{"batch_per_worker=64"});
  EXPECT_EQ(items([](Knobs& k) { k.accumulation = 4; }), Items{"accumulation=4"});
  EXPECT_EQ(items([](Knobs& k) { k.compute = 2.0; }), Items{"compute=2x"});
  EXPECT_EQ(items([](Knobs& k) { k.host = 2.0; }), Items{"host=2x"});
  EXPECT_EQ(items([](Knobs& k) { k.strategy = "zero3"; }), Items{"strategy=zero3"});
  EXPECT_EQ(items([](Knobs& k) {
              k.strategy = "ps";
              k.servers = 4;
            }),
            (Items{"strategy=ps", "servers=4"}));
  // The choice of the machine is not a change.
  EXPECT_EQ(items([](Knobs& k) {
              k.workers = 512;
              k.gpus_per_node = 8;
              k.dedicated = true;
              k.strategy = "dp";
            }),
            Items{});
}

TEST(Knobs, AnyFactorIsReadBackAsItStands) {
  const Knobs measured;
  for (const double factor : {0.1, 1.0 / 3.0, 1.0905077, 2.0, 19.999999}) {
    Knobs knobs = measured;
    knobs.bandwidth = knobs.latency = knobs.compute = factor;
    const fit::WhatIf change = what_if(knobs, measured);
    EXPECT_EQ(change.bandwidth.factor, factor);
    EXPECT_EQ(change.latency.factor, factor);
    EXPECT_EQ(change.compute_speed, factor);
  }
}

TEST(Knobs, ResetTakesBackOneAlone) {
  const Knobs measured;
  Knobs knobs = measured;
  knobs.bandwidth = 4.0;
  knobs.batch = 7;
  EXPECT_TRUE(differs(knobs, measured, KnobId::bandwidth));
  reset(knobs, measured, KnobId::bandwidth);
  EXPECT_FALSE(differs(knobs, measured, KnobId::bandwidth));
  EXPECT_TRUE(differs(knobs, measured, KnobId::batch));
}

TEST(Knobs, OneWorkerHasNoLinks) {
  Knobs measured, knobs;
  knobs.bandwidth = 2.0;
  knobs.strategy = "zero2";
  EXPECT_FALSE(for_one_worker(what_if(knobs, measured)).any());
  knobs.compute = 2.0;
  const fit::WhatIf alone = for_one_worker(what_if(knobs, measured));
  EXPECT_EQ(alone.said, Items{"compute=2x"});
  EXPECT_EQ(alone.compute_speed, 2.0);
  EXPECT_FALSE(alone.changes_links());
}

TEST(Knobs, TheCommandAsksTheSame) {
  const TestFile file;
  const auto opened = file.open();
  const Knobs measured = measured_knobs(*opened, "ddp");
  Knobs knobs = measured;
  // The folder's name is plain; the file's name has a space.
  const std::string path = "'" + file.path.string() + "'";
  EXPECT_EQ(command_line(*opened, knobs, measured, {1, 2, 64}), "ddpprof predict " + path + " --workers 1,2,64");
  knobs.gpus_per_node = 8;
  knobs.inter_node = "8xndr";
  knobs.dedicated = true;
  knobs.bandwidth = 2.0;
  knobs.sixteen_bit = "compression=fp16";
  EXPECT_EQ(command_line(*opened, knobs, measured, {64}),
            "ddpprof predict " + path +
                " --workers 64 --gpus-per-node 8 --inter-node 8xndr --sharing dedicated --what-if bandwidth=2x "
                "--what-if compression=fp16");
}

TEST(Knobs, TheLinkBetweenNodesIsThatOfPredict) {
  const TestFile file;
  const auto opened = file.open();
  const Knobs measured = measured_knobs(*opened, "ddp");
  EXPECT_EQ(measured.inter_node, "usual");
  Knobs knobs = measured;
  knobs.inter_node = "100Gbit/s";
  EXPECT_TRUE(differs(knobs, measured, KnobId::inter_node));
  EXPECT_TRUE(what_if_items(knobs, measured).empty()) << "it describes the machine";
  EXPECT_EQ(predict_options(*opened, knobs).inter_node.text, "100Gbit/s");
  reset(knobs, measured, KnobId::inter_node);
  EXPECT_EQ(knobs, measured);
}

}  // namespace
}  // namespace ddpprof::gui::whatif
