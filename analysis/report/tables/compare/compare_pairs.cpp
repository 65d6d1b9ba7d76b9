// Pairs of configurations that are compared, and their names.
#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "analysis/report/tables/compare/compare_parts.hpp"
#include "simulator/stats/summary.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report {
namespace {

auto identity(const metrics::Configuration& c) {
  return std::tie(c.kind, c.model, c.strategy, c.world_size, c.batch_per_worker, c.accumulation);
}

bool import(const metrics::Configuration& c) { return c.kind == "import"; }

// The model of an import is named after its file, and many traces have no number of samples per step.
bool comparable(const metrics::Configuration& a, const metrics::Configuration& b) {
  if (!import(a) || !import(b)) return !a.measured.empty() && !b.measured.empty() && identity(a) == identity(b);
  return a.measured.empty() == b.measured.empty() && a.strategy == b.strategy && a.world_size == b.world_size &&
         a.accumulation == b.accumulation &&
         (a.batch_per_worker == b.batch_per_worker || a.batch_per_worker == 0 || b.batch_per_worker == 0);
}

// Returns why a and b are compared although their names or batches differ; "" if they are equal.
std::string despite(const metrics::Configuration& a, const metrics::Configuration& b, Differing differing) {
  if (differing == Differing::batch) return "";
  if (a.model == b.model && a.batch_per_worker == b.batch_per_worker) return "";
  std::string text;
  if (a.model != b.model) {
    text = fmt::format(
        "A's model is named {} and B's {} (imports are named after their files or by --model, and are compared by "
        "strategy and N); ",
        a.model, b.model);
    if (a.parameter_count > 0 && a.parameter_count == b.parameter_count)
      text += fmt::format("both have {} parameters", a.parameter_count);
    else if (a.parameter_count > 0 && b.parameter_count > 0)
      text += fmt::format("A has {} parameters and B {}: the models may differ", a.parameter_count, b.parameter_count);
    else
      text += "the number of parameters is not known for both";
  }
  if (a.batch_per_worker != b.batch_per_worker)
    text += fmt::format("{}{} has no number of samples per step: the workloads may differ", text.empty() ? "" : "; ",
                        a.batch_per_worker == 0 ? "A" : "B");
  return text;
}

int likeness(const metrics::Configuration& a, const metrics::Configuration& b) {
  return 16 * (a.model == b.model) + 8 * (a.batch_per_worker == b.batch_per_worker) + 4 * (a.device == b.device) +
         3 * (a.precision == b.precision) + 2 * (a.backend == b.backend) + (a.threads_per_rank == b.threads_per_rank) +
         (a.cores == b.cores) + (a.nodes == b.nodes) + (a.parameter_count == b.parameter_count);
}

// For imports without steps: returns the traced time of their devices, mean over the ranks.
double traced_s(const Source& source, const metrics::Configuration& c) {
  SQLite::Statement query(source.db,
                          "SELECT AVG(d.span_ns) FROM device_time d JOIN shard sh ON sh.id = d.shard_id WHERE d.name = "
                          "'all' AND sh.measurement_id = ?");
  query.bind(1, c.measurements.front());
  return query.executeStep() ? units::ns_to_s(query.getColumn(0).getDouble()) : 0.0;
}

double median_step_s(const metrics::Configuration& c) {
  std::vector<double> durations;
  for (const metrics::RunStep& step : c.timed()) durations.push_back(step.duration_s);
  return stats::median(durations);
}

using InWords = std::function<std::string(const metrics::Configuration&)>;

std::string count_text(const char* what, std::int64_t count) {
  return fmt::format("{} {}", what, count > 0 ? std::to_string(count) : "unknown");
}

// Properties that distinguish configurations with the same strategy and N, the most common first.
std::vector<InWords> distinctions() {
  return {[](const metrics::Configuration& c) { return count_text("batch", c.batch_per_worker * c.accumulation); },
          [](const metrics::Configuration& c) { return fmt::format("accumulation {}", c.accumulation); },
          [](const metrics::Configuration& c) { return c.kind; },
          [](const metrics::Configuration& c) { return c.device; },
          [](const metrics::Configuration& c) { return c.precision; },
          [](const metrics::Configuration& c) { return c.backend; },
          [](const metrics::Configuration& c) { return count_text("threads per rank", c.threads_per_rank); },
          [](const metrics::Configuration& c) { return count_text("cores", c.cores); },
          [](const metrics::Configuration& c) { return fmt::format("hosts {}", c.nodes); },
          [](const metrics::Configuration& c) { return count_text("parameters", c.parameter_count); },
          [](const metrics::Configuration& c) { return count_text("bytes of parameters", c.parameter_bytes); },
          [](const metrics::Configuration& c) {
            return "threads per core " + units::format_significant(c.oversubscription, 3);
          }};
}

// "ddp N=1 and N=4", "ddp N=4, batch 16 and 32"
std::string name_of(const Pair& pair, Differing differing) {
  const std::string first = fmt::format("{} N={}", pair.a->strategy, pair.a->world_size);
  if (differing == Differing::workers) return fmt::format("{} and N={}", first, pair.b->world_size);
  if (differing == Differing::batch)
    return fmt::format("{}, batch {} and {}", first, pair.a->batch_per_worker, pair.b->batch_per_worker);
  if (differing == Differing::accumulation)
    return fmt::format("{}, accumulation {} and {}", first, pair.a->accumulation, pair.b->accumulation);
  return first;
}

// Leaves out the steps without the profiler if only one of the two has them and the other one's steps have the
// profiler's cost.
void compare_traced_steps(Pair& pair) {
  const bool of_a = !pair.a->untraced.empty(), of_b = !pair.b->untraced.empty();
  if (of_a == of_b) return;
  const metrics::Configuration*& timed = of_a ? pair.a : pair.b;
  if ((of_a ? pair.b : pair.a)->step_times_only) return;
  auto traced = std::make_shared<metrics::Configuration>(*timed);
  traced->untraced.clear();
  traced->unprofiled.clear();
  timed = traced.get();
  pair.traced = std::move(traced);
  if (!pair.despite.empty()) pair.despite += "; ";
  pair.despite += fmt::format(
      "only {} has steps that were timed without the profiler: the traced steps of both files are compared, which "
      "contain the profiler's cost",
      of_a ? "A" : "B");
}

// If several pairs have the same name, differing properties are added until the names are unique.
void name(std::vector<Pair>& pairs, Differing differing) {
  const bool one_model = std::all_of(pairs.begin(), pairs.end(),
                                     [&](const Pair& pair) { return pair.a->model == pairs.front().a->model; });
  for (Pair& pair : pairs) {
    pair.about = name_of(pair, differing);
    if (!one_model) pair.about = pair.a->model + " " + pair.about;
  }
  for (const InWords& in_words : distinctions()) {
    std::map<std::string, std::set<std::string>> words;  // of pairs with the same name
    for (const Pair& pair : pairs) words[pair.about].insert(in_words(*pair.a));
    for (Pair& pair : pairs)
      if (words.at(pair.about).size() > 1) pair.about += ", " + in_words(*pair.a);
  }
}

}  // namespace

