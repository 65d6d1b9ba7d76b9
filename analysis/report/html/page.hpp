// A report as one self-contained HTML page: no script, no external resources.
#pragma once

#include <iosfwd>

#include "analysis/report/core/table.hpp"

namespace ddpprof::report {

void render_html(const Report&, std::ostream&);

}  // namespace ddpprof::report
