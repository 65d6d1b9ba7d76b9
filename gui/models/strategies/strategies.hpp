// DataParallel and DDP at one N: figures, memory, traffic and lanes. Measured values if there are any, otherwise
// simulated ones.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/predict/predict.hpp"
#include "analysis/predict/predictor.hpp"
#include "gui/models/opened_file.hpp"
#include "gui/models/strategies/time_parts.hpp"
#include "simulator/step/lanes.hpp"
#include "tracer/store/rows/result_rows.hpp"

namespace ddpprof::gui {

inline constexpr std::int64_t most_workers = 4096;  // the limit of every page that asks for an N

enum class Source { measured, simulated };

// Peak bytes of tensors.
struct DeviceMemory {
  std::optional<double> device_0_bytes, others_bytes;
  bool measured = false;
  std::string source;  // source of the figures, or why they are missing
};

// Bytes per step of the busiest device.
struct Traffic {
  std::optional<double> sent_bytes, received_bytes;
  std::string source;
};

// One strategy at one N.
struct Side {
  std::string strategy;
  bool in_file = false;                     // at least one step of it was measured, at any N
  bool imported = false;                    // by ddpprof import: the program that ran it is not known
  bool waits_estimated = false;             // parts.skew_s, because not all ranks were imported
  bool measured = false;                    // true if `row` is measured
  std::string why_not;                      // why `row` is empty, and what to do
  std::optional<store::PredictionRow> row;  // as `ddpprof predict` prints it
  TimeParts parts;                          // parts of the row's step, measured or simulated
  bool parts_simulated = false;             // true also for a measured step whose communication was not recorded
  std::optional<step::StepLanes> lanes;
  std::string why_no_lanes;
  DeviceMemory memory;
  Traffic traffic;
  std::string backend;
  std::int64_t hosts = 1;             // number of hosts of the measurement
  std::int64_t largest_measured = 0;  // N
  std::optional<std::int64_t>
      half_efficient_up_to;  // the largest power of two, from 2 on, with a weak efficiency of at least one half
};

struct Comparison {
  std::int64_t workers = 1;
  Side dp, ddp;
  // The smallest N from which DDP has the higher throughput at all powers of two up to most_workers. Empty if
  // DataParallel is faster at the last one, or if one of the strategies cannot be predicted.
  std::optional<std::int64_t> ddp_ahead_from;
  bool both_predicted = false;
  // True if at near_measured() ranks or replicas are predicted to share the cores of the measured machine.
  bool shares_cores = false;

  // The N up to which a prediction of both strategies is not far beyond the measurements.
  std::int64_t near_measured() const;
};

// Memory of one configuration, from the memory report.
struct MeasuredMemory {
  std::string model, strategy;
  std::int64_t workers = 1, global_batch = 0;
  std::optional<double> device_0_bytes, others_bytes;
};
std::vector<MeasuredMemory> memory_of(const report::Report& memory);

// All data of a file that does not depend on the chosen N.
class Strategies {
 public:
  // Reads the file's memory report and prepares predictions; too slow for the interface thread. Throws
  // store::DatabaseError, and std::runtime_error if the path now names another file.
  explicit Strategies(std::shared_ptr<const OpenedFile> file);

  const OpenedFile& file() const { return *file_; }
  // Measured N of both strategies, ascending, without duplicates.
  const std::vector<std::int64_t>& measured_workers() const { return measured_; }
  bool is_measured(const std::string& strategy, std::int64_t workers) const;

  // A strategy that was not measured at that N is simulated, even if `source` is measured. `rank` selects the rank of a
  // measured DDP step. Throws std::invalid_argument if N is outside 1 … most_workers, and the exceptions of the
  // constructor.
  Comparison compare(std::int64_t workers, Source source, std::int64_t rank = 0) const;

 private:
  struct Curve {
    std::map<std::int64_t, double> step_s;  // at powers of two
    double samples_per_worker = 0.0;
  };

  const metrics::Configuration* configuration(const std::string& strategy, std::int64_t workers) const;
  const metrics::Configuration* largest(const std::string& strategy) const;
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
