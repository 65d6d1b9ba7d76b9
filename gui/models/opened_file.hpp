// One trace database as the window shows it: read once, off the interface thread, then never changed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "analysis/fit/sharded/sharded_job.hpp"
#include "analysis/metrics/gradient_noise.hpp"
#include "analysis/metrics/measured.hpp"
#include "analysis/metrics/trained_rates.hpp"
#include "analysis/predict/predict.hpp"
#include "analysis/predict/predictor.hpp"
#include "analysis/report/report.hpp"
#include "runner/scenario/scenario.hpp"
#include "runner/scenario_queries/rates.hpp"

namespace ddpprof::gui {

// One training measurement. Timelines and rank tables belong to one.
struct MeasurementInfo {
  std::int64_t id = 0;
  std::string kind, strategy, backend, device, model;
  std::int64_t workers = 1, repeat = 0, repeats = 1, batch_per_worker = 1, accumulation = 1;
  std::string title() const;  // "ddp N=4", "ddp N=4, repeat 1"
};

// Returns the measurement that pages show first: the first one with the most ranks. DataParallel has one rank, a
// process for all devices. Null without measurements.
const MeasurementInfo* first_choice(const std::vector<MeasurementInfo>&);

// Identifies the file that a path named when it was opened, because a later run can replace the file.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0;
  std::int64_t modified_ns = 0, bytes = 0;
  bool operator==(const FileIdentity&) const = default;
};
FileIdentity identity_of(const std::filesystem::path&);  // all zeros if the file does not exist

struct OpenedFile {
  std::filesystem::path path;
  FileIdentity identity;
  std::vector<std::filesystem::path> imported_from;  // the files, if `path` is a temporary database of an import
  std::shared_ptr<const void> temporary;             // removes that database
  std::vector<std::filesystem::path> logs;    // of nccl-tests; `models` uses their all-reduces (predict --all-reduce)
  std::vector<MeasurementInfo> measurements;  // by strategy, N, repeat
  std::vector<metrics::Configuration> configurations;
  std::optional<scenario::Scenario> scenario;
  std::shared_ptr<const fit::Models> models;  // null if nothing can be fitted
  std::string why_no_models;                  // why `models` is null, and what to do
  report::Table stored_predictions;           // without models: the predictions stored in the file, if any
  std::shared_ptr<const fit::ShardedJob> sharded;  // the training with FSDP; null if ddp or dp was measured, too
  std::map<std::string, std::int64_t> furthest_predicted;  // by strategy: the largest N of the file's predictions
  std::string profiler_note;  // what the profiler adds to the steps (report::profiler_note); may be empty
  fit::PredictOptions predict;                // from the scenario, or the defaults
  std::optional<fit::LearningRateOptions> learning_rate;  // of the scenario
  // Of a file without a scenario, as `ddpprof lr` and the report take it from the recording.
  std::optional<scenario_queries::RateQuestion> recorded_rate;
  std::string kept_rate;             // scenario_queries::kept_rate of that file; may be empty
  std::string why_no_learning_rate;  // why both are empty
  std::vector<metrics::MeasuredNoise> noise;   // gradient noise of each measurement that recorded gradient norms
  std::vector<metrics::TrainedRates> trained;  // the rates of each measurement's steps, beside the scenario's plan
  std::string trained_plan;                    // the scenario's plan as text
  report::Table notices;                       // warnings and errors, most severe first

  // Throws std::runtime_error if the path now names another file, or if the file was written since it was opened: new
  // numbers would then be mixed with old ones. Call it before `path` is read again. Thread-safe.
  void check_unchanged() const;
  bool has(const std::string& strategy) const;  // true if at least one training step of it was measured
  std::vector<std::int64_t> workers(
      const std::string& strategy) const;  // measured worker counts, ascending, without duplicates
};

// Throws store::DatabaseError if the file is missing, damaged, locked, of another version or not a trace database;
// what() names the path and what to do. Throws fit::NcclTestsError if one of `logs`, outputs of nccl-tests, cannot be
// used. Calls `stop` before each part of the work, and returns null once `stop` returns true.
std::shared_ptr<const OpenedFile> open_file(const std::filesystem::path&, const std::function<bool()>& stop = {},
                                            const std::vector<std::filesystem::path>& logs = {});

// Returns the all-reduces of outputs of nccl-tests. Throws fit::NcclTestsError if one cannot be used.
std::vector<collective::Curve> all_reduces_of(const std::vector<std::filesystem::path>& logs);

// Returns a report of the file, the same as `ddpprof report` prints. Opens the file again, so it may be called on any
// thread.
report::Report read_report(const std::filesystem::path&, const std::string& name);

}  // namespace ddpprof::gui
