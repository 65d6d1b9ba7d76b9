#include "gui/models/strategies/strategies.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "analysis/fit/lanes.hpp"
#include "analysis/report/step_lanes.hpp"
#include "simulator/stats/summary.hpp"
#include "simulator/step/data_parallel_devices.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::gui {
namespace {

constexpr const char* names[] = {"dp", "ddp"};
constexpr double half = 0.5;

std::string advice_for(const std::string& strategy) {
  return "; measure it: strategies: [ddp, dp] in the scenario, or ddpprof run with --set strategies=[" + strategy + "]";
}

std::size_t column_of(const report::Table& table, const std::string& name) {
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (table.columns[i].name == name) return i;
  throw std::logic_error("the memory report has no column " + name);
}

std::optional<double> number(const report::Cell& cell) {
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*whole);
  return std::nullopt;
}

// How far apart two N are; of equals the smaller comes first where a list ascends.
double apart(std::int64_t a, std::int64_t b) {
  return std::abs(std::log(static_cast<double>(a)) - std::log(static_cast<double>(b)));
}

// The measured step of a configuration that is nearest its median, over all repeats.
const report::RunStep* typical(const report::Configuration& configuration) {
  if (configuration.measured.empty()) return nullptr;
  std::vector<double> durations_s;
  for (const report::RunStep& step : configuration.measured) durations_s.push_back(step.duration_s);
  const double median_s = stats::median(durations_s);
  return &*std::min_element(configuration.measured.begin(), configuration.measured.end(),
                            [&](const report::RunStep& a, const report::RunStep& b) {
                              return std::abs(a.duration_s - median_s) < std::abs(b.duration_s - median_s);
                            });
}

}  // namespace

std::vector<MeasuredMemory> memory_of(const report::Report& memory) {
  std::vector<MeasuredMemory> all;
  const report::Table& table = memory.tables.at(0);
  const std::size_t model = column_of(table, "model"), strategy = column_of(table, "strategy"),
                    workers = column_of(table, "workers"), batch = column_of(table, "global_batch_samples"),
                    device_0 = column_of(table, "device0_peak_bytes"), others = column_of(table, "others_peak_bytes");
  for (const report::Row& row : table.rows)
    all.push_back({std::get<std::string>(row[model]), std::get<std::string>(row[strategy]),
                   std::get<std::int64_t>(row[workers]), std::get<std::int64_t>(row[batch]), number(row[device_0]),
                   number(row[others])});
  return all;
}

Strategies::Strategies(std::shared_ptr<const OpenedFile> file) : file_(std::move(file)) {
  file_->check_unchanged();
  memory_ = memory_of(read_report(file_->path, "memory"));
  for (const char* name : names) {
    const std::vector<std::int64_t> workers = file_->workers(name);
    measured_.insert(measured_.end(), workers.begin(), workers.end());
    if (workers.empty() || !file_->models) continue;
    const auto& profiles = std::string(name) == "dp" ? file_->models->measured.dp : file_->models->measured.ddp;
    if (profiles.empty()) continue;
    fit::PredictOptions measured = file_->predict;
    measured.dedicated = false;
    measured.gpus_per_node = 0;
    const fit::Predictor& predictor = predicted_.try_emplace(name, *file_->models, name, file_->predict).first->second;
    as_measured_.try_emplace(name, *file_->models, name, measured);
    Curve& curve = curves_[name];
    curve.samples_per_worker = profiles.rbegin()->second.samples_per_worker;
    for (std::int64_t n = 1; n <= most_workers; n *= 2)
      if (predictor.refusal(n).empty()) curve.step_s[n] = predictor.central(n).step_s();
  }
  std::sort(measured_.begin(), measured_.end());
  measured_.erase(std::unique(measured_.begin(), measured_.end()), measured_.end());
}

bool Strategies::is_measured(const std::string& strategy, std::int64_t workers) const {
  return configuration(strategy, workers) != nullptr;
}

// Where several batches were measured at that N, the one that predictions rest on.
const report::Configuration* Strategies::configuration(const std::string& strategy, std::int64_t workers) const {
  const fit::StepProfile* profile = nullptr;
  if (file_->models) {
    const auto& profiles = strategy == "dp" ? file_->models->measured.dp : file_->models->measured.ddp;
    if (const auto found = profiles.find(workers); found != profiles.end()) profile = &found->second;
  }
  const report::Configuration* first = nullptr;
  for (const report::Configuration& one : file_->configurations) {
    if (one.strategy != strategy || one.world_size != workers || one.measured.empty()) continue;
    if (profile && one.batch_per_worker == profile->batch_per_worker && one.accumulation == profile->accumulation)
      return &one;
    if (first == nullptr) first = &one;
  }
  return first;
}

const report::Configuration* Strategies::largest(const std::string& strategy) const {
  const std::vector<std::int64_t> workers = file_->workers(strategy);
  return workers.empty() ? nullptr : configuration(strategy, workers.back());
}

