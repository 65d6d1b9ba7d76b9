#include "gui/models/fit/fit_view.hpp"

#include <gtest/gtest.h>

#include "tests/analysis/fit/synthetic.hpp"

namespace ddpprof::gui {
namespace {

using fit::synthetic::TemporaryDatabase;
using fit::synthetic::Truth;

fit::Models models_of(const std::string& name, bool with_dp) {
  TemporaryDatabase database(name);
  const Truth truth;
  fit::synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  fit::synthetic::add_bench(database.get(), truth, {2, 4});
  if (with_dp) fit::synthetic::add_dp(database.get(), truth, {1, 2, 4}, 1);
  return fit::fit_models(database.get());
}

TEST(FitView, ListsTheModelsThatWereMeasured) {
  EXPECT_EQ(fits_of(models_of("fit-view-ddp", false)),
            (std::vector<FitKind>{FitKind::all_reduce, FitKind::ddp_compute}));
  EXPECT_EQ(fits_of(models_of("fit-view-dp", true)),
            (std::vector<FitKind>{FitKind::all_reduce, FitKind::ddp_compute, FitKind::dp_compute, FitKind::copies}));
  EXPECT_TRUE(fits_of({}).empty());
}

TEST(FitView, HasEveryMeasuredAllReduceWithItsFit) {
  const fit::Models models = models_of("fit-view-points", false);
  const FitView view = view_fit(models, FitKind::all_reduce, 0);
  EXPECT_TRUE(view.usable);
  EXPECT_EQ(view.status, models.all_reduce.status);
  EXPECT_EQ(view.form, models.all_reduce.picked().form.name());
  std::vector<std::string> names;
  std::size_t points = 0;
  for (const FitSeries& series : view.series) {
    names.push_back(series.name);
    points += series.points.size();
    EXPECT_TRUE(std::is_sorted(series.points.begin(), series.points.end(),
                               [](const FitPoint& a, const FitPoint& b) { return a.x < b.x; }));
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"N = 2, steps", "N = 2, bench-comm", "N = 4, steps", "N = 4, bench-comm"}));
  EXPECT_EQ(points, models.all_reduce.points.size());
}

// The all-reduces of bench-comm run alone on the link, so the curve equals the fit, except for rounded sizes.
TEST(FitView, TheCurveOfBenchCommPassesThroughTheFit) {
  const fit::Models models = models_of("fit-view-curve", false);
  const auto& picked = models.all_reduce.picked();
  for (const FitSeries& series : view_fit(models, FitKind::all_reduce, 0).series) {
    if (!series.name.ends_with("bench-comm")) continue;
    ASSERT_FALSE(series.curve_x.empty());
    EXPECT_EQ(series.curve_x.front(), 0.5 * series.points.front().x);
    EXPECT_EQ(series.curve_x.back(), 2.0 * series.points.back().x);
    for (std::size_t i = 1; i < series.curve_s.size(); ++i) EXPECT_GE(series.curve_s[i], series.curve_s[i - 1]);
    fit::Machine machine;
    for (const auto& point : models.all_reduce.points)
      if (point.bench && point.machine.workers == series.workers) machine = point.machine;
    for (const FitPoint& point : series.points) {
      const double alone_s =
          picked.alone(machine, static_cast<std::int64_t>(point.x), picked.solution.values, true).total_s();
      EXPECT_NEAR(alone_s / point.fitted_s, 1.0, 1e-9) << point.x;
    }
  }
}

TEST(FitView, TheComputeCurvePassesThroughTheMeasurements) {
  const fit::Models models = models_of("fit-view-compute", false);
  const FitView view = view_fit(models, FitKind::ddp_compute, 0);
  ASSERT_EQ(view.series.size(), 1U);
  const FitSeries& series = view.series.front();
  ASSERT_EQ(series.points.size(), 3U);
  EXPECT_EQ(series.curve_x.back(), 16.0) << "four times the largest measured N";
  for (const FitPoint& point : series.points) {
    const auto at = static_cast<std::size_t>(point.x) - 1;
    EXPECT_NEAR(series.curve_s[at] / point.measured_s, 1.0, 1e-6) << "N = " << point.x;
  }
}

TEST(FitView, CopiesHaveASeriesPerPhaseAndN) {
  const fit::Models models = models_of("fit-view-copies", true);
  const FitView view = view_fit(models, FitKind::copies, 0);
  EXPECT_TRUE(view.usable) << view.status;
  std::size_t points = 0;
  for (const FitSeries& series : view.series) {
    points += series.points.size();
    for (const FitPoint& point : series.points) {
      const std::string phase = series.name.substr(0, series.name.find(','));
      EXPECT_DOUBLE_EQ(fit::CopyFit::copy_s(phase, series.workers, point.x, models.copies.solution.values),
                       point.fitted_s);
      EXPECT_NEAR(point.relative_error(), 0.0, 0.1) << series.name;
    }
  }
  EXPECT_EQ(points, models.copies.points.size());
}

TEST(FitView, AnUnmeasuredModelIsNotUsableAndHasAReason) {
  const FitView view = view_fit({}, FitKind::all_reduce, 0);
  EXPECT_FALSE(view.usable);
  EXPECT_TRUE(view.series.empty());
}

}  // namespace
}  // namespace ddpprof::gui
