// Work of the devices in each measured step: kernels by short name and shape, copies by kind and bytes.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/metrics/measured.hpp"
#include "analysis/metrics/row_scan.hpp"

namespace ddpprof::metrics {

// Sums over the ranks in one step.
struct WorkInStep {
  std::int64_t time_ns = 0, calls = 0;  // sum of durations; simultaneous calls are counted separately
};

struct Work {
  std::string kind;   // compute, communication, copy, set; operation if no device recorded work
  std::string name;   // a kernel's short name (short_kernel_name), a copy's kind, an operation's name
  std::string shape;  // "grid 128, block 256", "4096 B", various_shapes; "" if unknown
  std::vector<WorkInStep> steps;  // same index as Workload::ranks; trailing steps without calls are omitted

  WorkInStep total() const;
};

inline constexpr const char* various_shapes = "various";
inline constexpr std::size_t shapes_most = 64;  // per name

struct Workload {
  std::vector<Work> all;            // by kind, name, shape
  std::vector<std::int64_t> ranks;  // number of ranks in each measured step; 0 if no rank has raw events
  bool totals = false;              // true: the whole trace is one entry, and `ranks` is ranks × steps
};

// Returns the work of each configuration. An event belongs to the measured step in which it begins; events outside
// measured steps and ranks without raw events are left out. If no device ran anything (some imports), operations of the
// host are counted, without the time of nested operations. One pass over the events: memory grows with the number of
// names, shapes and steps. A name with more shapes than `shapes_most` gets `various_shapes` for further shapes.
// Throws SQLite::Exception.
std::vector<Workload> read_work(SQLite::Database&, const std::vector<const Configuration*>&, const Stopped&);

// Returns totals of whole traces without shapes, from the table kernel_summary. Throws SQLite::Exception.
Workload read_work_totals(SQLite::Database&, const Configuration&);

using KindAndName = std::pair<std::string, std::string>;
std::set<KindAndName> names_of_many_shapes(const Workload&);
// Replaces the shapes of every given name by one entry, `various_shapes`.
void merge_shapes(Workload&, const std::set<KindAndName>&);

}  // namespace ddpprof::metrics