Comparison Strategies::compare(std::int64_t workers, Source source, std::int64_t rank) const {
  if (workers < 1 || workers > most_workers)
    throw std::invalid_argument("N = " + std::to_string(workers) + ", expected 1 to " + std::to_string(most_workers));
  Comparison out;
  out.workers = workers;
  out.dp = side("dp", workers, source, 0);
  out.ddp = side("ddp", workers, source, rank);
  const auto dp = curves_.find("dp"), ddp = curves_.find("ddp");
  if (dp == curves_.end() || ddp == curves_.end()) return out;
  out.both_predicted = dp->second.step_s.contains(most_workers) && ddp->second.step_s.contains(most_workers);
  for (auto at = ddp->second.step_s.rbegin(); out.both_predicted && at != ddp->second.step_s.rend(); ++at) {
    const auto beside = dp->second.step_s.find(at->first);
    if (beside == dp->second.step_s.end() || at->first < 2) break;
    // As many workers each: samples a worker over the step's time.
    if (ddp->second.samples_per_worker * beside->second <= dp->second.samples_per_worker * at->second) break;
    out.ddp_ahead_from = at->first;
  }
  return out;
}

Side Strategies::side(const std::string& strategy, std::int64_t workers, Source source, std::int64_t rank) const {
  Side out;
  out.strategy = strategy;
  out.in_file = file_->has(strategy);
  out.measured = source == Source::measured && is_measured(strategy, workers);
  if (const report::Configuration* here = out.measured ? configuration(strategy, workers) : largest(strategy)) {
    out.backend = here->backend;
    out.hosts = here->nodes;
  }
  out.memory = memory(strategy, workers);
  out.traffic = traffic(strategy, workers);
  add_figures(out, workers);
  add_lanes(out, workers, rank);
  if (const auto curve = curves_.find(strategy); curve != curves_.end() && curve->second.step_s.contains(1)) {
    const double alone_s = curve->second.step_s.at(1);
    for (const auto& [n, step_s] : curve->second.step_s) {
      if (n == 1) continue;
      if (alone_s < half * step_s) break;
      out.half_efficient_up_to = n;
    }
  }
  return out;
}

void Strategies::add_figures(Side& side, std::int64_t workers) const {
  const std::string& strategy = side.strategy;
  const auto& predictors = side.measured ? as_measured_ : predicted_;
  const auto found = predictors.find(strategy);
  if (found == predictors.end()) {
    side.measured = false;
    side.why_not = side.in_file && !file_->why_no_models.empty()
                       ? file_->why_no_models
                       : "no step of " + strategy + " is in this file" + advice_for(strategy);
    return;
  }
  const fit::Predictor& predictor = found->second;
  if (const std::string why = predictor.refusal(workers); !why.empty()) {
    side.measured = false;
    side.why_not = why + "; measure " + strategy + " at more than one N";
    return;
  }
  store::PredictionRow row = predictor.predict(workers, predictor.gains(workers));
  try {
    std::optional<TimeParts> parts;
    if (side.measured) parts = measured_parts(*configuration(strategy, workers), row.step_s);
    if (!parts) {
      const fit::SimulatedStep simulated = predictor.simulated_step(workers);
      step::StepLanes lanes = fit::simulated_lanes(simulated);
      parts = simulated_parts(lanes);
      parts->hidden_s = std::max(0.0, simulated.terms.communication_s - simulated.terms.exposed_s);
      if (!side.measured) side.lanes = std::move(lanes);
    }
    side.parts = *parts;
  } catch (const std::invalid_argument& error) {
    if (!side.measured) {
      side.why_not = std::string(error.what()) + "; measure " + strategy + " at more than one N";
      return;
    }
    side.parts.other_s = row.step_s;  // neither recorded nor modelled
  }
  side.row = std::move(row);
}

void Strategies::add_lanes(Side& side, std::int64_t workers, std::int64_t rank) const {
  if (!side.row) {
    side.why_no_lanes = side.why_not;
    return;
  }
  if (!side.measured) return;  // there already, with the figures
  try {
    const report::RunStep* step = typical(*configuration(side.strategy, workers));
    if (step == nullptr) {
      side.why_no_lanes = "no complete measured step";
      return;
    }
    file_->check_unchanged();
    store::Database database = store::Database::open_read(file_->path);
    side.lanes = report::measured_lanes(database, step->measurement, side.strategy == "dp" ? 0 : rank, step->step);
  } catch (const std::invalid_argument& error) {
    side.why_no_lanes = error.what();
  }
}

double Strategies::optimizer_bytes() const {
  const report::Configuration* some = largest("dp") ? largest("dp") : largest("ddp");
  if (!some || !file_->scenario) return 0.0;
  const scenario::Optimizer& optimizer = file_->scenario->workload.optimizer;
  const double states = optimizer.kind != scenario::OptimizerKind::sgd ? 2.0 : optimizer.momentum != 0.0 ? 1.0 : 0.0;
  return states * static_cast<double>(some->parameter_bytes);
}

