// Creates the pages, in the order of their tabs.
#pragma once

#include <vector>

#include "gui/pages/page.hpp"

namespace ddpprof::gui {

// `parent` owns them.
std::vector<Page*> make_pages(Selection& selection, QWidget* parent);

}  // namespace ddpprof::gui
