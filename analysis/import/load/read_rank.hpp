// One trace file to its ranks' facts of training; what could not be read is told.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "analysis/import/trace/raw_events.hpp"
#include "analysis/import/trace/training.hpp"

namespace ddpprof::import {

// The file holds nothing that can be imported: "FILE: what is wrong; what to do".
class ImportError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct KernelTotals {
  std::string name;
  Work work = Work::compute;
  NameTotals totals;
};

struct ReadRank {
  std::filesystem::path file;
  std::string part;                              // which of the file's ranks, in words; empty: the file is one rank's
  std::size_t source = 0;                        // of its raw events
  std::optional<std::int64_t> rank, world_size;  // as the file says
  std::string backend;
  std::int64_t base_ns = 0;
  std::string clock;      // ranks of equal ones share it; empty: of their file
  bool recorded = false;  // by our tracer: training.shard also holds what the shard says of itself
  std::vector<std::string> devices;
  std::map<std::string, std::string> versions;
  Training training;
  std::vector<KernelTotals> kernels;
  std::int64_t events = 0;
  std::vector<Note> notes;  // of reading
};

struct ReadOptions {
  TrainingOptions training;
  SortOptions sort;
};

// What was gathered of a rank, into `result`: training, kernels, who it is, devices and versions.
void conclude(RankTrace&, const TrainingOptions&, ReadRank& result);

// How many ranks a file may hold at most; so many sources are its own.
std::size_t most_ranks(const std::filesystem::path&);

// Whatever kind of file it is. Throws ImportError when it holds no sound event, OpenError when it cannot be read. Raw
// events go to `sink`, where there is one, as `source` and the sources after it.
std::vector<ReadRank> read_ranks(const std::filesystem::path&, const ReadOptions&, RawSink* sink, std::size_t source);

// A PyTorch profiler's file. Throws ImportError when it holds no sound event, OpenError when it cannot be read. Raw
// events go to `sink`, where there is one, as `source`.
ReadRank read_kineto_file(const std::filesystem::path&, const ReadOptions&, RawSink* sink, std::size_t source);

// An Nsight Systems SQLite export, a rank for each process and device that ran kernels. Throws as the above.
std::vector<ReadRank> read_nsight_file(const std::filesystem::path&, const ReadOptions&, RawSink* sink,
                                       std::size_t source);

// What our tracer recorded of a process. Throws ImportError when it cannot be read or holds no event.
ReadRank read_recorded_file(const std::filesystem::path&, const ReadOptions&, RawSink* sink, std::size_t source);

}  // namespace ddpprof::import
