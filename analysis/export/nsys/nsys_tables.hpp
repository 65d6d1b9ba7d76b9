// The tables and columns of Nsight Systems' SQLite exports, as far as ddpprof has data for them.
#pragma once

#include "analysis/export/nsys/nsys_file.hpp"

namespace ddpprof::export_ {

// Version of the export's schema. Columns are in its order, followed by ddpprof's own columns, whose names begin with
// ddpprof_.
inline constexpr const char* nsight_schema_version = "3.25.0";

// CUpti_ActivityMemcpyKind, with the trace database's names.
struct CopyKind {
  int number;
  const char* name;
};
inline constexpr CopyKind copy_kinds[] = {
    {0, "unknown"},          {1, "host_to_device"}, {2, "device_to_host"},  {3, "host_to_array"},
    {4, "array_to_host"},    {5, "array_to_array"}, {6, "array_to_device"}, {7, "device_to_array"},
    {8, "device_to_device"}, {9, "host_to_host"},   {10, "peer"},
};

enum NvtxType { nvtx_mark = 34, nvtx_push_pop = 59, nvtx_start_end = 60, nvtx_domain_create = 75 };

// Creates all tables, also those without rows (as nsys export --lazy=false does), so that every query finds its table.
void create_nsight_tables(NsysFile&);
void fill_enums(NsysFile&);

}  // namespace ddpprof::export_
