#include "gui/window/pages.hpp"

#include "gui/pages/fit/fit_page.hpp"
#include "gui/pages/learning_rate/learning_rate_page.hpp"
#include "gui/pages/overview/overview_page.hpp"
#include "gui/pages/ranks/ranks_page.hpp"
#include "gui/pages/runs/runs_page.hpp"
#include "gui/pages/scaling/scaling_page.hpp"
#include "gui/pages/strategies/strategies_page.hpp"
#include "gui/pages/timeline/timeline_page.hpp"

namespace ddpprof::gui {

std::vector<Page*> make_pages(Selection& selection, QWidget* parent) {
  return {
      new OverviewPage(selection, parent),     new whatif::ScalingPage(selection, parent),
      new StrategiesPage(selection, parent),   new TimelinePage(selection, parent),
      new RanksPage(selection, parent),        new FitPage(selection, parent),
      new LearningRatePage(selection, parent), new RunsPage(selection, parent),
  };
}

}  // namespace ddpprof::gui
