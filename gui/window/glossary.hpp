// The glossary: every word of the pages that needs a definition, once, as the reports use it.
#pragma once

#include "analysis/report/report.hpp"

namespace ddpprof::gui {

report::Table glossary_table();  // by word

}  // namespace ddpprof::gui
