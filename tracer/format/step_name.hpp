// Recognises training steps by the names of NVTX ranges. The tracer uses these rules to record the requested steps; the
// import uses them to number steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddpprof::vocabulary {

inline constexpr std::int64_t most_steps = std::int64_t{1} << 40;  // step numbers are smaller
inline constexpr std::size_t longest_step_range = 96;              // bytes; longest name for --step-range

// Splits a text into words (in lower case) and whole numbers. All other characters separate.
std::vector<std::string> words_of(std::string_view text);

// Returns true for a word, in lower case, that names work without training: "val", "validation", "eval", "test",
// "infer".
bool is_word_of_evaluation(std::string_view word);

// Returns a range's name without the details that torch.autograd.profiler.emit_nvtx appends to each call:
// "aten::addmm, seq = 7, …".
std::string_view without_details(std::string_view text);

// Splits "DistributedDataParallel.forward" or "[pl][profile]Strategy.backward" into owner and method, if the owner is
// the whole model. A name without an owner is returned as the method. Returns nullopt for the method of a single
// module, which is only a part of the model's.
struct Method {
  std::string_view owner, name;
};
std::optional<Method> method_of(std::string_view name);

// "iteration 5", "step 3", "ProfilerStep#4", "iter7", "train_step: 9", "Iteration-12", "epoch 2, step 40/100". Not the
// steps of an evaluation: "val step 3".
struct NumberedStep {
  std::string pattern;  // equal for all steps of one loop
  std::int64_t number = 0;
};
std::optional<NumberedStep> numbered_step(std::string_view name);

// Returns true for the name of a step without a number: "train_step", "iteration",
// "[pl][profile]run_training_batch".
bool is_plain_step(std::string_view name);

// Returns the step that a range of this name is, or nullopt. `range` is the name of the steps as the user gave it: NAME
// then matches NAME alone or NAME with a number ("step 7", "ProfilerStep#7", "step_7", "step 7/100"). If `range` is
// empty, numbered_step() and is_plain_step() decide.
struct StepName {
  std::string pattern;
  std::optional<std::int64_t> number;  // if the name has one
};
std::optional<StepName> step_name(std::string_view text, std::string_view range);

}  // namespace ddpprof::vocabulary
