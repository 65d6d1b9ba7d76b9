// The page Timeline over an imported trace of FSDP: tracks of units, and a step over its simulation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>

#include "gui/pages/timeline/step_panel.hpp"
#include "gui/pages/timeline/timeline_page.hpp"
#include "gui/widgets/lane_view.hpp"
#include "tests/analysis/import/load/imported.hpp"

namespace ddpprof::gui {
namespace {

using ddpprof::import::Folder;
using ddpprof::import::import_into;
using ddpprof::import::ImportOptions;

std::vector<std::string> names_of(const LaneView& view) {
  std::vector<std::string> names;
  if (view.lanes())
    for (const step::Lane& lane : view.lanes()->lanes) names.push_back(lane.name);
  return names;
}

TEST(TimelineOfShardedTrainings, UnitsHaveTracksAndTheStepItsSimulation) {
  constexpr int patience_ms = 10'000;
  const Folder folder;
  const std::filesystem::path path = folder.path() / "fsdp.db", traces = SHARDED_TRACES;
  {
    store::Database database = store::Database::create(path);
    ImportOptions options;
    options.files = {traces / "mlp" / "rank0.json.gz", traces / "mlp" / "rank1.json.gz"};
    ASSERT_EQ(import_into(database, options).error, "");
    database.finish_load();
  }
  Selection selection;
  TimelinePage page(selection);
  page.resize(1280, 800);
  page.show();
  page.show_file(open_file(path));
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return page.source().timeline() && page.source().timeline()->complete; }, patience_ms));
  std::vector<std::string> tracks;
  for (const timeline::Track& track : page.source().timeline()->tracks)
    if (track.rank == 1 && track.kind == timeline::TrackKind::unit) tracks.push_back(track.name);
  EXPECT_THAT(tracks, testing::ElementsAre("unit root", "unit 0", "unit 1", "unit 2", "unit 3"));

  QSignalSpy shown(&page.step_panel(), &StepPanel::shown);
  page.step_panel().show_step(1, 1, std::nullopt);
  ASSERT_TRUE(QTest::qWaitFor([&] { return !shown.isEmpty(); }, patience_ms));
  EXPECT_THAT(names_of(page.step_panel().measured()), testing::Contains("units"));
  EXPECT_THAT(names_of(page.step_panel().simulated()), testing::ElementsAre("rank", "all-gathers", "reduce-scatters"))
      << page.step_panel().simulated().message().toStdString();
}

}  // namespace
}  // namespace ddpprof::gui
