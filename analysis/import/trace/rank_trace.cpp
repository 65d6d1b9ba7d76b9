#include "analysis/import/trace/rank_trace.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "analysis/import/trace/checked.hpp"

namespace ddpprof::import {

std::uint32_t Names::intern(std::string_view text) {
  if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
  const auto id = static_cast<std::uint32_t>(texts_.size());
  const auto [added, fresh] = ids_.emplace(std::string(text), id);
  texts_.push_back(&added->first);
  return id;
}

namespace {

// Operations of the host matter only without devices, so they get a small part of the memory.
SortOptions small_part(SortOptions options) {
  options.bound_bytes /= 16;
  return options;
}

// "float" for "c10::Float".
std::string type_name(std::string_view dtype) {
  for (const std::string_view prefix : {"c10::", "at::", "torch."})
    if (dtype.starts_with(prefix)) dtype.remove_prefix(prefix.size());
  std::string name;
  for (const char c : dtype) name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

}  // namespace

RankTrace::RankTrace(const SortOptions& sort)
    : slices(sort), backward_ops(sort), forward_ops(sort), memory(sort), host_work(small_part(sort)) {
  names.intern("");
}

void RankTrace::saw_host(std::int64_t start_ns, std::int64_t end_ns) {
  first_ns = any_host_event ? std::min(first_ns, start_ns) : start_ns;
  last_ns = any_host_event ? std::max(last_ns, end_ns) : end_ns;
  any_host_event = true;
}

void RankTrace::saw_optimizer(std::string_view mark) {
  constexpr std::string_view before = "Optimizer.step#", after = ".step";
  if (!optimizer.empty() || !mark.starts_with(before) || !mark.ends_with(after)) return;
  mark.remove_prefix(before.size());
  if (mark.size() > after.size()) optimizer = mark.substr(0, mark.size() - after.size());
}

CollectiveOp collective_op(std::string_view text) {
  std::string letters;
  for (const char c : text)
    if (c != '_' && c != '-') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  static constexpr std::array<std::pair<std::string_view, CollectiveOp>, 8> words{{
      {"allreduce", CollectiveOp::all_reduce},
      {"broadcast", CollectiveOp::broadcast},
      {"allgather", CollectiveOp::all_gather},
      {"reducescatter", CollectiveOp::reduce_scatter},
      {"barrier", CollectiveOp::barrier},
      {"alltoall", CollectiveOp::all_to_all},
      {"send", CollectiveOp::send},  // includes a kernel that both sends and receives
      {"recv", CollectiveOp::receive},
  }};
  for (const auto& [word, op] : words)
    if (letters.find(word) != std::string::npos) return op;
  return CollectiveOp::other;
}

std::int64_t bytes_of(std::int64_t elements, std::int64_t element_bytes) {
  std::int64_t bytes = 0;
  if (elements < 0 || element_bytes < 0 || __builtin_mul_overflow(elements, element_bytes, &bytes)) return 0;
  return bytes <= most_bytes ? bytes : 0;
}

bool is_integral(std::string_view dtype) {
  const std::string name = type_name(dtype);
  return element_bytes(dtype) > 0 && name.find("float") == std::string::npos &&
         name.find("double") == std::string::npos && name != "half" && name.find("complex") == std::string::npos;
}

std::int32_t element_bytes(std::string_view dtype) {
  const std::string name = type_name(dtype);
  static constexpr std::array<std::pair<std::string_view, std::int32_t>, 26> known{{
      {"float", 4},          {"float32", 4},     {"int", 4},           {"int32", 4},       {"double", 8},
      {"float64", 8},        {"long", 8},        {"int64", 8},         {"long int", 8},    {"half", 2},
      {"float16", 2},        {"bfloat16", 2},    {"short", 2},         {"int16", 2},       {"short int", 2},
      {"char", 1},           {"signed char", 1}, {"int8", 1},          {"byte", 1},        {"unsigned char", 1},
      {"uint8", 1},          {"bool", 1},        {"float8_e4m3fn", 1}, {"float8_e5m2", 1}, {"complexfloat", 8},
      {"complexdouble", 16},
  }};
  const auto found = std::find_if(known.begin(), known.end(), [&](const auto& entry) { return entry.first == name; });
  return found == known.end() ? 0 : found->second;
}

}  // namespace ddpprof::import
