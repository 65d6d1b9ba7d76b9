// Fills the tables of events of an Nsight-shaped export.
#pragma once

#include <cstdint>

#include "analysis/export/nsys/nsys_file.hpp"
#include "analysis/export/nsys/nsys_names.hpp"

namespace ddpprof::export_ {

struct NsysCounts {
  std::int64_t kernels = 0, copies = 0, calls = 0, ranges = 0;  // ranges: and marks
};

// Raw events as they were recorded, each table in the order of its rows.
void write_raw_events(NsysFile&, NsysCounts&);

// Of processes without raw ranges: steps, phases, gradients and collectives as ranges and marks of the domain
// "ddpprof", what is known of each as jsonText.
void write_made_ranges(NsysFile&, NsysNames&, NsysCounts&);

// NvtxDomainCreate events, ThreadNames. After the two above.
void write_domains_and_threads(NsysFile&, NsysNames&);

}  // namespace ddpprof::export_
