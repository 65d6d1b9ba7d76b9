#include "analysis/metrics/device_work.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "analysis/metrics/kernel_name.hpp"
#include "analysis/metrics/self_times.hpp"
#include "analysis/metrics/step_windows.hpp"

namespace ddpprof::metrics {
namespace {

// Names by their id in the table `string`. Each id is looked up once.
class Names {
 public:
  struct Name {
    std::string kind, name;
    std::size_t number = 0;  // the same for the same kind and name
  };

  explicit Names(SQLite::Database& db) : find_(db, "SELECT value FROM string WHERE id = ?") {
    SQLite::Statement query(db, "SELECT DISTINCT name_id FROM kernel_summary WHERE kind = 'communication'");
    while (query.executeStep()) communication_.insert(query.getColumn(0).getInt64());
  }

  const Name& kernel(std::int64_t id) {
    return named(kernels_, id, [&](const std::string& recorded) {
      const bool nccl = communication_.contains(id) || recorded.find("nccl") != std::string::npos;
      return Name{nccl ? "communication" : "compute", short_kernel_name(recorded), 0};
    });
  }
  const Name& operation(std::int64_t id) {
    return named(operations_, id, [](const std::string& recorded) { return Name{"operation", recorded, 0}; });
  }
  const Name& copy(const char* kind) {
    const auto found = copies_.find(kind);
    if (found != copies_.end()) return found->second;
    const bool set = std::string_view(kind) == "memset";
    return copies_.emplace(kind, numbered({set ? "set" : "copy", kind, 0})).first->second;
  }

 private:
  template <class Make>
  const Name& named(std::unordered_map<std::int64_t, Name>& known, std::int64_t id, Make&& make) {
    const auto found = known.find(id);
    if (found != known.end()) return found->second;
    find_.reset();
    find_.bind(1, id);
    return known.emplace(id, numbered(make(find_.executeStep() ? find_.getColumn(0).getString() : "?"))).first->second;
  }
  Name numbered(Name name) {
    name.number = numbers_.try_emplace({name.kind, name.name}, numbers_.size()).first->second;
    return name;
  }

  SQLite::Statement find_;
  std::set<std::int64_t> communication_;
  std::unordered_map<std::int64_t, Name> kernels_, operations_;
  std::map<std::string, Name, std::less<>> copies_;
  std::map<std::pair<std::string, std::string>, std::size_t> numbers_;
};

struct Shape {
  std::size_t name;
  std::int64_t first, second;  // grid and block; bytes and 0; −1 and −1: various
  bool operator==(const Shape&) const = default;
};
struct ShapeHash {
  std::size_t operator()(const Shape& shape) const {
    std::uint64_t hash = shape.name;
    for (const std::int64_t part : {shape.first, shape.second})
      hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9e3779b97f4a7c15ULL;
    return hash ^ (hash >> 29);
  }
};

std::string in_words(const std::string& kind, const Shape& shape) {
  if (shape.first < 0) return various_shapes;
  if (kind == "operation") return "";
  if (kind == "copy" || kind == "set") return fmt::format("{} B", shape.first);
  return fmt::format("grid {}, block {}", shape.first, shape.second);
}

// Work of one configuration.
class Sums {
 public:
  void add(const Names::Name& name, Shape shape, std::size_t step, std::int64_t time_ns) {
    auto found = places_.find(shape);
    if (found == places_.end()) {
      if (shapes_.size() <= name.number) shapes_.resize(name.number + 1);
      // More than shapes_most shapes: further shapes are combined.
      if (shapes_[name.number] > shapes_most) {
        shape = {name.number, -1, -1};
        found = places_.find(shape);
      }
      if (found == places_.end()) {
        ++shapes_[name.number];
        found = places_.emplace(shape, all_.size()).first;
        all_.push_back({name.kind, name.name, in_words(name.kind, shape), {}});
      }
    }
    std::vector<WorkInStep>& steps = all_[found->second].steps;
    if (steps.size() <= step) steps.resize(step + 1);
    steps[step].time_ns += time_ns;
    ++steps[step].calls;
  }
  bool empty() const { return all_.empty(); }
  std::vector<Work> take() {
    std::ranges::sort(all_, {}, [](const Work& one) { return std::tie(one.kind, one.name, one.shape); });
    return std::move(all_);
  }

