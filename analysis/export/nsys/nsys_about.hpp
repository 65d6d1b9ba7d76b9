// What an Nsight-shaped export says of itself: processes, devices, hosts, the session, diagnostics, the program.
#pragma once

#include <cstdint>

#include "analysis/export/nsys/nsys_file.hpp"

namespace ddpprof::export_ {

void write_about(NsysFile&, std::int64_t measurement);  // after keep_rows()

// Tables DDPPROF_…: what Nsight's tables cannot hold, so that the measurement's rows of every table of the database can
// be had back. `sole`: the database holds no other measurement; then rows of none are kept too.
// docs/reference/export-nsys.md has the rules.
inline constexpr int nsys_format = 2;
// The key in `meta` of a database that was restored of some of its measurements: "<identity> <measurements>" of the
// whole, which its exports say again.
inline constexpr const char* part_key = "nsys_part_of";
void keep_rows(NsysFile&, std::int64_t measurement, bool sole, std::int64_t base_ns, std::int64_t last_string);

}  // namespace ddpprof::export_
