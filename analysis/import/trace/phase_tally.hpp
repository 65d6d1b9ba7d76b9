// Counts the collectives in each phase of a rank's steps, their bytes and their durations.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/import/trace/collectives/collectives.hpp"
#include "analysis/import/trace/training_steps.hpp"

namespace ddpprof::import {

enum class CallPhase : std::uint8_t { forward, backward, beside };
inline constexpr std::size_t call_phases = 3;

struct Exchanges {
  std::int64_t count = 0;
  std::optional<std::int64_t> bytes;  // none: not recorded for all of them
  std::int64_t time_ns = 0;           // sum of the runs' durations, including the wait for other ranks
  std::int64_t short_ns = 0;          // lower quartile of durations: a run with little waiting
  std::int64_t steps = 0;             // steps with at least one of them
};

// Counts are the host's calls if they were recorded, because a backend may execute one operation as another; otherwise
// runs. Bytes are those of the calls or, if a call's size is missing, of the runs. Durations are those of the runs.
// Collectives outside of steps are left out; without steps all count as `beside`. Inside an annotation of FSDP the
// annotation gives the phase, because FSDP gathers before autograd's first function and scatters after its last one.
class PhaseTally {
 public:
  PhaseTally(const RankTrace&, const std::vector<HostStep>&, const std::vector<Collective>&);

  Exchanges of(CallPhase, CollectiveOp) const;
  std::int64_t count(CollectiveOp) const;  // in all phases
  std::int64_t exchanges() const;          // all except barriers
  // Counts collectives in the forward of a step's first micro-batch. A later micro-batch's forward begins where a
  // backward ends, unless it is annotated, and may contain the last launches of that backward.
  std::int64_t in_first_forwards(CollectiveOp) const;
  // All-gathers and broadcasts outside forward and backward, after the start of the first backward. Before it,
  // parameters are synchronised once.
  Exchanges renewing() const;
  // Returns text such as "in 3 steps: forward 24 all-gathers; backward 24 all-gathers, 24 reduce-scatters".
  std::string text() const;

 private:
  struct Count {
    std::int64_t count = 0, bytes = 0, unsized = 0, in_first_forwards = 0;
    std::vector<std::int64_t> durations_ns;
    std::set<std::size_t> steps;
    void add(const Count&);
  };
  using Counts = std::array<std::array<Count, collective_ops>, call_phases>;
  struct Book {
    Counts counts;
    Count renewing;
  };

  void add(Book&, CollectiveOp, std::int64_t launch_ns, std::int64_t bytes, const std::optional<Span>& run) const;
  static Exchanges both(const Count& called, const Count& run);
  static std::int64_t exchanges_of(const Counts&);

  struct Marked {
    Span time;
    CallPhase phase = CallPhase::beside;
  };

  const std::vector<HostStep>& steps_;
  std::vector<Marked> marks_;  // annotations of FSDP, by start
  std::optional<std::int64_t> first_backward_ns_;
  Book called_, ran_;  // called_: the runs if no call was recorded
};

}  // namespace ddpprof::import