Paired pair_up(const Source& a, const Source& b, Differing differing) {
  const auto shown = [](const metrics::Configuration& c) { return import(c) || !c.measured.empty(); };
  struct Candidate {
    int alike;
    std::size_t in_a, in_b;
  };
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < a.configurations.size(); ++i) {
    for (std::size_t j = 0; j < b.configurations.size(); ++j) {
      const metrics::Configuration& of_a = a.configurations[i];
      metrics::Configuration of_b = b.configurations[j];
      if (differing == Differing::workers) of_b.world_size = of_a.world_size;
      if (differing == Differing::batch) of_b.batch_per_worker = of_a.batch_per_worker;
      if (differing == Differing::accumulation) of_b.accumulation = of_a.accumulation;
      if (comparable(of_a, of_b)) candidates.push_back({likeness(of_a, of_b), i, j});
    }
  }
  // The most similar pair first, so that A's first configuration does not get the best match of A's second.
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& x, const Candidate& y) { return x.alike > y.alike; });
  std::map<std::size_t, std::size_t> taken;  // index in A → index in B
  std::set<std::size_t> taken_of_b;
  for (const Candidate& next : candidates) {
    if (taken.contains(next.in_a) || taken_of_b.contains(next.in_b)) continue;
    taken[next.in_a] = next.in_b;
    taken_of_b.insert(next.in_b);
  }
  Paired paired;
  for (std::size_t i = 0; i < a.configurations.size(); ++i) {
    const metrics::Configuration& c = a.configurations[i];
    if (!shown(c)) continue;
    if (const auto other = taken.find(i); other != taken.end()) {
      const metrics::Configuration& in_b = b.configurations[other->second];
      Pair& pair = paired.both.emplace_back(Pair{&c, &in_b, "", 0.0, despite(c, in_b, differing)});
      if (pair.has_steps()) compare_traced_steps(pair);
      pair.step_a_s = pair.has_steps() ? median_step_s(*pair.a)
                                       : reading(a, [&](const Source& source) { return traced_s(source, c); });
    } else {
      paired.only_a.push_back(&c);
    }
  }
  for (std::size_t j = 0; j < b.configurations.size(); ++j)
    if (shown(b.configurations[j]) && !taken_of_b.contains(j)) paired.only_b.push_back(&b.configurations[j]);
  name(paired.both, differing);
  return paired;
}

}  // namespace ddpprof::report
