// One function per format. Internal to this folder; callers use render.hpp.
#pragma once

#include <iosfwd>

#include "analysis/report/render/render.hpp"

namespace ddpprof::report {

void render_text(const Report&, std::ostream&, int width);
void render_markdown(const Report&, std::ostream&);
void render_csv(const Report&, std::ostream&);
void render_json(const Report&, std::ostream&);

}  // namespace ddpprof::report
