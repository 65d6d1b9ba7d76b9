// Facts that traces do not contain, and that must agree in measurements that are compared: the model's name, the
// backend, the cores of a host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/import/load/import.hpp"
#include "analysis/import/load/read_rank.hpp"

namespace ddpprof::import {

// Returns true if the rank computed on a device, also if no event of the device was read.
bool used_device(const ReadRank&);

struct JobOutline {
  const ReadRank* first = nullptr;  // the job's first rank
  std::int64_t world_size = 1, hosts = 1;
};

class SharedFacts {
 public:
  // Reads the facts of the imports that the database already has, and adds those of the jobs of this import.
  SharedFacts(store::Database&, const ImportOptions&, std::span<const JobOutline>);

  // Returns ImportOptions::model; otherwise one name for all jobs whose gradients have the same size, and other names
  // for jobs of other models.
  const std::string& model_of(std::size_t job) const { return names_.at(job); }
  // Returns the recorded backend, otherwise that of a job on the same kind of device, otherwise nccl or gloo.
  std::string backend_of(const ReadRank& first) const;

  struct Cores {
    std::int64_t count = 1;
    bool assumed = false;
  };
  // Returns the cores of a host of a job on CPUs: ImportOptions::cores, otherwise the recorded number, otherwise that
  // of the other jobs and of the earlier imports. Otherwise enough cores for the job with the most ranks on a host are
  // assumed, so that no time is attributed to oversubscription.
  Cores cores_of(const ReadRank& first) const;
  // Gives earlier imports whose cores were assumed the same number.
  void update_earlier(store::Database&) const;

 private:
  std::vector<std::string> names_;        // by job
  std::map<bool, std::string> backends_;  // by used_device()
  std::int64_t most_ranks_per_host_ = 1;
  std::optional<std::int64_t> given_cores_, other_cores_;
};

}  // namespace ddpprof::import
