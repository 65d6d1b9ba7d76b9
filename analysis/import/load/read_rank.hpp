// One trace file to one rank's facts of training; what could not be read is told.
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
  std::optional<std::int64_t> rank, world_size;  // as the file says
  std::string backend;
  std::int64_t base_ns = 0;
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

// A PyTorch profiler's file. Throws ImportError when it holds no sound event, OpenError when it cannot be read. Raw
// events go to `sink`, where there is one, as `source`.
ReadRank read_kineto_file(const std::filesystem::path&, const ReadOptions&, RawSink* sink, std::size_t source);

}  // namespace ddpprof::import
