#include "analysis/metrics/lanes/layers.hpp"

#include <algorithm>
#include <utility>

namespace ddpprof::metrics {

std::vector<Slice> paint(const std::vector<Layer>& layers, Span window) {
  std::vector<std::int64_t> seams = {window.begin_ns, window.end_ns};
  for (const Layer& layer : layers) {
    const Span span = clip(layer.time, window);
    if (span.end_ns <= span.begin_ns) continue;
    seams.push_back(span.begin_ns);
    seams.push_back(span.end_ns);
  }
  std::sort(seams.begin(), seams.end());
  seams.erase(std::unique(seams.begin(), seams.end()), seams.end());
  std::vector<Slice> slices;
  for (std::size_t i = 0; i + 1 < seams.size(); ++i) {
    std::size_t top = layers.size();
    for (std::size_t c = 0; c < layers.size(); ++c) {
      if (layers[c].time.begin_ns > seams[i] || layers[c].time.end_ns < seams[i + 1]) continue;
      if (top == layers.size() || std::pair(layers[c].height, layers[c].time.begin_ns) >=
                                      std::pair(layers[top].height, layers[top].time.begin_ns))
        top = c;
    }
    if (top == layers.size()) continue;
    const Layer& layer = layers[top];
    const bool goes_on = !slices.empty() && slices.back().time.end_ns == seams[i] &&
                         (slices.back().layer == top ||
                          (slices.back().name == layer.name && slices.back().kind == layer.kind && !layer.bytes));
    if (goes_on)
      slices.back().time.end_ns = seams[i + 1];
    else
      slices.push_back({{seams[i], seams[i + 1]}, layer.name, layer.kind, layer.bytes, top});
  }
  return slices;
}

}  // namespace ddpprof::metrics
