// A valid scenario whose run takes about a second.
#pragma once

#include <QString>

namespace ddpprof::gui {

inline QString small_scenario(int steps = 20) {
  return QStringLiteral(
             "name: small\n"
             "workload:\n"
             "  model: {kind: linear, in: 10, out: 1}\n"
             "  data: {samples: 10000}\n"
             "  loss: mse\n"
             "  batch_per_worker: 8\n"
             "strategies: [ddp]\n"
             "workers: [1]\n"
             "measure: {warmup_steps: 3, steps: %1, repeats: 1, until_ci_percent: null, unwrapped: false}\n")
      .arg(steps);
}

}  // namespace ddpprof::gui
