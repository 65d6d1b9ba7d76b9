#include "analysis/metrics/layers.hpp"

#include <algorithm>
#include <utility>

namespace ddpprof::metrics {

std::vector<Slice> paint(const std::vector<Coat>& coats, Span window) {
  std::vector<std::int64_t> seams = {window.begin_ns, window.end_ns};
  for (const Coat& coat : coats) {
    const Span span = clip(coat.time, window);
    if (span.end_ns <= span.begin_ns) continue;
    seams.push_back(span.begin_ns);
    seams.push_back(span.end_ns);
  }
  std::sort(seams.begin(), seams.end());
  seams.erase(std::unique(seams.begin(), seams.end()), seams.end());
  std::vector<Slice> slices;
  for (std::size_t i = 0; i + 1 < seams.size(); ++i) {
    std::size_t top = coats.size();
    for (std::size_t c = 0; c < coats.size(); ++c) {
      if (coats[c].time.begin_ns > seams[i] || coats[c].time.end_ns < seams[i + 1]) continue;
      if (top == coats.size() ||
          std::pair(coats[c].height, coats[c].time.begin_ns) >= std::pair(coats[top].height, coats[top].time.begin_ns))
        top = c;
    }
    if (top == coats.size()) continue;
    const Coat& coat = coats[top];
    const bool goes_on = !slices.empty() && slices.back().time.end_ns == seams[i] &&
                         (slices.back().coat == top ||
                          (slices.back().name == coat.name && slices.back().kind == coat.kind && !coat.bytes));
    if (goes_on)
      slices.back().time.end_ns = seams[i + 1];
    else
      slices.push_back({{seams[i], seams[i + 1]}, coat.name, coat.kind, coat.bytes, top});
  }
  return slices;
}

}  // namespace ddpprof::metrics
