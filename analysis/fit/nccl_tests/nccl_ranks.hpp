// The ranks of a run of nccl-tests, from its list of devices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/fit/nccl_tests/nccl_tests.hpp"

namespace ddpprof::fit {

struct NcclRank {
  std::int64_t rank = 0, group = 0;
  std::string host;
  std::string gpu{};  // number and bus id: "0 [0000:1b:00]"; empty: without bus id
};

// Adds the rank of a line "# Rank 3 Group 0 Pid 4711 on node-1 device 3 …". `words` are those after the '#'.
void add_nccl_rank(const std::vector<std::string_view>& words, std::vector<NcclRank>& ranks);

// Sets ranks, hosts, groups and copies of a run, and adds a warning about groups. Of several groups, the one of the
// smallest rank is used: its times are printed. Hosts of one name are several if ranks have the same GPU, which NCCL
// refuses on one host. `devices` is the number of ranks for each element of the list.
void set_nccl_ranks(const std::vector<NcclRank>& ranks, std::int64_t devices, NcclTestsRun& run);

}  // namespace ddpprof::fit
