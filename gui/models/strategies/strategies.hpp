// DataParallel and DDP at one N: figures, memory, traffic and lanes, measured where they were, simulated elsewhere.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/fit/predictor.hpp"
#include "gui/models/opened_file.hpp"
#include "gui/models/strategies/time_parts.hpp"
#include "simulator/step/lanes.hpp"
#include "tracer/store/rows/result_rows.hpp"

namespace ddpprof::gui {

inline constexpr std::int64_t most_workers = 4096;  // of any page that asks for an N

enum class Source { measured, simulated };

// Bytes of tensors, the most at one time.
struct DeviceMemory {
  std::optional<double> device_0_bytes, others_bytes;
  bool measured = false;
  std::string how;  // where the figure comes from, or why there is none
};

// Of the busiest device, each step.
struct Traffic {
  std::optional<double> sent_bytes, received_bytes;
  std::string how;
};

// One strategy at one N.
struct Side {
  std::string strategy;
  bool in_file = false;                     // a step of it was measured at some N
  bool measured = false;                    // the row is a measurement
  std::string why_not;                      // there is no row: why, and what to do
  std::optional<store::PredictionRow> row;  // as `ddpprof predict` has it
  TimeParts parts;                          // of the row's step, as it is shown: measured or simulated
  bool parts_simulated = false;             // of a measured step, too, where what was in flight was not recorded
  std::optional<step::StepLanes> lanes;
  std::string why_no_lanes;
  DeviceMemory memory;
  Traffic traffic;
  std::string backend;
  std::int64_t hosts = 1;                            // measured on
  std::optional<std::int64_t> half_efficient_up_to;  // the largest power of two from 2 on, if any
};

struct Comparison {
  std::int64_t workers = 1;
  Side dp, ddp;
  // The smallest N from which on DDP has the higher throughput at all powers of two up to most_workers; none where
  // DataParallel is ahead at the last, or one of them cannot be predicted.
  std::optional<std::int64_t> ddp_ahead_from;
  bool both_predicted = false;
};

// What the memory report says of one configuration.
struct MeasuredMemory {
  std::string model, strategy;
  std::int64_t workers = 1, global_batch = 0;
  std::optional<double> device_0_bytes, others_bytes;
};
std::vector<MeasuredMemory> memory_of(const report::Report& memory);

// Everything of a file that does not depend on the N asked about.
class Strategies {
 public:
  // Reads the file's memory report and prepares predictions: not for the interface thread. Throws
  // store::DatabaseError, and std::runtime_error when another file lies at the path by now.
  explicit Strategies(std::shared_ptr<const OpenedFile> file);

  const OpenedFile& file() const { return *file_; }
  // Of either strategy, ascending.
  const std::vector<std::int64_t>& measured_workers() const { return measured_; }
  bool is_measured(const std::string& strategy, std::int64_t workers) const;

  // Where `source` is measured and a strategy was not measured at that N, it is simulated there. `rank` of a measured
  // DDP step; DataParallel has one. Throws std::invalid_argument for an N outside 1 … most_workers, and as the
  // constructor does.
  Comparison compare(std::int64_t workers, Source source, std::int64_t rank = 0) const;

 private:
  struct Curve {
    std::map<std::int64_t, double> step_s;  // at powers of two
    double samples_per_worker = 0.0;
  };

  const report::Configuration* configuration(const std::string& strategy, std::int64_t workers) const;
  const report::Configuration* largest(const std::string& strategy) const;
  Side side(const std::string& strategy, std::int64_t workers, Source source, std::int64_t rank) const;
  void add_figures(Side& side, std::int64_t workers) const;
  void add_lanes(Side& side, std::int64_t workers, std::int64_t rank) const;
  DeviceMemory memory(const std::string& strategy, std::int64_t workers) const;
  DeviceMemory data_parallel_memory(std::int64_t workers) const;
  Traffic traffic(const std::string& strategy, std::int64_t workers) const;
  step::DataParallelStep copying(std::int64_t workers) const;
  double optimizer_bytes() const;

  std::shared_ptr<const OpenedFile> file_;
  std::vector<std::int64_t> measured_;
  std::vector<MeasuredMemory> memory_;
  std::map<std::string, fit::Predictor> predicted_, as_measured_;  // by strategy
  std::map<std::string, Curve> curves_;
};

}  // namespace ddpprof::gui
