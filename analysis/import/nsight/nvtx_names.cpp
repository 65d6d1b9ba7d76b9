#include "analysis/import/nsight/nvtx_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string>

namespace ddpprof::import {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

bool one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Removes words that can occur with any phase.
std::string core_of(std::string_view name) {
  static constexpr std::array<std::string_view, 15> fillers{"pass",  "step", "compute", "model", "train",
                                                            "phase", "the",  "ddp",     "run",   "training",
                                                            "time",  "of",   "nvtx",    "range", "loss"};
  std::string core;
  for (const std::string& token : vocabulary::words_of(name))
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

// Returns true for autograd's nodes: AddmmBackward0, NllLossBackward.
bool is_autograd_node(std::string_view name) {
  while (!name.empty() && is_digit(name.back())) name.remove_suffix(1);
  return name.size() > std::string_view("Backward").size() && name.ends_with("Backward") &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c) || c == '_'; }) &&
         std::isupper(static_cast<unsigned char>(name.front())) != 0;
}

}  // namespace

NvtxName parse_emitted(std::string_view text) {
  NvtxName result{vocabulary::without_details(text), {}};
  static constexpr std::string_view sizes_key = ", sizes = ", ids_key = ", input_op_ids = ";
  if (const std::size_t sizes = text.find(sizes_key, result.name.size()); sizes != std::string_view::npos) {
    result.sizes = text.substr(sizes + sizes_key.size());
    result.sizes = result.sizes.substr(0, result.sizes.find(ids_key));
  }
  return result;
}

NvtxMeaning meaning_of(std::string_view name) {
  if (name == "torch::autograd::AccumulateGrad") return NvtxMeaning::gradient;
  if (name.starts_with("autograd::engine::evaluate_function")) return NvtxMeaning::backward_op;
  if (name.starts_with("Optimizer.step")) return NvtxMeaning::optimizer;
  if (name.starts_with("enumerate(DataLoader)")) return NvtxMeaning::data;
  // Most ranges of a trace are operations, and an operation is not a phase.
  if (name.find("::") != std::string_view::npos || name.size() > 128) return NvtxMeaning::none;
  if (is_autograd_node(name)) return NvtxMeaning::backward_op;
  if (vocabulary::is_plain_step(name)) return NvtxMeaning::step;
  const std::optional<vocabulary::Method> method = vocabulary::method_of(name);
  if (!method) return NvtxMeaning::none;
  if (method->name == "step" && (method->owner.ends_with("DeepSpeedEngine") || method->owner.ends_with("optimizer")))
    return NvtxMeaning::optimizer;
  return by_core(core_of(method->name));
}

}  // namespace ddpprof::import
