// Writes the metadata of an Nsight-format export: processes, devices, hosts, the session, diagnostics, the program.
#pragma once

#include <cstdint>

#include "analysis/export/nsys/nsys_file.hpp"

namespace ddpprof::export_ {

void write_about(NsysFile&, std::int64_t measurement);  // after keep_rows()

// Writes tables DDPPROF_… with the data that Nsight's tables cannot hold, so that the measurement's rows of every table
// of the database are in the file. `sole`: the database holds no other measurement; rows without a measurement are then
// written too. See docs/reference/export-nsys.md.
inline constexpr int nsys_format = 2;
// Key in `meta` of a database that was restored from some of its measurements. The value is "<identity> <measurements>"
// of the complete database, and exports repeat it.
inline constexpr const char* part_key = "nsys_part_of";
void keep_rows(NsysFile&, std::int64_t measurement, bool sole, std::int64_t base_ns, std::int64_t last_string);

}  // namespace ddpprof::export_
