// The glossary of the window. Its terms are those of docs/glossary.md.
#pragma once

#include "analysis/report/report.hpp"

namespace ddpprof::gui {

report::Table glossary_table();  // by word

}  // namespace ddpprof::gui
