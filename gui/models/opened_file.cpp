#include "gui/models/opened_file.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "analysis/fit/nccl_tests/all_reduce_log.hpp"
#include "analysis/report/tables/models/outlook_tables.hpp"
#include "runner/scenario_queries/options.hpp"
#include "runner/scenario_queries/report.hpp"
#include "runner/scenario_queries/stored_scenario.hpp"
#include "runner/scenario_queries/trained.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::gui {
namespace {

std::vector<MeasurementInfo> measurements_of(const std::vector<metrics::Configuration>& configurations) {
  std::vector<MeasurementInfo> all;
  for (const metrics::Configuration& configuration : configurations) {
    for (std::size_t repeat = 0; repeat < configuration.measurements.size(); ++repeat) {
      MeasurementInfo info;
      info.id = configuration.measurements[repeat];
      info.kind = configuration.kind;
      info.strategy = configuration.strategy;
      info.backend = configuration.backend;
      info.device = configuration.device;
      info.model = configuration.model;
      info.workers = configuration.world_size;
      info.repeat = static_cast<std::int64_t>(repeat);
      info.repeats = static_cast<std::int64_t>(configuration.measurements.size());
      info.batch_per_worker = configuration.batch_per_worker;
      info.accumulation = configuration.accumulation;
      all.push_back(std::move(info));
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const MeasurementInfo& a, const MeasurementInfo& b) {
    return std::tie(a.strategy, a.workers, a.repeat) < std::tie(b.strategy, b.workers, b.repeat);
  });
  return all;
}

}  // namespace

std::string MeasurementInfo::title() const {
  std::string text = strategy + " N=" + std::to_string(workers);
  if (repeats > 1) text += ", repeat " + std::to_string(repeat);
  return text;
}

const MeasurementInfo* first_choice(const std::vector<MeasurementInfo>& all) {
  const MeasurementInfo* found = nullptr;
  const auto ranks = [](const MeasurementInfo& info) { return info.strategy == "dp" ? 1 : info.workers; };
  for (const MeasurementInfo& info : all)
    if (found == nullptr || ranks(info) > ranks(*found)) found = &info;
  return found;
}

FileIdentity identity_of(const std::filesystem::path& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0) return {};
  return {found.st_dev, found.st_ino, found.st_mtim.tv_sec * std::int64_t{1'000'000'000} + found.st_mtim.tv_nsec,
          found.st_size};
}

void OpenedFile::check_unchanged() const {
  const FileIdentity now = identity_of(path);
  if (now == FileIdentity{})
    throw std::runtime_error(path.string() +
                             " cannot be read any more: it was deleted or moved since it was opened. Put it back, or "
                             "open another file");
  if (now != identity) throw std::runtime_error(path.string() + " has changed since it was opened; read it again (F5)");
}

bool OpenedFile::has(const std::string& strategy) const { return !workers(strategy).empty(); }

std::vector<std::int64_t> OpenedFile::workers(const std::string& strategy) const {
  std::vector<std::int64_t> all;
  for (const metrics::Configuration& configuration : configurations)
    if (configuration.strategy == strategy && !configuration.measured.empty()) all.push_back(configuration.world_size);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::vector<collective::Curve> all_reduces_of(const std::vector<std::filesystem::path>& logs) {
  std::vector<collective::Curve> curves;
  for (const std::filesystem::path& log : logs)
    for (const fit::AllReduceRun& run : fit::read_all_reduces(log).runs) curves.push_back(fit::curve_of(run));
  return curves;
}

namespace {

void read_scenario(OpenedFile& file, store::Database& database) {
  try {
    if (const auto options = scenario_queries::stored_predict_options(database)) file.predict = *options;
    file.scenario = scenario_queries::stored_scenario(database);
    if (!file.scenario) {
      scenario_queries::RateQuestion recorded = scenario_queries::recorded_question(database);
      file.why_no_learning_rate = recorded.no_rate;
      if (!recorded.no_rate.empty()) return;
      file.recorded_rate = std::move(recorded);
      if (const auto kept = scenario_queries::kept_batch(database)) file.kept_rate = scenario_queries::kept_rate(*kept);
      return;
    }
    file.learning_rate = scenario_queries::learning_rate_options(*file.scenario, database);
    file.trained_plan = scenario_queries::rate_plan_text(*file.scenario);
    try {
      file.trained = scenario_queries::trained_rates(database, *file.scenario, file.learning_rate->samples);
    } catch (const std::invalid_argument& error) {  // workers or samples that a training cannot have
      file.trained_plan = error.what();
    }
  } catch (const fit::NotSupported& error) {
    file.why_no_learning_rate = error.what();
  }
}

void read_models(OpenedFile& file, store::Database& database) {
  for (const auto& [strategy, counts] : report::predicted_workers(database))
    if (!counts.empty()) file.furthest_predicted[strategy] = *counts.rbegin();
  file.profiler_note = report::profiler_note(database);
  try {
    file.models = std::make_shared<const fit::Models>(fit::fit_models(database, all_reduces_of(file.logs)));
  } catch (const fit::NotSupported& error) {
    file.why_no_models = error.what();
    file.stored_predictions = report::build_report(database, "predictions").tables.front();
  }
  if (file.models && !(file.models->measured.ddp.empty() && file.models->measured.dp.empty())) return;
  fit::ShardedJob sharded = fit::sharded_job(database.sql());
  if (!sharded.measured.empty()) file.sharded = std::make_shared<const fit::ShardedJob>(std::move(sharded));
}

}  // namespace

std::shared_ptr<const OpenedFile> open_file(const std::filesystem::path& path, const std::function<bool()>& stop,
                                            const std::vector<std::filesystem::path>& logs) {
  const auto stopped = [&stop] { return stop && stop(); };
  if (stopped()) return nullptr;
  store::Database database = store::Database::open_read(path);  // migrates an older file
  auto file = std::make_shared<OpenedFile>();
  file->path = path;
  file->identity = identity_of(path);
  file->logs = logs;
  try {
    if (stopped()) return nullptr;
    file->configurations = metrics::read_configurations(database.sql());
    file->noise = metrics::measured_noise(database.sql());
    file->measurements = measurements_of(file->configurations);
    if (stopped()) return nullptr;
    file->notices = report::notices(database, file->configurations);
    if (stopped()) return nullptr;
    read_scenario(*file, database);
    if (stopped()) return nullptr;
    read_models(*file, database);
  } catch (const store::DatabaseError&) {
    throw;
  } catch (const fit::NcclTestsError&) {
    throw;
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, path);
  } catch (const std::exception& error) {
    throw std::runtime_error(path.string() + " cannot be read: " + error.what() +
                             ". Measure it again with this version");
  }
  return file;
}

report::Report read_report(const std::filesystem::path& path, const std::string& name) {
  store::Database database = store::Database::open_read(path);
  return scenario_queries::build_report(database, name);
}

}  // namespace ddpprof::gui
