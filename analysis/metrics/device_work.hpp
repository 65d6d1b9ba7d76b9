// What the devices ran in each measured step: kernels by short name and shape, copies by kind and bytes.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/metrics/measured.hpp"
#include "analysis/metrics/row_scan.hpp"

namespace ddpprof::metrics {

// In one step, over the ranks.
struct WorkInStep {
  std::int64_t time_ns = 0, calls = 0;  // sum of durations, simultaneous ones counted each
};

struct Work {
  std::string kind;   // compute, communication, copy, set; operation where no device ran anything
  std::string name;   // a kernel's short name (short_kernel_name), a copy's kind, an operation's name
  std::string shape;  // "grid 128, block 256", "4096 B", various_shapes; "" where there is none or it is not known
  std::vector<WorkInStep> steps;  // by place in Workload::ranks; those after the last with any are left out

  WorkInStep total() const;
};

inline constexpr const char* various_shapes = "various";
inline constexpr std::size_t shapes_most = 64;  // of one name

struct Workload {
  std::vector<Work> all;            // by kind, name, shape
  std::vector<std::int64_t> ranks;  // that each measured step's times are summed over; 0: none with raw events
  bool totals = false;              // of whole traces, in one "step"; `ranks` is ranks times steps
};

// Of each configuration what its ranks with raw events ran, each event counted to the measured step in which it begins;
// events outside of measured steps are left out. Where the devices ran nothing: the host's operations (of imports),
// each with the time that the ones inside of it do not take. One pass over the events; memory grows with names, shapes
// and steps, not with events: of a name with more shapes than `shapes_most` the further ones are `various_shapes`.
// Throws SQLite::Exception.
std::vector<Workload> read_work(SQLite::Database&, const std::vector<const Configuration*>&, const Stopped&);

// As the table kernel_summary has them: of whole traces, without shapes. Throws SQLite::Exception.
Workload read_work_totals(SQLite::Database&, const Configuration&);

using KindAndName = std::pair<std::string, std::string>;
std::set<KindAndName> names_of_many_shapes(const Workload&);
// All shapes of each of these names as one, `various_shapes`.
void merge_shapes(Workload&, const std::set<KindAndName>&);

}  // namespace ddpprof::metrics
