// The page Scaling of a sharded training (FSDP): its predictions and the usual changes, and what to use for the rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/predict/sharded/sharded_prediction.hpp"
#include "gui/models/selection.hpp"
#include "gui/pages/scaling/scaling_page.hpp"
#include "gui/widgets/table_view.hpp"
#include "tests/analysis/predict/sharded_measurements.hpp"

namespace ddpprof::gui::whatif {
namespace {

using testing::HasSubstr;

class ScalingOfShards : public fit::Sharded {
 protected:
  void SetUp() override {
    measure(1, {.device = "cuda"});
    measure(2, {.device = "cuda"});
    options_.workers = {1, 2, 4, 8};
    fit::write_predictions(database_, fit::predict_all(database_, options_));
    database_.finish_load();
  }

  fit::PredictOptions options_;
};

TEST_F(ScalingOfShards, ShowsPredictionsAndRankedChanges) {
  Selection selection;
  ScalingPage page(selection);
  const auto file = open_file(database_.path());
  ASSERT_FALSE(file->models);
  EXPECT_TRUE(page.applies_to(*file));
  page.show_file(file);
  const std::vector<TableView*> tables = page.stored_tables();
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0]->model_of_table().rowCount(), 4) << "N = 1, 2, 4, 8";
  const report::Table& changes = tables[1]->model_of_table().table();
  const auto ranked = fit::ranked_sharded_changes(database_.sql(), options_, 8);
  ASSERT_FALSE(ranked.empty());
  ASSERT_EQ(changes.rows.size(), ranked.size());
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    EXPECT_EQ(report::value_of<std::string>(changes, changes.rows[i], "change"), ranked[i].change);
    EXPECT_EQ(report::value_of<double>(changes, changes.rows[i], "speedup"), ranked[i].effect.speedup);
  }
  EXPECT_FALSE(selection.choice());
}

TEST_F(ScalingOfShards, TheTextNamesWhatIsNotPossibleAndWhatToUse) {
  Selection selection;
  ScalingPage page(selection);
  page.show_file(open_file(database_.path()));
  const std::string text = page.message().toStdString();
  EXPECT_THAT(text, HasSubstr("sharded (FSDP)"));
  EXPECT_THAT(text, HasSubstr("the link between nodes cannot be chosen here"));
  EXPECT_THAT(text, HasSubstr("ddpprof predict FILE --what-if KEY=VALUE"));
  EXPECT_THAT(text, HasSubstr("--all-gather LOG --reduce-scatter LOG"));
}

}  // namespace
}  // namespace ddpprof::gui::whatif
