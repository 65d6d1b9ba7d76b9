// What the tables of the trace database are in an export of Nsight's shape, as questions to it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ddpprof::import {

struct RawTable {
  std::string_view table;
  std::string select;  // its columns are named as the table's
};

// The tables that lie in Nsight's; the others are whole as DDPPROF_<name>. Events whose shard is not there are passed
// over.
std::vector<RawTable> raw_tables();

}  // namespace ddpprof::import
