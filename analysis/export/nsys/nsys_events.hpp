// Writes the event tables of an Nsight-format export.
#pragma once

#include <cstdint>

#include "analysis/export/nsys/nsys_file.hpp"
#include "analysis/export/nsys/nsys_names.hpp"

namespace ddpprof::export_ {

struct NsysCounts {
  std::int64_t kernels = 0, copies = 0, calls = 0, ranges = 0;  // ranges: includes marks
};

// Writes raw events as recorded, each table in the order of its rows.
void write_raw_events(NsysFile&, NsysCounts&);

// For processes without raw ranges: writes steps, phases, gradients and collectives as ranges and marks of the domain
// "ddpprof", with their details as jsonText.
void write_made_ranges(NsysFile&, NsysNames&, NsysCounts&);

// Writes NvtxDomainCreate events and ThreadNames. Call it after the two functions above.
void write_domains_and_threads(NsysFile&, NsysNames&);

}  // namespace ddpprof::export_
