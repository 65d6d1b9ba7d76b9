#include "analysis/export/chrome_format.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/export/json_depth.hpp"
#include "tracer/store/utf8.hpp"

namespace ddpprof::export_ {
namespace {

constexpr std::pair<std::string_view, std::string_view> categories[] = {
    {"operation", "cpu_op"}, {"annotation", "user_annotation"}, {"python", "python_function"}};

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    text += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    text += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

const Json* only_member(const Json& object, const char* key) {
  return object.is_object() && object.size() == 1 && object.contains(key) ? &object.at(key) : nullptr;
}

// Returns the number of cell(double), or none.
std::optional<double> real_of(const Json& value) {
  if (value.is_number()) return value.get<double>();
  const Json* real = only_member(value, "real");
  if (real && *real == "inf") return INFINITY;
  if (real && *real == "-inf") return -INFINITY;
  return std::nullopt;
}

}  // namespace

bool is_text(std::string_view bytes) {
  const bool ascii = std::ranges::all_of(bytes, [](char c) { return static_cast<signed char>(c) > 0; });
  return ascii || store::to_valid_utf8(bytes) == bytes;
}

Json cell(std::string_view text) {
  if (is_text(text)) return text;
  return {{"bytes", hex(text)}};
}

Json cell(double number) {
  if (std::isfinite(number)) return number;
  return {{"real", number > 0 ? "inf" : "-inf"}};
}

std::string category_of(const std::optional<std::string>& domain) {
  if (!domain) return "nvtx";
  for (const auto& [ours, theirs] : categories)
    if (*domain == ours) return std::string(theirs);
  return *domain;
}

std::optional<std::string> domain_of(std::string_view category) {
  if (category == "nvtx") return std::nullopt;
  for (const auto& [ours, theirs] : categories)
    if (category == theirs) return std::string(ours);
  return std::string(category);
}

Json payload_arguments(const Payload& payload) {
  if (const auto* whole = std::get_if<std::int64_t>(&payload)) return {{"payload", *whole}};
  if (const auto* real = std::get_if<double>(&payload)) return {{"payload", cell(*real)}};
  const auto* text = std::get_if<std::string>(&payload);
  if (!text) return nullptr;
  Json parsed = nests_deeper(*text) ? Json(*text) : Json::parse(*text, nullptr, false);
  if (parsed.is_discarded()) parsed = *text;
  // The export's own member would hide the payload's member of this name.
  if (parsed.is_object() && !parsed.contains(own_key)) return parsed;
  return {{"payload", std::move(parsed)}};
}

Payload implied_payload(const Json& arguments) {
  if (!arguments.is_object() || arguments.empty()) return {};
  if (const Json* payload = only_member(arguments, "payload")) {
    if (payload->is_number_integer() && !(payload->is_number_unsigned() && payload->get<std::uint64_t>() > INT64_MAX))
      return payload->get<std::int64_t>();
    if (const auto real = real_of(*payload)) return *real;
  }
  return arguments.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::int64_t local_guess_ns(const store::ClockAlignment& alignment, std::int64_t aligned_ns) {
  const auto shifted_ns = static_cast<std::uint64_t>(aligned_ns) - static_cast<std::uint64_t>(alignment.offset_ns);
  std::uint64_t local_ns = shifted_ns;  // wraps instead of overflowing, for any value in a file
  if (alignment.drift_ppb == 0.0) return static_cast<std::int64_t>(local_ns);
  for (int i = 0; i < 3; ++i) {
    const auto since_ns = static_cast<std::int64_t>(local_ns - static_cast<std::uint64_t>(alignment.at_ns));
    const double drifted_ns = static_cast<double>(since_ns) * 1e-9 * alignment.drift_ppb;
    if (!(std::abs(drifted_ns) < 9e18)) break;
    local_ns = shifted_ns - static_cast<std::uint64_t>(static_cast<std::int64_t>(drifted_ns));
  }
  return static_cast<std::int64_t>(local_ns);
}

}  // namespace ddpprof::export_
