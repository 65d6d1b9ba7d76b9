// Tables about whole steps: duration, parts, scaling.
#include <algorithm>

#include "analysis/report/tables/steps/steps.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::report {
namespace {

constexpr std::size_t fewest_steps_of_interval = 6;  // stats::median_interval: fewer give their range

constexpr const char* step_rule =
    "A step's time is the mean over its ranks. Values are medians over the measured steps with the median's 95 % "
    "interval (whole repeats are resampled). ";
constexpr const char* step_part_rule = "Parts of a step are means over the ranks, then medians over the steps. ";
constexpr const char* without_profiler_rule =
    " Recorded jobs: steps were timed without the profiler, and the parts are those of the recorded steps without the "
    "profiler's cost, as in the predictions. The predictions use mean shares of the steps, and this table medians.";
constexpr const char* overlap_rule =
    "Overlap rule “intersection”: overlapped = communication ∩ compute, exposed = communication − compute. ";

struct Field {
  const char* name;
  const char* title;
  double metrics::RunStep::*value;
  bool optional = false;  // not all strategies and devices have it
  bool communication = false;
};
constexpr Field parts[] = {
    {"forward_s", "forward", &metrics::RunStep::forward_s},
    {"backward_s", "backward", &metrics::RunStep::backward_s},
    {"optimizer_s", "optimizer", &metrics::RunStep::optimizer_s},
    {"data_wait_s", "data wait", &metrics::RunStep::data_wait_s},
    {"host_to_device_s", "host to device", &metrics::RunStep::host_to_device_s, true},
    {"buffers_s", "buffers", &metrics::RunStep::buffers_s, true},
    {"copy_s", "copies", &metrics::RunStep::copy_s, true},
    {"compute_s", "compute", &metrics::RunStep::compute_s},
    {"communication_s", "communication", &metrics::RunStep::communication_s, false, true},
    {"overlapped_s", "overlapped", &metrics::RunStep::overlapped_s, false, true},
    {"exposed_s", "exposed", &metrics::RunStep::exposed_s, false, true},
    {"exposed_wait_s", "of it waits", &metrics::RunStep::exposed_wait_s, true, true},
    {"skew_s", "skew", &metrics::RunStep::skew_s, true},
    {"host_s", "host", &metrics::RunStep::host_s, true},
};

// A table about configurations whose text without rows is no_measured_step.
Table measured_step_table(std::string name, std::string title, std::string note) {
  Table table = table_of_configurations(std::move(name), std::move(title), std::move(note));
  table.empty = no_measured_step;
  return table;
}

void add(Table& table, std::initializer_list<Column> columns) {
  table.columns.insert(table.columns.end(), columns.begin(), columns.end());
}

void add(Row& row, std::initializer_list<Cell> cells) { row.insert(row.end(), cells.begin(), cells.end()); }

// Unknown if the part is communication whose times were not recorded, or if the device's idle time is unknown.
Cell part_cell(const metrics::Configuration& c, const Field& part, double value) {
  if (part.value == &metrics::RunStep::host_s && !c.host_known()) return Cell();
  return part.communication && !c.communication_known ? Cell() : Cell(value);
}

void add_parts(Table& table) {
  for (const Field& part : parts) {
    table.columns.push_back(seconds(part.name, part.title));
    table.columns.back().hide_zero = part.optional;
  }
}

double median(const std::vector<metrics::RunStep>& steps, double metrics::RunStep::*field) {
  return metrics::median_of(steps, field).mid;
}

std::optional<double> speedup(const Source& source, const metrics::Configuration& c) {
  const metrics::Configuration* one = baseline(source.configurations, c);
  if (one == nullptr || !(throughput(*one) > 0.0)) return std::nullopt;
  return throughput(c) / throughput(*one);
}

// Exposed communication over the step. One rank exchanges nothing, also if its collectives take time.
Cell overhead(const metrics::Configuration& c, double step_s) {
  return c.world_size == 1 ? Cell(0.0) : ratio(median(c.parts(), &metrics::RunStep::exposed_s), step_s);
}

}  // namespace

