// Parts of the HTML page: escaping, axes, and the figures of each table. tests/analysis/report/html_page_test.py checks
// whole pages with a parser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "analysis/report/core/columns.hpp"
#include "analysis/report/html/axis.hpp"
#include "analysis/report/html/escape.hpp"
#include "analysis/report/html/figures.hpp"
#include "analysis/report/render/render.hpp"

namespace ddpprof::report::html {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(HtmlEscape, NothingOfTheTextIsMarkup) {
  EXPECT_EQ(escaped("<b a=\"1\" c='2'> & µs"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt; &amp; µs");
}

TEST(HtmlEscape, BytesThatNoXmlMayHoldAreReplacedAndTheRestStays) {
  EXPECT_EQ(escaped(std::string("a\0b\x1b\x7f", 5)), "a\uFFFDb\uFFFD\uFFFD");
  EXPECT_EQ(escaped("x\xff\xfey\xc3"), "x\uFFFD\uFFFDy\uFFFD");      // invalid UTF-8, and a truncated character
  EXPECT_EQ(escaped("\xEF\xBF\xBE \xEF\xBF\xBF"), "\uFFFD \uFFFD");  // U+FFFE and U+FFFF
  EXPECT_EQ(escaped("\xED\xA0\x80z").substr(9), "z");                // half of a surrogate pair: three bytes
  EXPECT_EQ(escaped("tab\tline\n𝛼"), "tab\tline\n𝛼");
}

TEST(HtmlAxis, WorkersLieByTheirLogarithm) {
  const std::vector<double> workers = {1, 2, 4, 64};
  const Axis axis = Axis::workers(workers);
  EXPECT_NEAR(axis.at(8) - axis.at(4), axis.at(2) - axis.at(1), 1e-12);
  std::vector<std::string> labels;
  for (const Tick& tick : axis.ticks) labels.push_back(tick.label);
  EXPECT_THAT(labels, testing::ElementsAre("1", "2", "4", "8", "16", "32", "64"));
}

TEST(HtmlAxis, AQuantityStartsAtZeroUnlessItSpansTooMuch) {
  const Axis near = Axis::quantity("time", "s", std::vector{0.010, 0.040});
  EXPECT_EQ(near.at(0), 0.0);
  EXPECT_NEAR(near.at(0.04), 2 * near.at(0.02), 1e-12);
  EXPECT_EQ(near.ticks.front().label, "0");
  const Axis far = Axis::quantity("time", "s", std::vector{0.010, 4.0});
  EXPECT_NEAR(far.at(1.0) - far.at(0.1), far.at(0.1) - far.at(0.01), 1e-12);
  EXPECT_THAT(far.ticks, testing::Contains(testing::Field(&Tick::label, "100 ms")));
}

TEST(HtmlAxis, NoValuesAndExtremeOnesStillMakeAnAxis) {
  for (const std::vector<double>& values : {std::vector<double>{}, {0.0}, {1e-300, 1e300}, {1.0, 9e18}})
    for (const Axis& axis : {Axis::workers(values), Axis::bytes(values), Axis::quantity("", "s", values),
                             Axis::logarithmic("", "s", values), Axis::share("", values)})
      for (const Tick& tick : axis.ticks) {
        EXPECT_GE(axis.at(tick.value), 0.0);
        EXPECT_LE(axis.at(tick.value), 1.0);
      }
}

Table predictions() {
  Table table;
  table.name = "predictions";
  table.columns = {
      text("strategy", ""),       count("workers", ""),       seconds("step_s", ""),      seconds("step_low_s", ""),
      seconds("step_high_s", ""), share("compute_share", ""), share("exposed_share", ""), text("note", "")};
  const auto row = [](std::int64_t workers, double step, const char* note) {
    return Row{std::string("ddp"), workers, step, 0.9 * step, 1.1 * step, 0.75, 0.25, std::string(note)};
  };
  table.rows = {row(1, 0.1, "measured; the uncorrected model is off by 1 %"), row(8, 0.2, "")};
  return table;
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(HtmlFigures, WithoutMeasurementsBesideThemPredictionsTellWhatWasMeasured) {
  const Report report{"predict", "Predictions", {predictions()}};
  const std::vector<Figure> figures = figures_for(report, report.tables[0]);
  ASSERT_EQ(figures.size(), 2U);  // step time and parts; the efficiency is unknown
  EXPECT_EQ(occurrences(figures[0].svg, "class=\"dot c0\""), 1U);
  EXPECT_EQ(occurrences(figures[0].svg, "class=\"open c0\""), 1U);
  EXPECT_EQ(occurrences(figures[0].svg, "class=\"band c0\""), 1U);
  EXPECT_EQ(occurrences(figures[1].svg, "class=\"part-compute\""), 1U);
  EXPECT_EQ(occurrences(figures[1].svg, "class=\"part-compute pale\""), 1U);
}

TEST(HtmlFigures, TheKneeOfTheLargestShareIsMarkedAndNotThatOfAChange) {
  Table knee;
  knee.name = "knee";
  knee.columns = {text("strategy", ""), text("what_if", ""), share("threshold", ""),
                  count("knee_workers", "", "workers"), text("source", "")};
  knee.rows = {{std::string("ddp"), Cell(), 0.1, std::int64_t{2}, std::string("measured")},
               {std::string("ddp"), Cell(), 0.25, std::int64_t{4}, std::string("predicted")},
               {std::string("ddp"), Cell(), 0.5, Cell(), std::string("none up to there")},
               {std::string("ddp"), std::string("bandwidth=2x"), 0.5, std::int64_t{8}, std::string("predicted")}};
  const Report report{"predict", "Predictions", {predictions(), knee}};
  const std::string svg = scaling_figures(report).at(0).svg;
  EXPECT_EQ(occurrences(svg, "marker"), 1U);
  EXPECT_THAT(svg, HasSubstr("&gt; 25 % exposed from N = 4 (predicted)"));
}

TEST(HtmlFigures, OneWorkerCountIsNoCurveAndOneRankNoComparison) {
  Table table = predictions();
  table.rows.resize(1);
  EXPECT_TRUE(scaling_figures({"predict", "", {table}}).empty());
  Table ranks;
  ranks.name = "ranks";
  ranks.columns = {count("rank", ""), seconds("compute_median_s", ""), seconds("skew_median_s", "")};
  ranks.rows = {{std::int64_t{0}, 0.1, 0.0}};
  EXPECT_TRUE(rank_figures(ranks).empty());
  ranks.rows.push_back({std::int64_t{1}, 0.05, 0.05});
  EXPECT_EQ(rank_figures(ranks).size(), 1U);
}

// Medians of parts need not add up to the step's: here to 110 % of it. The bar ends at the step.
TEST(HtmlFigures, PartsThatExceedTheStepAreScaledToIt) {
  Table table = predictions();
  for (Row& row : table.rows) row[6] = 0.35;
  const std::string svg = parts_figures({"predict", "", {table}}).at(0).svg;
  EXPECT_EQ(occurrences(svg, " y=\"30.0\""), 3U);  // top of the plot: two bars, and the background of the pale one
}

TEST(HtmlPage, ManyRowsAreFoldedAwayButInAReportOfTheirOwn) {
  Table table;
  table.name = "steps";
  table.title = "Steps";
  table.columns = {count("step", "step")};
  for (std::int64_t i = 0; i < 41; ++i) table.rows.push_back({i});
  std::ostringstream alone, among;
  render({"steps", "Steps", {table}}, Format::html, alone);
  EXPECT_THAT(alone.str(), Not(HasSubstr("<details>")));
  render({"all", "All", {table, table, table}}, Format::html, among);
  EXPECT_THAT(among.str(), HasSubstr("<summary>41 rows</summary>"));
  EXPECT_THAT(among.str(), HasSubstr("id=\"table-steps-3\""));  // ids stay unique
}

}  // namespace
}  // namespace ddpprof::report::html
