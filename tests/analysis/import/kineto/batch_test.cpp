// The batch size comes from the first operation of the first forward, for any number of operations in the file.
#include <gtest/gtest.h>

#include "analysis/import/kineto/kineto_reader.hpp"

namespace ddpprof::import {
namespace {

struct Made {
  RankTrace rank{SortOptions{}};
  RawCollector raw{rank.names, nullptr, 0};
  KinetoReader reader{rank, raw};

  void add(std::string_view category, std::string_view name, std::int64_t start_ns, std::string_view shapes = {}) {
    Event event;
    event.phase = 'X';
    event.category = category;
    event.name = name;
    event.start_ns = start_ns;
    event.duration_ns = 10;
    event.pid = event.tid = "1";
    event.arguments.input_shapes = shapes;
    reader.event(event, 0);
  }
  void linear(std::int64_t start_ns, std::int64_t batch) {
    add("cpu_op", "aten::linear", start_ns, "[[" + std::to_string(batch) + ", 8], [8, 8], []]");
  }
  void forward(std::int64_t start_ns) { add("user_annotation", "DistributedDataParallel.forward", start_ns); }
  std::int64_t batch() {
    reader.finish();
    return rank.batch.value_or(0);
  }
};

constexpr std::int64_t many = 20'000;

TEST(Batch, OfTheFirstForwardBehindManyOtherOperations) {
  Made made;
  for (std::int64_t i = 0; i < many; ++i) made.linear(100 * i, 7);  // a check of the data, say
  made.forward(100 * many);
  made.linear(100 * many + 20, 48);
  for (std::int64_t i = 0; i < many; ++i) made.linear(100 * many + 100 * (i + 1), 9);
  EXPECT_EQ(made.batch(), 48);
}

TEST(Batch, WhateverOrderTheFileHasItsForwardsIn) {
  Made made;
  made.forward(900'000);
  for (std::int64_t i = 0; i < many; ++i) made.linear(1'000'000 + 100 * i, 9);
  made.linear(900'020, 24);
  made.linear(500'020, 48);
  made.forward(500'000);
  EXPECT_EQ(made.batch(), 48);
}

// The first step of five has a rest of 7 samples. A later layer has another leading dimension.
TEST(Batch, OfTheMostSteps) {
  Made made;
  for (std::int64_t step = 0; step < 5; ++step) {
    Event event;
    const std::string name = "ProfilerStep#" + std::to_string(step);
    event.phase = 'X';
    event.category = "user_annotation";
    event.name = name;
    event.start_ns = 1000 * (step + 1);
    event.duration_ns = 1000;
    event.pid = event.tid = "1";
    made.reader.event(event, 0);
    made.linear(1000 * (step + 1) + 100, step == 0 ? 7 : 32);
    made.linear(1000 * (step + 1) + 300, 512);
  }
  EXPECT_EQ(made.batch(), 32);
  EXPECT_EQ(made.rank.smallest_batch, 7);
  EXPECT_EQ(made.rank.largest_batch, 32);
}

// torch.compile records matrix products without their layers: 32 samples of 128 positions are 4096 rows.
TEST(Batch, RowsOfAMatrixProductMayBeMoreThanSamples) {
  Made compiled, layer, together;
  const auto product = [](Made& made, std::int64_t start_ns) {
    made.add("cpu_op", "aten::addmm", start_ns, "[[8], [4096, 8], [8, 8]]");
  };
  product(compiled, 120);
  EXPECT_EQ(compiled.batch(), 4096);
  EXPECT_TRUE(compiled.rank.batch_of_rows);
  product(layer, 120);
  layer.linear(100, 32);
  EXPECT_EQ(layer.batch(), 32);
  EXPECT_FALSE(layer.rank.batch_of_rows);
  product(together, 100);
  together.linear(100, 32);
  EXPECT_EQ(together.batch(), 32) << "the layer and its product begin in the same microsecond";
  EXPECT_FALSE(together.rank.batch_of_rows);
}

TEST(Batch, WithoutForwardsOfTheFirstOperation) {
  Made made;
  for (std::int64_t i = many; i > 0; --i) made.linear(100 * i, i == 1 ? 48 : 9);
  EXPECT_EQ(made.batch(), 48);
}

}  // namespace
}  // namespace ddpprof::import