Table step_table(const Source& source) {
  Table table = measured_step_table(
      "step", "Step time and scaling",
      std::string(step_rule) +
          "Speedup = throughput(N) / throughput(1). Weak efficiency = speedup / N. Communication overhead = median "
          "exposed communication / median step; the answer has means over the steps. Confidence: the coverage of the "
          "interval low to high; it is below 95 % if there are too few steps or repeats. Wrapper cost = step − the same "
          "step timed without the DDP wrapper.");
  add(table, {count("steps", "steps", "steps"), seconds("step_median_s", "step"),
              seconds("step_low_s", "low", "step_median_s"), seconds("step_high_s", "high", "step_median_s"),
              share("step_confidence", "confidence"), text("step_bounds", "low to high"),
              quantity("throughput_samples_per_s", "throughput", "samples/s"), quantity("speedup", "speedup", "×"),
              share("weak_efficiency", "weak efficiency"), share("communication_overhead", "comm. overhead"),
              seconds("unwrapped_median_s", "without DDP", "step_median_s"),
              seconds("wrapper_cost_s", "wrapper cost", "step_median_s"),
              count("threads_per_rank", "threads per rank", "threads"),
              quantity("oversubscription", "threads per core", "×")});
  for (Column& column : table.columns)
    if (column.name == "oversubscription" || column.name == "step_confidence") column.hide_constant = true;
  const auto few = [](const metrics::Configuration& c) { return c.timed().size() < fewest_steps_of_interval; };
  if (std::ranges::any_of(source.configurations,
                          [&](const metrics::Configuration& c) { return !c.measured.empty() && few(c); }))
    table.note += " Range: of fewer than 6 steps, low and high are the smallest and the largest.";
  for (const metrics::Configuration& c : source.configurations) {
    if (c.measured.empty()) continue;
    const stats::Interval step = metrics::median_of(c.timed(), &metrics::RunStep::duration_s);
    const std::optional<double> faster = speedup(source, c);
    std::optional<double> unwrapped, cost;
    if (!c.unwrapped.empty()) {
      unwrapped = median(c.unwrapped, &metrics::RunStep::duration_s);
      cost = step.mid - *unwrapped;
    }
    Row row = configuration_cells(c);
    add(row, {static_cast<std::int64_t>(c.timed().size()), step.mid, step.low, step.high,
              std::min(metrics::confidence, step.achieved_confidence), few(c) ? Cell("range") : Cell(),
              where_positive(throughput(c)), known(faster), ratio(faster, static_cast<double>(c.world_size)),
              c.communication_known ? overhead(c, step.mid) : Cell(),
              known(unwrapped), known(cost), c.threads_per_rank > 0 ? Cell(c.threads_per_rank) : Cell(),
              c.oversubscription});
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table time_table(const Source& source) {
  Table table =
      measured_step_table("time", "Parts of a step",
                          std::string(step_part_rule) + overlap_rule +
                              "DDP's own Logger counts overlap from the start of communication to the end of compute, "
                              "which is an upper bound. Skew: time in collectives spent waiting for slower ranks; the "
                              "part that no compute hides is “of it waits”, which predictions call skew. With "
                              "N = 1 communication is a local all-reduce: nothing is transferred.");
  if (std::any_of(source.configurations.begin(), source.configurations.end(),
                  [](const metrics::Configuration& c) { return c.device == "cuda"; }))
    table.note +=
        " On a GPU, forward, backward and optimizer are the times in which the host launches them; in imports, the "
        "times of the device. Host: the device waits for the host's launches: it runs no kernel, copy or collective, "
        "and the step does not wait for data.";
  if (timed_without_profiler(source)) table.note += without_profiler_rule;
  add_parts(table);
  for (const metrics::Configuration& c : source.configurations) {
    if (c.measured.empty()) continue;
    Row row = configuration_cells(c);
    for (const Field& part : parts) row.push_back(part_cell(c, part, median(c.parts(), part.value)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table steps_table(const Source& source) {
  Table table = measured_step_table("steps", "Steps", std::string("Values are means over the ranks. ") + overlap_rule);
  table.key_columns += 3;
  add(table,
      {count("repeat", "repeat"), count("step", "step"), text("kind", "kind"), count("samples", "samples", "samples"),
       seconds("step_s", "time"), seconds("fastest_rank_s", "fastest rank", "step_s"),
       seconds("slowest_rank_s", "slowest rank", "step_s")});
  table.columns[4].hide_constant = true;
  add_parts(table);
  table.columns.push_back(quantity("loss", "loss", ""));
  for (const metrics::Configuration& c : source.configurations) {
    std::vector<const metrics::RunStep*> all;
    for (const auto* steps : {&c.warmup, &c.measured, &c.unwrapped, &c.untraced}) {
      for (const metrics::RunStep& step : *steps) all.push_back(&step);
    }
    std::stable_sort(all.begin(), all.end(), [](const metrics::RunStep* a, const metrics::RunStep* b) {
      return std::tie(a->repeat, a->measurement, a->step) < std::tie(b->repeat, b->measurement, b->step);
    });
    for (const metrics::RunStep* step : all) {
      Row row = configuration_cells(c);
      add(row,
          {step->repeat, step->step, step->kind, step->samples, step->duration_s, step->fastest_s, step->slowest_s});
      for (const Field& part : parts) row.push_back(part_cell(c, part, step->*part.value));
      row.push_back(known(step->has_loss ? std::optional(step->loss) : std::nullopt));
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

Table overlap_table(const Source& source) {
  Table table =
      measured_step_table("overlap", "Overlap of communication and compute",
                          std::string(step_part_rule) + overlap_rule +
                              "Overlapped share = overlapped / communication (as in HTA). Exposed share = exposed / "
                              "step. DDP's own Logger uses a different rule: it counts overlap from the start of "
                              "communication to the end of compute, which is an upper bound.");
  if (timed_without_profiler(source)) table.note += without_profiler_rule;
  add(table,
      {seconds("step_median_s", "step"), seconds("compute_s", "compute"), seconds("communication_s", "communication"),
       seconds("overlapped_s", "overlapped", "communication_s"), seconds("exposed_s", "exposed", "communication_s"),
       share("overlapped_share", "overlapped share"), share("exposed_share", "exposed share of step")});
  for (const metrics::Configuration& c : source.configurations) {
    if (c.measured.empty()) continue;
    const double step = median(c.timed(), &metrics::RunStep::duration_s);
    const double communication = median(c.parts(), &metrics::RunStep::communication_s);
    const double overlapped = median(c.parts(), &metrics::RunStep::overlapped_s);
    const double exposed = median(c.parts(), &metrics::RunStep::exposed_s);
    Row row = configuration_cells(c);
    const auto if_known = [&](Cell cell) { return c.communication_known ? cell : Cell(); };
    add(row, {step, median(c.parts(), &metrics::RunStep::compute_s), if_known(communication), if_known(overlapped),
              if_known(exposed), if_known(ratio(overlapped, communication)), if_known(ratio(exposed, step))});
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table weak_table(const Source& source) {
  Table table = measured_step_table("weak_scaling", "Weak scaling: the same batch on every worker",
                                    "Weak efficiency = throughput(N) / (N · throughput(1)); each strategy is compared "
                                    "with its own N = 1. Throughput = median samples of a step / median step.");
  add(table, {quantity("throughput_samples_per_s", "throughput", "samples/s"),
              quantity("baseline_samples_per_s", "at N = 1", "samples/s"), quantity("speedup", "speedup", "×"),
              share("weak_efficiency", "weak efficiency")});
  for (const metrics::Configuration& c : source.configurations) {
    if (c.measured.empty()) continue;
    const metrics::Configuration* one = baseline(source.configurations, c);
    const std::optional<double> faster = speedup(source, c);
    Row row = configuration_cells(c);
    add(row, {where_positive(throughput(c)), known(one != nullptr ? std::optional(throughput(*one)) : std::nullopt),
              known(faster), ratio(faster, static_cast<double>(c.world_size))});
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table strong_table(const Source& source) {
  Table table =
      measured_step_table("strong_scaling", "Strong scaling: the same global batch",
                          "Strong efficiency = T(1) / (N · T(N)) at a fixed global batch, where T is the median step.");
  table.empty =
      "No measurement with N > 1 has the same global batch as one with N = 1, which strong efficiency requires. "
      "Measure N workers with batch_per_worker divided by N.";
  add(table, {seconds("step_median_s", "step"), seconds("baseline_step_s", "step at N = 1"),
              quantity("speedup", "speedup", "×"), share("strong_efficiency", "strong efficiency")});
  for (const metrics::Configuration& c : source.configurations) {
    if (c.measured.empty() || c.world_size < 2) continue;
    const auto one =
        std::find_if(source.configurations.begin(), source.configurations.end(), [&](const metrics::Configuration& o) {
          return o.world_size == 1 && !o.measured.empty() && o.global_batch() == c.global_batch() &&
                 o.model == c.model && o.strategy == c.strategy && o.device == c.device && o.precision == c.precision &&
                 o.kind == c.kind;
        });
    if (one == source.configurations.end()) continue;
    const double here = median(c.timed(), &metrics::RunStep::duration_s);
    const double there = median(one->timed(), &metrics::RunStep::duration_s);
    Row row = configuration_cells(c);
    add(row, {here, there, there / here, there / (static_cast<double>(c.world_size) * here)});
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace ddpprof::report
