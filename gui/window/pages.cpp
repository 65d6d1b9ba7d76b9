#include "gui/window/pages.hpp"

namespace ddpprof::gui {

std::vector<Page*> make_pages(Selection& selection, QWidget* parent) {
  (void)selection;
  (void)parent;
  return {};
}

}  // namespace ddpprof::gui
