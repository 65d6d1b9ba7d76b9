// The ranges of the vocabulary that are parts of a step. The database stores a phase under its range's name.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "tracer/format/vocabulary.hpp"

namespace ddpprof::trace {

enum class PhaseName : std::uint8_t {
  none,
  data_wait,
  load_batch,
  host_to_device,
  buffers,
  forward,
  backward,
  optimizer,
  replicate,
  scatter,
  gather,
  reduce,
  replica_forward,
  replica_backward,
};
inline constexpr std::array<std::pair<std::string_view, PhaseName>, 13> phase_names = {{
    {vocabulary::data_wait, PhaseName::data_wait},
    {vocabulary::load_batch, PhaseName::load_batch},
    {vocabulary::host_to_device, PhaseName::host_to_device},
    {vocabulary::buffers, PhaseName::buffers},
    {vocabulary::forward, PhaseName::forward},
    {vocabulary::backward, PhaseName::backward},
    {vocabulary::optimizer, PhaseName::optimizer},
    {vocabulary::replicate, PhaseName::replicate},
    {vocabulary::scatter, PhaseName::scatter},
    {vocabulary::gather, PhaseName::gather},
    {vocabulary::reduce, PhaseName::reduce},
    {vocabulary::replica_forward, PhaseName::replica_forward},
    {vocabulary::replica_backward, PhaseName::replica_backward},
}};

// Returns PhaseName::none for a text that is not a phase's name.
constexpr PhaseName phase_named(std::string_view text) {
  for (const auto& [name, phase] : phase_names)
    if (name == text) return phase;
  return PhaseName::none;
}
constexpr std::string_view to_string(PhaseName phase) {  // "none" for PhaseName::none
  for (const auto& [name, named] : phase_names)
    if (named == phase) return name;
  return "none";
}
constexpr bool is_copy(PhaseName name) { return name >= PhaseName::replicate && name <= PhaseName::reduce; }
constexpr bool is_replica(PhaseName name) { return name >= PhaseName::replica_forward; }
constexpr bool is_load(PhaseName name) { return name == PhaseName::load_batch; }

}  // namespace ddpprof::trace
