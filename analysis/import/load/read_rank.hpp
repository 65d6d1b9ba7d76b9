// Reads one trace file into the training facts of its ranks. Reports what could not be read.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "analysis/import/trace/raw_events.hpp"
#include "analysis/import/trace/training.hpp"

namespace ddpprof::import {

// Thrown if a file holds nothing that can be imported. The message is "FILE: what is wrong; what to do".
class ImportError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Thrown after ImportProgress::stop was set.
class ImportStopped : public std::runtime_error {
 public:
  ImportStopped() : std::runtime_error("the import was stopped") {}
};

struct KernelTotals {
  std::string name;
  Work work = Work::compute;
  NameTotals totals;
};

struct ReadRank {
  std::filesystem::path file;
  std::string part;        // which of the file's ranks this is, in words; empty: the file has one rank
  std::size_t source = 0;  // source number of its raw events
  std::optional<std::int64_t> rank, world_size;  // as recorded in the file
  bool world_size_stated = false;                // by distributedInfo or the environment, not by collectives alone
  std::optional<std::int64_t> recorded_batch;    // samples of a micro-batch, as the file has it
  std::string backend;
  std::string optimizer;  // class of the optimizer, "AdamW"; empty: not recorded
  std::int64_t base_ns = 0;
  std::string clock;  // ranks with equal names share a clock; empty: the file's own clock
  std::int64_t pid = 0;
  // The times in which device events of the file lie; others were left out. None: nothing was left out.
  std::optional<std::pair<std::int64_t, std::int64_t>> device_bounds;
  bool recorded = false;  // by ddpprof's tracer; training.shard then also holds the shard's header data
  std::vector<std::string> devices;
  std::map<std::string, std::string> versions;
  std::optional<JobFacts> job;
  Training training;
  std::vector<KernelTotals> kernels;
  std::int64_t events = 0;
  std::vector<Note> notes;  // about reading the file
};

// Shared with the thread that shows the progress of an import, or stops it.
struct ImportProgress {
  std::atomic<std::uint64_t> read_bytes = 0;  // of the files, compressed as they are; of databases only when complete
  std::atomic<bool> stop = false;
};

struct ReadOptions {
  TrainingOptions training;
  SortOptions sort;
  ImportProgress* progress = nullptr;
};

// Fills `result` from the collected trace: training, kernels, rank, devices and versions.
void fill_rank(RankTrace&, const TrainingOptions&, ReadRank& result);

// Returns the largest number of ranks that a file may hold. This many source numbers are reserved for the file.
std::size_t most_ranks(const std::filesystem::path&);

// Reads a file of any kind. Throws ImportError if it has no valid event, OpenError if it cannot be read. Raw events
// go to `sink`, unless it is null, as `source` and the following source numbers.
std::vector<ReadRank> read_ranks(const std::filesystem::path&, const ReadOptions&, RawSink* sink, std::size_t source);

// Reads a file of the PyTorch profiler. Throws ImportError if it has no valid event, OpenError if it cannot be read.
// Raw events go to `sink`, unless it is null, as `source`.
ReadRank read_kineto_file(const std::filesystem::path&, const ReadOptions&, RawSink* sink, std::size_t source);

// Reads an Nsight Systems SQLite export: one rank for each process and device that ran kernels. Throws like
// read_kineto_file().
std::vector<ReadRank> read_nsight_file(const std::filesystem::path&, const ReadOptions&, RawSink* sink,
                                       std::size_t source);

// Reads a shard of ddpprof's tracer. Throws ImportError if it cannot be read or holds no event.
ReadRank read_recorded_file(const std::filesystem::path&, const ReadOptions&, RawSink* sink, std::size_t source);

}  // namespace ddpprof::import
