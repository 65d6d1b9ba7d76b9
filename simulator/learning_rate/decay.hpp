// The decay of a learning rate after its warm-up: in steps, along half a cosine or a power, or none.
#pragma once

#include <cstdint>
#include <vector>

namespace ddpprof::learning_rate {

enum class DecayKind { constant, step, cosine, polynomial };
const char* to_string(DecayKind);

struct Decay {
  DecayKind kind = DecayKind::constant;
  // step: the rate is multiplied by `factor` at each of these epochs, counted from the training's beginning, warm-up
  // included (Goyal et al. 2017, section 5.1: by 0.1 at 30, 60 and 80 of 90).
  std::vector<double> at_epochs = {30.0, 60.0, 80.0};
  double factor = 0.1;
  // polynomial: (1 - p)^power over the steps after the warm-up; 1 is a straight line (LAMB, You et al. 2020), 2 is
  // LARS's (You et al. 2017).
  double power = 1.0;
  // cosine and polynomial end at this share of the target rate. Cosine: (1 + cos(pi p)) / 2 (Loshchilov and Hutter
  // 2017, one cycle).
  double least_share = 0.0;

  bool operator==(const Decay&) const = default;
};

// The position of a step in its training, in optimizer steps.
struct Progress {
  std::int64_t step = 0;  // from 0
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 1;
  double epoch_steps = 1.0;  // of one epoch as the decay counts them
};

// Throws std::invalid_argument, naming the field: epochs that are negative or do not ascend, a factor or a share
// outside [0, 1], a power that is not above 0.
void check(const Decay&);

// Returns the factor on the target rate: 1 until the warm-up has ended, and the last step's end value after the end of
// the training. p = (step - warmup) / (total - warmup). An epoch's first step is the nearest whole one.
double decay_factor(const Decay&, const Progress&);

}  // namespace ddpprof::learning_rate
