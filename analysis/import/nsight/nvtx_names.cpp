#include "analysis/import/nsight/nvtx_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <set>
#include <span>
#include <vector>

#include "analysis/import/trace/checked.hpp"

namespace ddpprof::import {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// Words in small letters and whole numbers; everything else separates.
std::vector<std::string> tokens_of(std::string_view text) {
  std::vector<std::string> tokens;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_letter(text[i]) && !is_digit(text[i])) {
      ++i;
      continue;
    }
    const bool digits = is_digit(text[i]);
    std::string token;
    for (; i < text.size() && (digits ? is_digit(text[i]) : is_letter(text[i])); ++i)
      token += static_cast<char>(std::tolower(static_cast<unsigned char>(text[i])));
    tokens.push_back(std::move(token));
  }
  return tokens;
}

bool one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// What is left of a name once words that any phase may carry are gone.
std::string core_of(std::string_view name) {
  static constexpr std::array<std::string_view, 15> fillers{"pass",  "step", "compute", "model", "train",
                                                            "phase", "the",  "ddp",     "run",   "training",
                                                            "time",  "of",   "nvtx",    "range", "loss"};
  std::string core;
  for (const std::string& token : tokens_of(name))
    if (!is_digit(token.front()) && !one_of(token, fillers)) core += (core.empty() ? "" : " ") + token;
  return core;
}

NvtxMeaning by_core(std::string_view core) {
  static constexpr std::array<std::string_view, 4> forward{"forward", "fwd", "forwardpass", "fprop"};
  static constexpr std::array<std::string_view, 6> backward{"backward", "bwd",      "backwardpass",
                                                            "bprop",    "backprop", "backpropagation"};
  static constexpr std::array<std::string_view, 11> optimizer{
      "optimizer",        "optimiser",         "optim",          "opt",
      "optimizer update", "optimizer apply",   "weight update",  "weights update",
      "update weights",   "update parameters", "apply gradients"};
  static constexpr std::array<std::string_view, 20> data{
      "data",       "dataloader",      "data loader",     "dataloading",     "data loading",
      "data load",  "load data",       "load batch",      "get batch",       "fetch batch",
      "next batch", "batch generator", "data wait",       "data fetch",      "fetch data",
      "get data",   "data iterator",   "dataloader next", "load next batch", "fetch next batch"};
  if (one_of(core, forward)) return NvtxMeaning::forward;
  if (one_of(core, backward)) return NvtxMeaning::backward;
  if (one_of(core, optimizer)) return NvtxMeaning::optimizer;
  if (one_of(core, data)) return NvtxMeaning::data;
  return NvtxMeaning::none;
}

// AddmmBackward0, NllLossBackward: autograd's nodes.
bool is_autograd_node(std::string_view name) {
  while (!name.empty() && is_digit(name.back())) name.remove_suffix(1);
  return name.size() > std::string_view("Backward").size() && name.ends_with("Backward") &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c) || c == '_'; }) &&
         std::isupper(static_cast<unsigned char>(name.front())) != 0;
}

}  // namespace

NvtxName parse_emitted(std::string_view text) {
  NvtxName result{text, {}};
  static constexpr std::array<std::string_view, 4> keys{", seq = ", ", op_id = ", ", sizes = ", ", input_op_ids = "};
  std::size_t end = std::string_view::npos;
  for (const std::string_view key : keys) end = std::min(end, text.find(key));
  if (end == std::string_view::npos) return result;
  result.name = text.substr(0, end);
  if (const std::size_t sizes = text.find(keys[2], end); sizes != std::string_view::npos) {
    result.sizes = text.substr(sizes + keys[2].size());
    result.sizes = result.sizes.substr(0, result.sizes.find(keys[3]));
  }
  return result;
}

