#include "analysis/import/recorded/host_message.hpp"

#include <array>
#include <charconv>
#include <variant>

namespace ddpprof::import {

std::optional<HostMessage> host_message(std::string_view name, const store::PayloadColumn& payload) {
  static constexpr std::array<std::string_view, 3> backends = {"gloo", "ucc", "mpi"};
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  HostMessage message;
  for (const std::string_view backend : backends)
    if (name.substr(0, colon) == backend) message.backend = backend;
  if (message.backend.empty()) return std::nullopt;
  const std::string_view rest = name.substr(colon + 1);
  const std::size_t space = rest.find(' ');
  message.op = collective_op(rest.substr(0, space));
  if (message.op == CollectiveOp::other) return std::nullopt;
  std::int64_t bytes = 0;
  if (const auto* whole = std::get_if<std::int64_t>(&payload)) {
    bytes = *whole;
  } else if (space != std::string_view::npos) {
    const std::string_view number = rest.substr(space + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), bytes);
    if (error != std::errc{} || end != number.data() + number.size()) bytes = 0;
  }
  message.bytes = bytes_of(bytes, 1);
  return message;
}

}  // namespace ddpprof::import
