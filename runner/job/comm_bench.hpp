// Times collectives between the ranks of the user's own launcher, in the user's own Python environment.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/import/load/hosts.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::job {

struct CommBench {
  std::vector<std::string>
      command;                      // starts the ranks; python/bench/comm.py is put in place of {script}, or at the end
  std::filesystem::path script;     // measure::find_comm_script()
  std::filesystem::path folder;     // for results and output.log; is made; on several hosts rank 0 must reach it
  std::string backend, device;      // empty: nccl and cuda if torch has a GPU, otherwise gloo and cpu
  double timeout_s = 120;           // of one wait for another rank
  std::chrono::seconds limit{300};  // of the run, from its start to SIGTERM; no size is begun after half of it
};

struct CommTimes {
  struct Sample {
    std::string op;
    std::int64_t bytes = 0, iteration = 0, duration_ns = 0, processor_ns = 0;
  };
  struct Rank {
    std::int64_t rank = 0, pid = 0, cores = 1, threads = 1;
    std::string host, boot_id, network, gpu;
    std::vector<Sample> samples;
  };
  std::vector<Rank> ranks;  // two or more, by rank
  std::string backend, device, torch, cuda, python;
  std::vector<std::string> left_out;  // sizes, in words
  std::int64_t started_utc_ns = 0, wall_ns = 0;
};

// Runs the command and returns the times. Throws measure::InvalidRequest if the command has a script of its own,
// measure::MissingProgram if it cannot be started, measure::Interrupted, and measure::SweepFailed with the last lines of
// output if it did not end with results.
CommTimes time_collectives(const CommBench&);

// Returns the warnings about the times: about sizes that were left out, and without `nodes` about ranks whose hosts share
// a machine.
std::vector<import::Note> warnings_of(const CommTimes&, std::optional<std::int64_t> nodes);

// Writes the times as a measurement of kind bench-comm, with its warnings. `nodes`: number of hosts; nullopt: as the
// ranks report.
void store_times(store::Database&, const CommTimes&, std::optional<std::int64_t> nodes);

}  // namespace ddpprof::job