 private:
  std::unordered_map<Shape, std::size_t, ShapeHash> places_;
  std::vector<std::size_t> shapes_;  // number of shapes per name
  std::vector<Work> all_;
};

class Reader {
 public:
  Reader(SQLite::Database& db, const std::vector<const Configuration*>& configurations, const Stopped& stopped)
      : db_(db),
        stopped_(stopped),
        steps_(read_step_windows(db, configurations)),
        names_(db),
        sums_(configurations.size()) {}

  bool devices() {
    return each_row(db_, "SELECT shard_id, start_ns, end_ns, name_id, grid, block FROM kernel", stopped_,
                    [&](sqlite3_stmt* row) {
                      const auto number = [&](int column) { return sqlite3_column_int64(row, column); };
                      count(
                          number(0), number(1), number(2) - number(1),
                          [&]() -> const Names::Name& { return names_.kernel(number(3)); }, number(4), number(5));
                    }) &&
           each_row(db_, "SELECT shard_id, start_ns, end_ns, kind, bytes FROM memcpy", stopped_,
                    [&](sqlite3_stmt* row) {
                      const auto number = [&](int column) { return sqlite3_column_int64(row, column); };
                      count(
                          number(0), number(1), number(2) - number(1),
                          [&]() -> const Names::Name& {
                            return names_.copy(reinterpret_cast<const char*>(sqlite3_column_text(row, 3)));
                          },
                          number(4), 0);
                    });
  }

  // Counts operations of the host for configurations without device events.
  void operations() {
    std::vector<bool> wanted;
    for (const Sums& sums : sums_) wanted.push_back(sums.empty());
    if (std::ranges::none_of(wanted, [](bool one) { return one; })) return;
    std::map<std::pair<std::int64_t, std::int64_t>, SelfTimes> threads;
    const auto take_for = [&](std::int64_t shard) {
      return [this, shard](const SelfTimes::Open& one) {
        count(
            shard, one.start_ns, one.end_ns - one.start_ns - one.inner_ns,
            [&]() -> const Names::Name& { return names_.operation(one.name_id); }, 0, 0);
      };
    };
    each_row(db_,
             "SELECT r.shard_id, r.tid, r.start_ns, r.end_ns, r.name_id FROM range r WHERE r.end_ns IS NOT NULL AND "
             "r.domain_id = (SELECT id FROM string WHERE value = 'operation') ORDER BY r.shard_id, r.start_ns, "
             "r.end_ns DESC",
             stopped_, [&](sqlite3_stmt* row) {
               const auto number = [&](int column) { return sqlite3_column_int64(row, column); };
               const auto found = steps_.find(number(0));
               if (found == steps_.end() || !wanted[found->second.configuration]) return;
               threads[{number(0), number(1)}].begin(number(2), number(3), number(4), take_for(number(0)));
             });
    for (auto& [key, thread] : threads) thread.close(INT64_MAX, take_for(key.first));
  }

  std::vector<Workload> take(const std::vector<const Configuration*>& configurations) {
    std::vector<Workload> all(sums_.size());
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      all[i].all = sums_[i].take();
      all[i].ranks.resize(configurations[i]->measured.size());
    }
    for (const auto& [shard, steps] : steps_)
      for (const StepWindows::Window& window : steps.windows) ++all[steps.configuration].ranks[window.step];
    return all;
  }

