#include "tracer/format/step_name.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

namespace ddpprof::vocabulary {
namespace {

// <cctype> depends on the locale, which a traced program may have changed.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::optional<std::int64_t> step_number(std::string_view digits) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || number >= most_steps) return std::nullopt;
  return number;
}

// Returns true if the words from `at` on are a number, optionally followed by a total: "3", "3/100", "3 of 100".
bool ends_with_number(const std::vector<std::string>& words, std::size_t at) {
  if (at >= words.size() || !is_digit(words[at].front())) return false;
  ++at;
  if (at < words.size() && words[at] == "of") ++at;
  if (at < words.size() && is_digit(words[at].front())) ++at;
  return at == words.size();
}

std::optional<StepName> of_range(std::string_view name, std::string_view range) {
  if (!name.starts_with(range)) return std::nullopt;
  const std::string_view rest = name.substr(range.size());
  if (rest.empty()) return StepName{std::string(range), std::nullopt};
  if (is_letter(rest.front()) || (is_digit(rest.front()) && is_digit(range.back()))) return std::nullopt;
  const std::vector<std::string> words = words_of(rest);
  if (!ends_with_number(words, 0)) return std::nullopt;
  const std::optional<std::int64_t> number = step_number(words.front());
  if (!number) return std::nullopt;
  return StepName{std::string(range) + " N", number};
}

}  // namespace

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_letter(text[i]) && !is_digit(text[i])) {
      ++i;
      continue;
    }
    const bool digits = is_digit(text[i]);
    std::string word;
    for (; i < text.size() && (digits ? is_digit(text[i]) : is_letter(text[i])); ++i) word += small(text[i]);
    words.push_back(std::move(word));
  }
  return words;
}

bool is_word_of_evaluation(std::string_view word) {
  static constexpr std::array<std::string_view, 14> words{
      "val",  "valid",   "validate", "validation", "eval",    "evaluate",   "evaluation",
      "test", "testing", "infer",    "inference",  "predict", "prediction", "sanity"};
  return one_of(word, words);
}

std::string_view without_details(std::string_view text) {
  static constexpr std::array<std::string_view, 4> keys{", seq = ", ", op_id = ", ", sizes = ", ", input_op_ids = "};
  std::size_t end = std::string_view::npos;
  for (const std::string_view key : keys) end = std::min(end, text.find(key));
  return text.substr(0, end);
}

std::optional<Method> method_of(std::string_view name) {
  // Lightning: "[pl][profile][_TrainingEpochLoop].train_dataloader_next".
  if (name.starts_with('['))
    if (const std::size_t last = name.rfind(']'); last != std::string_view::npos) name.remove_prefix(last + 1);
  if (name.starts_with('.')) name.remove_prefix(1);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return Method{{}, name};
  // The forward of a single module is not the model's. These owners wrap the model, or are the usual variable names in
  // scripts.
  static constexpr std::array<std::string_view, 7> wrappers{"DistributedDataParallel",
                                                            "FullyShardedDataParallel",
                                                            "DeepSpeedEngine",
                                                            "Strategy",
                                                            "loss",
                                                            "optimizer",
                                                            "model"};
  const std::string_view owner = name.substr(0, dot);
  if (std::none_of(wrappers.begin(), wrappers.end(), [&](std::string_view w) { return owner.ends_with(w); }))
    return std::nullopt;
  return Method{owner, name.substr(dot + 1)};
}

std::optional<NumberedStep> numbered_step(std::string_view name) {
  static constexpr std::array<std::string_view, 8> keywords{"iteration", "iter",      "step",  "profilerstep",
                                                            "trainstep", "trainiter", "batch", "globalstep"};
  static constexpr std::array<std::string_view, 7> others{"micro",     "mini",  "microbatch", "minibatch",
                                                          "optimizer", "optim", "substep"};
  constexpr std::size_t longest = 96;
  if (name.size() > longest || name.empty() || name.find("::") != std::string_view::npos) return std::nullopt;
  if (std::none_of(name.begin(), name.end(), is_digit)) return std::nullopt;
  const std::vector<std::string> words = words_of(name);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (one_of(words[i], others) || is_word_of_evaluation(words[i])) return std::nullopt;
    if (is_digit(words[i].front()) || !is_digit(words[i + 1].front()) || !one_of(words[i], keywords)) continue;
    if (!ends_with_number(words, i + 1)) return std::nullopt;
    const std::optional<std::int64_t> number = step_number(words[i + 1]);
    if (!number) return std::nullopt;
    NumberedStep step{{}, *number};
    for (std::size_t k = 0; k <= i; ++k)
      step.pattern += (k == 0 ? "" : " ") + (is_digit(words[k].front()) ? std::string("N") : words[k]);
    return step;
  }
  return std::nullopt;
}

bool is_plain_step(std::string_view name) {
  static constexpr std::array<std::string_view, 10> steps{
      "step",      "train step", "training step",   "iteration",          "iter",
      "trainstep", "train iter", "train iteration", "training iteration", "run training batch"};
  constexpr std::size_t longest = 128;
  // Quick exit for operations, which are most of a trace.
  if (name.size() > longest || name.find("::") != std::string_view::npos || name.starts_with("Optimizer.step"))
    return false;
  const std::optional<Method> method = method_of(name);
  if (!method) return false;
  // These methods update the weights; they are not steps.
  if (method->name == "step" && (method->owner.ends_with("DeepSpeedEngine") || method->owner.ends_with("optimizer")))
    return false;
  std::string words;
  for (const std::string& word : words_of(method->name))
    if (!is_digit(word.front())) words += (words.empty() ? "" : " ") + word;
  return one_of(words, steps);
}

std::optional<StepName> step_name(std::string_view text, std::string_view range) {
  const std::string_view name = without_details(text);
  if (!range.empty()) return of_range(name, range);
  if (std::optional<NumberedStep> step = numbered_step(name)) return StepName{std::move(step->pattern), step->number};
  if (is_plain_step(name)) return StepName{std::string(name), std::nullopt};
  return std::nullopt;
}

}  // namespace ddpprof::vocabulary
