// What collectives each phase of a rank's steps called: how many, of how many bytes, and for how long they ran.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/import/trace/collectives.hpp"
#include "analysis/import/trace/training_steps.hpp"

namespace ddpprof::import {

enum class CallPhase : std::uint8_t { forward, backward, beside };
inline constexpr std::size_t call_phases = 3;

struct Exchanges {
  std::int64_t count = 0;
  std::optional<std::int64_t> bytes;  // none: not recorded of all of them
  std::int64_t time_ns = 0;           // of their runs, waiting for other ranks included
  std::int64_t short_ns = 0;          // of four runs one is shorter: what they take with little waiting
  std::int64_t steps = 0;             // in which there were any
};

// Counts are the host's calls where they were recorded, as a backend may carry one operation out as another, else the
// runs; bytes are the calls' or, where those lack any, the runs'; times are the runs'. What lies in no step is left
// out; without steps everything lies beside.
class PhaseTally {
 public:
  PhaseTally(const RankTrace&, const std::vector<HostStep>&, const std::vector<Collective>&);

  Exchanges of(CallPhase, CollectiveOp) const;
  std::int64_t count(CollectiveOp) const;  // of all phases
  std::int64_t exchanges() const;          // all but barriers
  // Within the forward of a step's first micro-batch: a later one's begins where a backward ends, if nobody annotated
  // it, and may hold what that backward launched last.
  std::int64_t in_first_forwards(CollectiveOp) const;
  // All-gathers and broadcasts beside forward and backward, from the first backward on: before it, parameters are made
  // alike once.
  Exchanges renewing() const;
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

  const std::vector<HostStep>& steps_;
  std::optional<std::int64_t> first_backward_ns_;
  Book called_, ran_;  // called_: the runs again where no call was recorded
};

}  // namespace ddpprof::import