 private:
  template <class NameOf>
  void count(std::int64_t shard, std::int64_t start_ns, std::int64_t time_ns, NameOf&& name_of, std::int64_t first,
             std::int64_t second) {
    if (shard != shard_ || current_ == nullptr) {
      const auto found = steps_.find(shard);
      shard_ = shard;
      current_ = found == steps_.end() ? nullptr : &found->second;
    }
    if (current_ == nullptr) return;
    const StepWindows::Window* window = current_->at(start_ns);
    if (window == nullptr) return;
    const Names::Name& name = name_of();
    sums_[current_->configuration].add(name, {name.number, first, second}, window->step, time_ns);
  }

  SQLite::Database& db_;
  const Stopped& stopped_;
  std::unordered_map<std::int64_t, StepWindows> steps_;
  Names names_;
  std::vector<Sums> sums_;
  std::int64_t shard_ = -1;
  StepWindows* current_ = nullptr;
};

}  // namespace

WorkInStep Work::total() const {
  WorkInStep sum;
  for (const WorkInStep& step : steps) {
    sum.time_ns += step.time_ns;
    sum.calls += step.calls;
  }
  return sum;
}

std::vector<Workload> read_work(SQLite::Database& db, const std::vector<const Configuration*>& configurations,
                                const Stopped& stopped) {
  Reader reader(db, configurations, stopped);
  if (reader.devices()) reader.operations();
  return reader.take(configurations);
}

Workload read_work_totals(SQLite::Database& db, const Configuration& configuration) {
  Workload totals;
  totals.totals = true;
  std::map<std::int64_t, std::int64_t> steps;
  for (const RunStep& step : configuration.measured) ++steps[step.measurement];
  std::map<std::pair<std::string, std::string>, WorkInStep> sums;
  std::int64_t ranks = 0;
  SQLite::Statement shards(db,
                           "SELECT COUNT(DISTINCT shard_id) FROM kernel_summary k JOIN shard sh ON sh.id = "
                           "k.shard_id WHERE sh.measurement_id = ?");
  SQLite::Statement query(db,
                          "SELECT k.kind, s.value, SUM(k.count), SUM(k.total_ns) FROM kernel_summary k JOIN string s "
                          "ON s.id = k.name_id JOIN shard sh ON sh.id = k.shard_id WHERE sh.measurement_id = ? GROUP "
                          "BY k.kind, s.value");
  for (const std::int64_t id : configuration.measurements) {
    shards.reset();
    shards.bind(1, id);
    shards.executeStep();
    ranks += shards.getColumn(0).getInt64() * std::max<std::int64_t>(1, steps[id]);
    query.reset();
    query.bind(1, id);
    while (query.executeStep()) {
      WorkInStep& sum = sums[{query.getColumn(0).getString(), short_kernel_name(query.getColumn(1).getString())}];
      sum.calls += query.getColumn(2).getInt64();
      sum.time_ns += query.getColumn(3).getInt64();
    }
  }
  totals.ranks = {ranks};
  for (const auto& [name, sum] : sums) totals.all.push_back({name.first, name.second, "", {sum}});
  return totals;
}

std::set<KindAndName> names_of_many_shapes(const Workload& workload) {
  std::map<KindAndName, std::size_t> shapes;
  std::set<KindAndName> many;
  for (const Work& work : workload.all)
    if (++shapes[{work.kind, work.name}] > shapes_most) many.insert({work.kind, work.name});
  return many;
}

void merge_shapes(Workload& workload, const std::set<KindAndName>& names) {
  std::vector<Work> merged;
  for (Work& work : workload.all) {
    if (!names.contains({work.kind, work.name})) {
      merged.push_back(std::move(work));
      continue;
    }
    if (merged.empty() || merged.back().kind != work.kind || merged.back().name != work.name)
      merged.push_back({work.kind, work.name, various_shapes, {}});
    std::vector<WorkInStep>& steps = merged.back().steps;
    if (steps.size() < work.steps.size()) steps.resize(work.steps.size());
    for (std::size_t i = 0; i < work.steps.size(); ++i) {
      steps[i].time_ns += work.steps[i].time_ns;
      steps[i].calls += work.steps[i].calls;
    }
  }
  workload.all = std::move(merged);
}

}  // namespace ddpprof::metrics
