// A report as one HTML page that needs nothing but itself: no script, nothing from elsewhere.
#pragma once

#include <iosfwd>

#include "analysis/report/core/table.hpp"

namespace ddpprof::report {

void render_html(const Report&, std::ostream&);

}  // namespace ddpprof::report
