// Training runs whose truth is known, written as a database: every rank of every step is played out from plain rules.
//
// The rules are written here anew, apart from the simulator: rank r's compute is drawn, bucket i's all-reduce starts
// when the last rank has it and the one before has ended, and takes 2(N-1)(alpha + S/N beta).
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "tracer/store/database.hpp"

namespace ddpprof::fit::synthetic {

struct Truth {
  double alpha_s = 100e-6;
  double beta_s_per_byte = 1e-9;
  double latency_exponent = 1.0;  // a step of the ring takes alpha (N-1)^(this - 1): above 1 no ring explains it
  double forward_s = 0.04;        // one thread, cores to itself
  double optimizer_s = 0.004;
  double data_s = 0.001;
  double outside_s = 0.0;  // after the optimizer, outside of every phase
  std::vector<std::int64_t> bucket_bytes = {1 << 20, 8 << 20, 4 << 20};
  std::vector<double> ready_s = {0.02, 0.06, 0.08};  // after backward's start; the last is backward's end
  double copy_back_s_per_byte = 0.5e-9;
  double noise = 0.0;  // relative sigma of a rank's compute in a step, independent
  std::int64_t cores = 1024;
  double sharing_exponent =
      1.0;                   // compute times max(1, N / cores)^this; bytes of communication times max(1, N / cores)
  double switch_s = 300e-6;  // a communication step waits for a core: this times (N / cores - 1)^0.6 longer
  double contention_exponent = 0.0;  // compute times min(N, cores)^this: ranks share memory before they share cores
  bool own_hosts = false;            // every rank on a host of its own, else all on one
  std::int64_t steps = 30;
  std::int64_t batch = 32;
  double speed = 1.0;  // all times of a run but its input are divided by it: repeats differ
  bool nccl = false;   // a plain ring on links of its own
  // Share of forward, backward and optimizer in which the device runs no kernel, spread evenly over them. With a share
  // above 0, steps have a device's idle time.
  double idle_share = 0.0;
  double copy_overhead_s = 50e-6;  // dp, per copy and replica
  double copy_s_per_byte = 2e-10;  // dp
};

// Step time of a run of N ranks: the mean over the ranks, the median over `steps` of what the rules give.
double true_step_s(const Truth&, std::int64_t workers, std::int64_t steps = 4000);
double true_dp_step_s(const Truth&, std::int64_t workers);

// One ddp measurement for each N, every rank's steps, phases, gradient times and collectives.
void add_ddp(store::Database&, const Truth&, const std::vector<std::int64_t>& workers, std::uint64_t seed);
void add_dp(store::Database&, const Truth&, const std::vector<std::int64_t>& workers, std::uint64_t seed);
// bench-comm: sizes from 1 KiB to 16 MiB.
void add_bench(store::Database&, const Truth&, const std::vector<std::int64_t>& workers, double factor = 1.0);

// A new database in the tests' temporary folder, removed with the object.
class TemporaryDatabase {
 public:
  explicit TemporaryDatabase(const std::string& name);
  ~TemporaryDatabase();
  TemporaryDatabase(const TemporaryDatabase&) = delete;
  TemporaryDatabase& operator=(const TemporaryDatabase&) = delete;
  store::Database& get() { return database_; }

 private:
  std::filesystem::path path_;
  store::Database database_;
};

}  // namespace ddpprof::fit::synthetic
