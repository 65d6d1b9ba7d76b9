// Writes the metadata of an Nsight-format export: processes, devices, hosts, the session, diagnostics, the program.
#pragma once

#include <cstdint>

#include "analysis/export/nsys/nsys_file.hpp"

namespace ddpprof::export_ {

void write_about(NsysFile&, std::int64_t measurement);  // after keep_rows()

inline constexpr int nsys_format = 2;  // version of the tables DDPPROF_…

// Writes tables DDPPROF_… with the data that Nsight's tables cannot hold, so that the measurement's rows of every table
// of the database are in the file. `sole`: the database holds no other measurement; rows without a measurement are then
// written too. See docs/reference/export-nsys.md.
void keep_rows(NsysFile&, std::int64_t measurement, bool sole, std::int64_t base_ns, std::int64_t last_string);

}  // namespace ddpprof::export_
