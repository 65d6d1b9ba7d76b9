// The noise scale of recorded norms: compared with norms generated for a known noise scale, and with results calculated
// by hand.
#include "analysis/metrics/gradient_noise.hpp"
#include "analysis/report/tables/learning_rate/gradient_noise_table.hpp"

#include <SQLiteCpp/Statement.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>

#include "tests/analysis/report/synthetic_run.hpp"
#include "tests/tiers.hpp"

namespace ddpprof::report {
namespace {

using testing::HasSubstr;

constexpr double gradient_sqr = 4.0, trace = 400.0;  // a noise scale of 100 samples
constexpr double missing = -2.0;                     // no norm was recorded

class GradientNoise : public testing::Test {
 protected:
  GradientNoise()
      : path_(std::filesystem::temp_directory_path() / ("ddpprof_noise_" + std::to_string(getpid()) + ".db")),
        run_(path_) {}
  ~GradientNoise() override { std::filesystem::remove(path_); }

  std::int64_t measure(std::int64_t workers, std::int64_t accumulation = 1) {
    store::MeasurementRow row = test::train("ddp", workers);
    row.accumulation = accumulation;
    const std::int64_t id = run_.measurement(row);
    shards_.clear();
    for (std::int64_t rank = 0; rank < workers; ++rank) shards_.push_back(run_.shard(id, rank));
    return id;
  }

  // One step of all ranks: the squared norm of each rank and of the averaged gradient.
  void step(std::int64_t number, const std::vector<double>& local, double whole, std::int64_t samples = 32,
            std::int64_t duration_ns = 100 * test::ms, const char* kind = "measured") {
    store::Inserter<store::StepRow> rows(run_.database);
    for (std::size_t rank = 0; rank < shards_.size(); ++rank) {
      store::StepRow row;
      row.shard_id = shards_[rank];
      row.step = number;
      row.kind = kind;
      row.samples = samples;
      row.duration_ns = duration_ns;
      SQLite::Statement norms(run_.database.sql(),
                              "UPDATE step SET local_gradient_sqr = ?, gradient_sqr = ? WHERE id = ?");
      if (!local.empty() && local[rank] != missing) norms.bind(1, local[rank]);
      if (whole != missing) norms.bind(2, whole);
      norms.bind(3, rows.insert(row));
      norms.exec();
    }
  }

  // Steps whose gradients have a known |G|^2 and trace: `dimensions` normal random numbers, G = (2, 0, …, 0).
  void random_steps(std::int64_t steps, std::int64_t parts, std::int64_t part_samples, bool first_alone) {
    constexpr int dimensions = 50;
    std::mt19937_64 engine(7);
    std::normal_distribution<double> normal(0.0, std::sqrt(trace / dimensions / static_cast<double>(part_samples)));
    for (std::int64_t number = 0; number < steps; ++number) {
      std::vector<double> mean(dimensions, 0.0);
      std::vector<double> local;
      for (std::int64_t part = 0; part < parts; ++part) {
        double sqr = 0.0;
        for (int d = 0; d < dimensions; ++d) {
          const double value = (d == 0 ? std::sqrt(gradient_sqr) : 0.0) + normal(engine);
          sqr += value * value;
          mean[static_cast<std::size_t>(d)] += value / static_cast<double>(parts);
        }
        if (!first_alone || part == 0) local.push_back(sqr);
      }
      double whole = 0.0;
      for (const double value : mean) whole += value * value;
      step(number, local, whole, first_alone ? part_samples * parts : part_samples);
    }
  }

