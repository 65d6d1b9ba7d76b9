#include "analysis/export/anonymous/replacements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>
#include <stdexcept>

#include "tracer/format/vocabulary.hpp"

namespace ddpprof::export_ {
namespace {

namespace v = vocabulary;

constexpr std::array public_words = {
    // ddpprof
    v::domain_name, v::setup, v::checkpoint, v::step, v::data_wait, v::host_to_device, v::buffers, v::forward,
    v::backward, v::optimizer, v::load_batch, v::replicate, v::scatter, v::gather, v::reduce, v::replica_forward,
    v::replica_backward, v::bucket_member, v::grad_ready, v::collective_launch, v::clock_sample, v::loss,
    v::learning_rate, v::local_gradient_sqr, v::gradient_sqr, v::collective, "all", "none", "unknown", "other",
    // ordinary words of ddpprof's messages: as a name they tell nothing, and replaced they would spoil the messages
    "data", "job", "model", "rank", "ranks", "run", "steps", "trace", "traces", "training",
    // domains of ranges
    "operation", "annotation", "python", "nvtx", "NCCL",
    // collectives, element types, optimizers of PyTorch
    "all_reduce", "broadcast", "all_gather", "reduce_scatter", "barrier", "send", "recv", "all_to_all", "float",
    "double", "half", "int", "long", "bool", "float16", "bfloat16", "float32", "float64", "int8", "int32", "int64",
    "uint8", "sgd", "adam", "adamw", "SGD", "Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "ASGD", "LBFGS", "NAdam",
    "RAdam", "RMSprop", "Rprop", "Adafactor", "adaptive"};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Replaces `from` where it is a word of its own.
void replace_words(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    const std::size_t end = at + from.size();
    const bool whole = (at == 0 || !is_word(text[at - 1]) || !is_word(from.front())) &&
                       (end == text.size() || !is_word(text[end]) || !is_word(from.back()));
    if (whole) text.replace(at, from.size(), to);
    at += whole ? to.size() : 1;
  }
}

}  // namespace

bool is_public_name(std::string_view name) {
  if (std::ranges::find(public_words, name) != public_words.end()) return true;
  static const std::regex pattern(
      "[0-9]*|(step|iteration|ProfilerStep|bucket|rank)[ #_]?[0-9]+|(aten|c10d)::[A-Za-z0-9_:]+|"
      "nccl[A-Za-z0-9_:<>(), *]*|gloo:[a-z_]+|"
      "cu(da)?(Launch|Mem|Stream|Event|Ctx|Module|Func|Device|Graph|Init|Get|Occupancy|Pointer)[A-Za-z0-9_]*|"
      "record_param_comms|Mem(cpy|set) [A-Za-z() >-]*|"
      "default_pg|mesh_(dp|tp|pp|ep|cp)(_shard|_replicate)?|undefined|void at::native::[A-Za-z0-9_:<>(), *&{}#.~-]*|"
      "_ZN2at6native[A-Za-z0-9_]*");
  return name.size() < 2000 && std::regex_match(name.begin(), name.end(), pattern);
}

void Replacements::add(std::string_view name_class, const std::string& original) {
  if (!is_public_name(original)) classes_[std::string(name_class)].try_emplace(original);
}

void Replacements::add_pair(const std::string& original, const std::string& replacement) {
  if (!original.empty() && original != replacement) pairs_.try_emplace(original, replacement);
}

void Replacements::number() {
  for (auto& [name_class, names] : classes_) {
    const std::size_t width = std::to_string(names.size()).size();
    std::size_t number = 0;
    for (auto& [original, replacement] : names) {
      const auto made = pairs_.find(original);
      replacement = made != pairs_.end() ? made->second : fmt::format("{}-{:0{}}", name_class, ++number, width);
      if (original.size() > 1) in_texts_.emplace_back(original, replacement);
    }
  }
  for (const auto& pair : pairs_) in_texts_.push_back(pair);
  std::ranges::stable_sort(in_texts_, [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
}

std::string Replacements::name(std::string_view name_class, const std::string& original) const {
  if (const auto names = classes_.find(name_class); names != classes_.end())
    if (const auto found = names->second.find(original); found != names->second.end()) return found->second;
  if (is_public_name(original)) return original;
  throw std::logic_error(fmt::format("anonymous export: a {} was not registered", name_class));
}

std::string Replacements::text(const std::string& original) const {
  static const std::regex path("(^|[\\s\"'=(:,;])~?/[^\\s\"',;:)]+");
  static const std::regex address("\\b[0-9]{1,3}(\\.[0-9]{1,3}){3}\\b");
  static const std::regex file(
      "[A-Za-z0-9_./*-]+\\.(json|gz|zst|db|sqlite|csv|tsv|py|pt|yaml|log|txt|nsys-rep|ddps)\\b");
  static const std::regex quoted("(^|[\\s(=])(['\"])\\S[^'\"]*\\2(?=$|[\\s).,;:])");
  std::string text = original;
  for (const auto& [from, to] : in_texts_) replace_words(text, from, to);
  text = std::regex_replace(text, quoted, "$1'name'");
  text = std::regex_replace(text, file, "file");
  text = std::regex_replace(text, path, "$1path");
  return std::regex_replace(text, address, "address");
}

}  // namespace ddpprof::export_