// What the copies of so many replicas carry; without measured copies the parameters alone.
step::DataParallelStep Strategies::copying(std::int64_t workers) const {
  step::DataParallelStep step;
  step.replicas = workers;
  const report::Configuration* some = largest("dp") ? largest("dp") : largest("ddp");
  if (some) step.parameter_bytes = static_cast<double>(some->parameter_bytes);
  if (!file_->models) return step;
  const auto& measured = file_->models->copies.bytes_per_replica;
  const auto take = [&](const char* phase, double& bytes) {
    if (const auto found = measured.find(phase); found != measured.end()) bytes = found->second;
  };
  take("scatter", step.input_bytes);
  take("gather", step.output_bytes);
  return step;
}

DeviceMemory Strategies::memory(const std::string& strategy, std::int64_t workers) const {
  const report::Configuration* some = largest(strategy);
  const MeasuredMemory* nearest = nullptr;
  for (const MeasuredMemory& one : memory_) {
    const report::Configuration* same = configuration(strategy, one.workers);
    if (one.strategy != strategy || !one.device_0_bytes || !same || same->model != one.model ||
        same->global_batch() != one.global_batch)
      continue;
    // DataParallel on one device has no root: it tells nothing of several.
    if (strategy == "dp" && (one.workers == 1) != (workers == 1)) continue;
    if (nearest == nullptr || apart(one.workers, workers) < apart(nearest->workers, workers)) nearest = &one;
  }
  if (nearest == nullptr) {
    if (strategy == "dp") return data_parallel_memory(workers);
    return {{}, {}, false, some ? "this file holds no memory of " + strategy + ": measure again" : "not measured"};
  }
  DeviceMemory out{nearest->device_0_bytes, nearest->others_bytes, nearest->workers == workers, ""};
  if (out.measured) {
    out.how = "measured";
    return out;
  }
  out.how = "as measured at N = " + std::to_string(nearest->workers);
  if (strategy == "ddp") {
    if (nearest->workers == 1 || workers == 1) out.how += "; DDP keeps its buckets at any N";
    return out;
  }
  const double optimizer = optimizer_bytes();
  const double more = step::memory(copying(workers), optimizer, 0.0).device_0_bytes -
                      step::memory(copying(nearest->workers), optimizer, 0.0).device_0_bytes;
  out.device_0_bytes = *out.device_0_bytes + more;
  out.how = "simulated: N = " + std::to_string(nearest->workers) +
            " as measured, every further replica with its inputs and outputs";
  return out;
}

DeviceMemory Strategies::data_parallel_memory(std::int64_t workers) const {
  if (!largest("dp") && !largest("ddp")) return {{}, {}, false, "not measured"};
  const step::DataParallelMemory least = step::memory(copying(workers), optimizer_bytes(), 0.0);
  DeviceMemory out{
      least.device_0_bytes, {}, false, "simulated, at least: parameters, gradients and optimizer, without activations"};
  if (workers > 1) out.others_bytes = least.other_bytes;
  return out;
}

Traffic Strategies::traffic(const std::string& strategy, std::int64_t workers) const {
  const auto n = static_cast<double>(workers);
  const report::Configuration* some = largest(strategy) ? largest(strategy) : largest(strategy == "dp" ? "ddp" : "dp");
  if (!some) return {{}, {}, "nothing was measured"};
  if (workers == 1) return {0.0, 0.0, "one worker exchanges nothing"};
  if (strategy == "dp") {
    const step::DataParallelStep step = copying(workers);
    const bool all = step.input_bytes > 0.0 || step.output_bytes > 0.0;
    return {(n - 1.0) * (step.parameter_bytes + step.input_bytes),
            (n - 1.0) * (step.parameter_bytes + step.output_bytes),
            all ? "device 0: parameters and inputs out, outputs and gradients in, for each other replica"
                : "device 0: parameters out and gradients in, for each other replica; inputs and outputs were not "
                  "measured"};
  }
  double bytes = static_cast<double>(some->parameter_bytes);
  if (file_->models && !file_->models->measured.ddp.empty()) {
    // What is on the wire where a hook compresses.
    const std::vector<fit::Bucket>& buckets = file_->models->measured.ddp.rbegin()->second.buckets;
    double reduced = 0.0;
    for (const fit::Bucket& bucket : buckets) reduced += static_cast<double>(bucket.bytes);
    if (reduced > 0.0) bytes = reduced;
  }
  const double each_way = 2.0 * (n - 1.0) / n * bytes;
  return {each_way, each_way, "each rank: 2 (N - 1) / N of the gradients each way, as a ring moves them"};
}

}  // namespace ddpprof::gui
