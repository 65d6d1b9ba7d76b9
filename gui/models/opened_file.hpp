// One trace database as the window shows it: read once, off the interface thread, and never changed afterwards.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "analysis/fit/predictor.hpp"
#include "analysis/report/gradient_noise.hpp"
#include "analysis/report/measured.hpp"
#include "analysis/report/report.hpp"
#include "analysis/report/trained_rates.hpp"
#include "runner/scenario/scenario.hpp"

namespace ddpprof::gui {

// A training measurement: what timelines and rank tables are of.
struct MeasurementInfo {
  std::int64_t id = 0;
  std::string kind, strategy, backend, device, model;
  std::int64_t workers = 1, repeat = 0, repeats = 1, batch_per_worker = 1, accumulation = 1;
  std::string title() const;  // "ddp N=4", "ddp N=4, repeat 1"
};

// Which file a path named when it was opened: another run may replace it.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0;
  std::int64_t modified_ns = 0, bytes = 0;
  bool operator==(const FileIdentity&) const = default;
};
FileIdentity identity_of(const std::filesystem::path&);  // zeros when there is none

struct OpenedFile {
  std::filesystem::path path;
  FileIdentity identity;
  std::vector<MeasurementInfo> measurements;  // by strategy, N, repeat
  std::vector<report::Configuration> configurations;
  std::optional<scenario::Scenario> scenario;
  std::shared_ptr<const fit::Models> models;  // null when nothing can be fitted …
  std::string why_no_models;                  // … and why, with what to do
  report::Table stored_predictions;           // without models: what was predicted when the file was made, if anything
  fit::PredictOptions predict;                // the scenario's, else the defaults
  std::optional<fit::LearningRateOptions> learning_rate;
  std::string why_no_learning_rate;
  std::vector<report::MeasuredNoise> noise;   // the gradient's, of each measurement that took norms
  std::vector<report::TrainedRates> trained;  // the rates of each measurement's steps beside the scenario's plan …
  std::string trained_plan;                   // … in words
  report::Table notices;                      // warnings and errors, most severe first

  // Throws std::runtime_error when the path now names another file, or the file was written since: its numbers would
  // stand beside those that were read before. For any thread, before `path` is read again.
  void check_unchanged() const;
  bool has(const std::string& strategy) const;                           // a training step of it was measured
  std::vector<std::int64_t> workers(const std::string& strategy) const;  // measured, ascending, without doubles
};

// Throws store::DatabaseError when the file is missing, foreign, damaged, locked or of another version; what() says so
// with the path and what to do. `stop` is asked before each part of the work; null once it says so.
std::shared_ptr<const OpenedFile> open_file(const std::filesystem::path&, const std::function<bool()>& stop = {});

// A report of the file, as `ddpprof report` prints it. Opens the file anew: for any thread.
report::Report read_report(const std::filesystem::path&, const std::string& name);

}  // namespace ddpprof::gui
