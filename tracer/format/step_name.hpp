// Which NVTX ranges are the steps of training, by their names: one rule for the tracer, which keeps those that were
// asked for, and for the import, which numbers them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddpprof::vocabulary {

inline constexpr std::int64_t most_steps = std::int64_t{1} << 40;  // no step has this number, or a larger one
inline constexpr std::size_t longest_step_range = 96;              // bytes of a name that --step-range may give

// Words in small letters and whole numbers; everything else separates.
std::vector<std::string> words_of(std::string_view text);

// A range's name without what torch.autograd.profiler.emit_nvtx appends at each call: "aten::addmm, seq = 7, …".
std::string_view without_details(std::string_view text);

// "DistributedDataParallel.forward", "[pl][profile]Strategy.backward": the method, where its owner is the whole model.
// Of a name without an owner the name; none: a module's own method, which says nothing of the model's.
struct Method {
  std::string_view owner, name;
};
std::optional<Method> method_of(std::string_view name);

// "iteration 5", "step 3", "ProfilerStep#4", "iter7", "train_step: 9", "Iteration-12", "epoch 2, step 40/100".
struct NumberedStep {
  std::string pattern;  // equal for the steps of one loop
  std::int64_t number = 0;
};
std::optional<NumberedStep> numbered_step(std::string_view name);

// "train_step", "iteration", "[pl][profile]run_training_batch": a step, which one is not said.
bool is_plain_step(std::string_view name);

// Whether a range of this name is a step, and of which loop. `range`: what the user says steps are called (NAME, or
// NAME and a number: "step 7", "ProfilerStep#7", "step_7", "step 7/100"); empty: the two rules above.
struct StepName {
  std::string pattern;
  std::optional<std::int64_t> number;  // as the name gives it
};
std::optional<StepName> step_name(std::string_view text, std::string_view range);

}  // namespace ddpprof::vocabulary