  std::filesystem::path path_;
  test::SyntheticRun run_;
  std::vector<std::int64_t> shards_;
};

const Cell& cell(const Table& table, std::size_t row, const std::string& name) {
  const auto column = std::ranges::find(table.columns, name, &Column::name);
  return table.rows.at(row).at(static_cast<std::size_t>(column - table.columns.begin()));
}

TEST_F(GradientNoise, IsTheOneTheGradientsWereMadeWith) {
  measure(4);
  random_steps(400, 4, 32, false);
  if (test::long_tests()) {
    measure(1, 8);
    random_steps(400, 8, 32, true);
  }
  const auto all = metrics::measured_noise(run_.database);
  ASSERT_EQ(all.size(), test::long_tests() ? 2U : 1U);
  for (const metrics::MeasuredNoise& noise : all) {
    SCOPED_TRACE(noise.workers);
    EXPECT_EQ(noise.steps.size(), 400U);
    EXPECT_EQ(noise.incomplete, 0);
    EXPECT_EQ(noise.samples_per_part, 32);
    ASSERT_TRUE(noise.band);
    const stats::Interval& band = noise.band->noise_scale_samples;
    EXPECT_LT(band.low, 100.0);
    EXPECT_GT(band.high, 100.0);
    EXPECT_LT(band.high / band.low, 1.5) << "the band is narrow enough to be useful";
    EXPECT_NEAR(noise.moving_samples.value(), 100.0, 40.0);
  }
  if (test::long_tests()) {
    EXPECT_EQ(all[1].parts, 8);
  }
}

// |g_b|² = 20, |g_B|² = 12, b = 32, B = 64: |G|² = (64 · 12 − 32 · 20) / 32 = 4, tr = 8 / (1/32 − 1/64) = 512.
TEST_F(GradientNoise, IsTheQuotientOfTheMeans) {
  measure(2);
  for (int i = 0; i < 64; ++i) {
    const double sway = i % 2 == 0 ? 1.0 : -1.0;
    step(i, {18.0 + sway, 22.0 + sway}, 12.0 + sway);
  }
  const auto all = metrics::measured_noise(run_.database);
  const Table table = gradient_noise_table(all);
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(cell(table, 0, "small_batch_samples"), Cell(std::int64_t{32}));
  EXPECT_EQ(cell(table, 0, "large_batch_samples"), Cell(std::int64_t{64}));
  EXPECT_NEAR(std::get<double>(cell(table, 0, "noise_scale_samples")), 128.0, 1e-9);
  EXPECT_NEAR(std::get<double>(cell(table, 0, "gradient_sqr")), 4.0, 1e-12);
  EXPECT_NEAR(std::get<double>(cell(table, 0, "trace_samples")), 512.0, 1e-9);
  EXPECT_EQ(cell(table, 0, "cost_share"), Cell()) << "no step without norms to compare with";
  EXPECT_THAT(table.note, HasSubstr("90 % interval"));
}

TEST_F(GradientNoise, CostsWhatItsStepsTakeMoreThanTheOthers) {
  measure(2);
  for (int i = 0; i < 100; ++i) i % 4 == 0 ? step(i, {20.0, 20.0}, 12.0, 32, 102 * test::ms) : step(i, {}, missing);
  step(100, {1.0, 1.0}, 1.0, 32, 500 * test::ms, "warmup");  // not counted
  const auto all = metrics::measured_noise(run_.database);
  EXPECT_EQ(all.at(0).steps.size(), 25U);
  EXPECT_NEAR(all[0].cost_share.value(), 0.02 * 0.25 / (1.0 + 0.02 * 0.25), 1e-12);
}

TEST_F(GradientNoise, LeavesOutStepsThatAreNotWhole) {
  measure(2);
  for (int i = 0; i < 8; ++i) step(i, {20.0, 20.0}, 12.0);
  step(8, {20.0, missing}, 12.0);
  step(9, {20.0, -1.0}, 12.0);
  const auto all = metrics::measured_noise(run_.database);
  EXPECT_EQ(all.at(0).steps.size(), 8U);
  EXPECT_EQ(all[0].incomplete, 2);
  EXPECT_FALSE(all[0].band) << "8 steps are too few for 8 blocks of two";
  const Table table = gradient_noise_table(all);
  EXPECT_EQ(cell(table, 0, "noise_scale_samples"), Cell());
  EXPECT_THAT(std::get<std::string>(cell(table, 0, "note")),
              testing::AllOf(HasSubstr("8 steps are too few"), HasSubstr("2 steps are left out")));
  EXPECT_FALSE(metrics::concluding_band(all, 16));
}

TEST_F(GradientNoise, AFileWithoutNormsSaysHowToMeasureThem) {
  measure(2);
  for (int i = 0; i < 8; ++i) step(i, {}, missing);
  const auto all = metrics::measured_noise(run_.database);
  EXPECT_TRUE(all.empty());
  EXPECT_THAT(gradient_noise_table(all).empty, HasSubstr("measure.gradient_noise_every"));
}

metrics::MeasuredNoise training(std::int64_t workers, std::int64_t samples, double noise_scale) {
  metrics::MeasuredNoise noise;
  noise.workers = noise.parts = workers;
  noise.samples_per_part = samples;
  noise.band = learning_rate::NoiseBand{{0.5 * noise_scale, noise_scale, INFINITY, 0.9}, 100, 10};
  return noise;
}

double middle(std::span<const metrics::MeasuredNoise> all, std::int64_t base_batch) {
  const auto band = metrics::concluding_band(all, base_batch);
  return band ? band->noise_scale_samples.mid : -1.0;
}

TEST(ConcludingBand, IsOfTheTrainingNearestToTheBaseBatchHoweverWideItIs) {
  std::vector<metrics::MeasuredNoise> all = {training(2, 8, 100), training(4, 8, 200), training(8, 8, 300)};
  all[2].band->noise_scale_samples.high = 310.0;
  EXPECT_EQ(middle(all, 16), 100.0);
  EXPECT_EQ(middle(all, 40), 200.0) << "32 is nearer to 40 than 64 is";
  EXPECT_EQ(middle(all, 1000), 300.0);
  EXPECT_EQ(middle(std::vector<metrics::MeasuredNoise>{training(2, 16, 100), training(8, 4, 200)}, 32), 200.0)
      << "equally near, but its steps compare more gradients";
}

TEST(ConcludingBand, IsOfTheFirstRepeat) {
  std::vector<metrics::MeasuredNoise> all = {training(2, 8, 100), training(2, 8, 120)};
  all[0].repeat = 1;
  EXPECT_EQ(middle(all, 16), 120.0);
}

TEST(ConcludingBand, PassesOverTrainingsThatSayNothing) {
  std::vector<metrics::MeasuredNoise> all = {training(2, 8, 100), training(8, 8, 300), metrics::MeasuredNoise{}};
  all[0].band.reset();
  EXPECT_EQ(middle(all, 16), 300.0) << "too few steps";
  all.push_back(training(4, 8, 200));
  all.back().band->noise_scale_samples.mid = INFINITY;
  EXPECT_EQ(middle(all, 16), 300.0) << "N = 4 is nearer, but has no middle";
  all.pop_back();
  all[1].band->noise_scale_samples.mid = INFINITY;
  EXPECT_FALSE(metrics::concluding_band(all, 16)) << "a mean of |G|^2 below 0 has no middle";
}

}  // namespace
}  // namespace ddpprof::report