NvtxMeaning meaning_of(std::string_view name) {
  if (name == "torch::autograd::AccumulateGrad") return NvtxMeaning::gradient;
  if (name.starts_with("autograd::engine::evaluate_function")) return NvtxMeaning::backward_op;
  if (name.starts_with("Optimizer.step")) return NvtxMeaning::optimizer;
  if (name.starts_with("enumerate(DataLoader)")) return NvtxMeaning::data;
  // Operations are most of a trace: none of them is a phase.
  if (name.find("::") != std::string_view::npos || name.size() > 128) return NvtxMeaning::none;
  if (is_autograd_node(name)) return NvtxMeaning::backward_op;
  // Lightning: "[pl][profile][_TrainingEpochLoop].train_dataloader_next".
  if (name.starts_with('['))
    if (const std::size_t last = name.rfind(']'); last != std::string_view::npos) name.remove_prefix(last + 1);
  if (name.starts_with('.')) name.remove_prefix(1);
  if (const std::size_t dot = name.rfind('.'); dot != std::string_view::npos) {
    // A module's own forward is not the model's; these wrap the model, or are called by these names in every script.
    static constexpr std::array<std::string_view, 7> wrappers{"DistributedDataParallel",
                                                              "FullyShardedDataParallel",
                                                              "DeepSpeedEngine",
                                                              "Strategy",
                                                              "loss",
                                                              "optimizer",
                                                              "model"};
    const std::string_view owner = name.substr(0, dot), method = name.substr(dot + 1);
    if (std::none_of(wrappers.begin(), wrappers.end(), [&](std::string_view w) { return owner.ends_with(w); }))
      return NvtxMeaning::none;
    if (method == "step" && (owner.ends_with("DeepSpeedEngine") || owner.ends_with("optimizer")))
      return NvtxMeaning::optimizer;
    name = method;
  }
  static const std::set<std::string, std::less<>> steps{
      "step",      "train step", "training step",   "iteration",          "iter",
      "trainstep", "train iter", "train iteration", "training iteration", "run training batch"};
  std::string words;
  for (const std::string& token : tokens_of(name))
    if (!is_digit(token.front())) words += (words.empty() ? "" : " ") + token;
  return steps.contains(words) ? NvtxMeaning::step : by_core(core_of(name));
}

std::optional<NumberedStep> numbered_step(std::string_view name) {
  static constexpr std::array<std::string_view, 8> keywords{"iteration", "iter",      "step",  "profilerstep",
                                                            "trainstep", "trainiter", "batch", "globalstep"};
  static constexpr std::array<std::string_view, 8> others{"micro",     "mini",  "microbatch", "minibatch",
                                                          "optimizer", "optim", "substep",    "validation"};
  constexpr std::size_t longest = 96;
  if (name.size() > longest || name.empty() || name.find("::") != std::string_view::npos) return std::nullopt;
  if (std::none_of(name.begin(), name.end(), is_digit)) return std::nullopt;
  const std::vector<std::string> tokens = tokens_of(name);
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (is_digit(tokens[i].front()) || !is_digit(tokens[i + 1].front())) {
      if (one_of(tokens[i], others)) return std::nullopt;
      continue;
    }
    if (one_of(tokens[i], others)) return std::nullopt;
    if (!one_of(tokens[i], keywords)) continue;
    // Behind the number at most how many there are: "3/100", "3 of 100".
    std::size_t next = i + 2;
    if (next < tokens.size() && tokens[next] == "of") ++next;
    if (next < tokens.size() && is_digit(tokens[next].front())) ++next;
    if (next != tokens.size()) return std::nullopt;
    NumberedStep step;
    const std::string& digits = tokens[i + 1];
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step.number);
    if (error != std::errc{} || step.number >= most_steps) return std::nullopt;
    for (std::size_t k = 0; k <= i; ++k)
      step.pattern += (k == 0 ? "" : " ") + (is_digit(tokens[k].front()) ? std::string("N") : tokens[k]);
    return step;
  }
  return std::nullopt;
}

}  // namespace ddpprof::import
