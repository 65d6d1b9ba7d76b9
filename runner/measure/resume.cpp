#include "runner/measure/resume.hpp"

#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "analysis/import/ranks/json_text.hpp"
#include "runner/host/network.hpp"
#include "runner/launcher/exchange/rendezvous.hpp"
#include "runner/measure/error.hpp"
#include "runner/measure/programs.hpp"
#include "runner/scenario/read.hpp"
#include "tracer/store/remove.hpp"
#include "tracer/store/rows/queries.hpp"

namespace ddpprof::measure {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds worker_limit{120};  // time to load LibTorch from a cold disk

struct Earlier {
  std::int64_t id = 0;
  std::string name, kind, device, status, torch, processor, gpu, started_by;
  std::int64_t cores = 0, threads = 0;
};

class Resume {
 public:
  Resume(const SweepOptions& options, const scenario::Scenario& scenario, const Plan& plan)
      : options_(options), scenario_(scenario), plan_(plan) {}

  Resumption run() {
    SideFolder folder(side_folder(options_.database));
    folder.make();
    store::Database database = store::Database::open_write(options_.database);
    database.check();  // a power cut may have damaged it
    check_version(database);
    const std::optional<std::int64_t> scenario_id = check_scenario(database);
    const std::vector<Earlier> earlier = read_measurements(database);
    for (const Earlier& measurement : earlier) check_measurement(measurement);
    check_torch(earlier);

    folder.keep();
    const std::vector<std::string> other_hosts = read_other_hosts(database);
    Resumption result{{std::move(database), std::move(folder)}, scenario_id, {}, {}, other_hosts};
    for (const Earlier& measurement : earlier) {
      if (measurement.status == "ok") result.measured.insert(measurement.name);
    }
    for (const Earlier& measurement : earlier) {
      if (measurement.status == "ok") continue;
      store::remove_measurement(result.target.database, measurement.id);
      result.removed.push_back(fmt::format("{} ({})", measurement.name, measurement.status));
    }
    for (const Configuration& configuration : plan_.configurations) {
      const std::string name = configuration_name(configuration);
      if (result.measured.contains(name)) continue;
      std::error_code error;
      fs::remove_all(result.target.folder.path() / name, error);  // otherwise old shards would count as new ones
      if (error) throw CannotWrite("cannot remove the files of " + name + ": " + error.message());
    }
    return result;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw InvalidRequest(options_.database.string() + " cannot be continued: " + what,
                         "the same scenario and machine as at its start",
                         "use the same again, give another file with --out, or start again with --overwrite");
  }

  void refuse_unequal(const char* what, const std::string& there, const std::string& here) const {
    if (there != here) refuse(fmt::format("{}: {} in the database, {} now", what, there, here));
  }

  // An unknown model equals any model.
  void refuse_other_model(const char* what, const std::string& there, const std::string& here) const {
    if (!there.empty() && !here.empty()) refuse_unequal(what, there, here);
  }

  void check_version(store::Database& database) const {
    if (const auto version = store::read_meta(database.sql(), "program_version"))
      refuse_unequal("version of ddpprof", *version, DDPPROF_VERSION);
  }

  std::optional<std::int64_t> check_scenario(store::Database& database) const {
    const std::vector<store::ScenarioRow> scenarios = store::read_scenarios(database.sql());
    if (scenarios.empty()) {
      SQLite::Statement any(database.sql(), "SELECT 1 FROM measurement UNION ALL SELECT 1 FROM meta");
      if (any.executeStep()) refuse("it has no scenario, so 'ddpprof run' did not make it");
      return std::nullopt;
    }
    const std::string difference = launcher::first_difference(scenarios.front().resolved, scenario::to_yaml(scenario_));
    if (!difference.empty()) refuse("another scenario (in the database, then now): " + difference);
    if (scenarios.size() > 1) refuse("it has several scenarios");
    return scenarios.front().id;
  }

  std::vector<Earlier> read_measurements(store::Database& database) const {
    std::vector<Earlier> all;
    SQLite::Statement query(database.sql(),
                            "SELECT id, strategy, world_size, repeat, kind, device, status, cores, threads_per_rank, "
                            "versions, options, batch_per_worker FROM measurement ORDER BY id");
    while (query.executeStep()) {
      Earlier one;
      one.id = query.getColumn(0).getInt64();
      // The name that configuration_name() returns.
      const std::string batch =
          scenario_.measure.batches.empty() ? "" : fmt::format("-b{}", query.getColumn(11).getInt64());
      one.name = fmt::format("{}-n{}{}-r{}", query.getColumn(1).getString(), query.getColumn(2).getInt64(), batch,
                             query.getColumn(3).getInt64());
      one.kind = query.getColumn(4).getString();
      one.device = query.getColumn(5).getString();
      one.status = query.getColumn(6).getString();
      one.cores = query.getColumn(7).getInt64();
      one.threads = query.getColumn(8).getInt64();
      const auto versions = nlohmann::json::parse(query.getColumn(9).getString(), nullptr, false);
      one.torch = ranks::text_of(versions, "torch");
      one.processor = ranks::text_of(versions, "processor");
      one.gpu = ranks::text_of(versions, "gpu");
      one.started_by =
          ranks::text_of(nlohmann::json::parse(query.getColumn(10).getString(), nullptr, false), "started_by");
      all.push_back(std::move(one));
    }
    return all;
  }

  // Hosts of the measurements that are kept.
  static std::vector<std::string> read_other_hosts(store::Database& database) {
    std::vector<std::string> hosts;
    SQLite::Statement query(database.sql(),
                            "SELECT DISTINCT shard.host FROM shard JOIN measurement ON measurement.id = measurement_id "
                            "WHERE status = 'ok' AND shard.host NOT IN ('', ?) ORDER BY 1");
    query.bind(1, host::host_name());
    while (query.executeStep()) hosts.push_back(query.getColumn(0).getString());
    return hosts;
  }

  void check_measurement(const Earlier& measurement) const {
    const auto planned = std::ranges::find(plan_.configurations, measurement.name, configuration_name);
    if (measurement.kind != "train" || planned == plan_.configurations.end())
      refuse(fmt::format("{} ({}) is not a measurement of this scenario", measurement.name, measurement.kind));
    if (!measurement.started_by.empty())
      refuse(fmt::format("{} was imported: its ranks were started by {}", measurement.name, measurement.started_by));
    if (measurement.status != "ok") return;  // it is measured again
    refuse_unequal("device", measurement.device, plan_.device);
    refuse_other_model("processor", measurement.processor, options_.machine.processor);
    if (plan_.device == "cuda") refuse_other_model("GPU", measurement.gpu, options_.machine.gpu);
    refuse_unequal("cores", std::to_string(measurement.cores), std::to_string(plan_.cores));
    refuse_unequal("threads per rank", std::to_string(measurement.threads), std::to_string(planned->threads_per_rank));
  }

  void check_torch(const std::vector<Earlier>& earlier) const {
    const auto whole =
        std::ranges::find_if(earlier, [](const Earlier& one) { return one.status == "ok" && !one.torch.empty(); });
    if (whole == earlier.end()) return;
    const Worker worker = look_at_worker(worker_limit);
    if (worker.problem.empty()) refuse_unequal("version of LibTorch", whole->torch, worker.torch);
  }

  const SweepOptions& options_;
  const scenario::Scenario& scenario_;
  const Plan& plan_;
};

}  // namespace

Resumption resume_database(const SweepOptions& options, const scenario::Scenario& scenario, const Plan& plan) {
  try {
    return Resume(options, scenario, plan).run();
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, options.database);
  }
}

}  // namespace ddpprof::measure
