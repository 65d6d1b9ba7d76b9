#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>
#include <algorithm>
#include <tuple>

#include "analysis/report/tables/learning_rate/stored_rates.hpp"
#include "simulator/learning_rate/rules.hpp"

namespace ddpprof::report {
namespace {

void sort_rows(std::vector<store::LearningRateRow>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::tie(a.rule, a.world_size) < std::tie(b.rule, b.world_size);
  });
}

}  // namespace

Table learning_rate_table(std::vector<store::LearningRateRow> rows) {
  sort_rows(rows);
  Table table;
  table.name = "learning_rate";
  table.title = "Learning rate";
  table.note =
      "Linear: target = base · global batch / base batch; the rate rises at every step of the warm-up (Goyal et al. "
      "2017). Square root: base · √(global batch / base batch). None: base. LARS is scaled as linear and LAMB as "
      "square root, each with a rate per layer. AdaScale: base · gain, with the gain that follows from the noise "
      "scale.";
  table.empty = "This file has no learning rate of a scenario. ddpprof lr gives the rates of a recorded or imported training.";
  table.columns = {count("workers", "N", "workers"),
                   text("rule", "rule", true),
                   count("global_batch_samples", "global batch", "samples"),
                   quantity("base_lr", "base", ""),
                   quantity("target_lr", "target", ""),
                   count("warmup_steps", "warm-up", "steps"),
                   prose("note", "note")};
  table.key_columns = 2;
  for (const store::LearningRateRow& r : rows) {
    table.rows.push_back({r.world_size, r.rule, r.global_batch, r.base_lr, r.target_lr, r.warmup_steps, r.note});
  }
  return table;
}

Table warmup_table(std::vector<store::LearningRateRow> rows) {
  sort_rows(rows);
  Table table;
  table.name = "warmup";
  table.title = "Warm-up schedule";
  table.note =
      "The rate rises at every optimizer step: lr(t) = base + (target − base) · t / warm-up steps; after the warm-up "
      "it is the target (Goyal et al. 2017, section 2.2). LAMB starts from 0. The table shows every quarter of the "
      "warm-up.";
  table.empty = "This file has no learning rate of a scenario. ddpprof lr gives the rates of a recorded or imported training.";
  table.columns = {count("workers", "N", "workers"), text("rule", "rule", true), count("step", "step", "steps"),
                   share("warmup_share", "of the warm-up"), quantity("lr", "learning rate", "")};
  table.key_columns = 2;
  for (const store::LearningRateRow& row : rows) {
    if (row.warmup_steps <= 0) {
      table.rows.push_back({row.world_size, row.rule, std::int64_t{0}, 1.0, row.target_lr});
      continue;
    }
    for (std::int64_t quarter = 0; quarter <= 4; ++quarter) {
      const std::int64_t step = row.warmup_steps * quarter / 4;
      const double done = static_cast<double>(step) / static_cast<double>(row.warmup_steps);
      const double start = row.rule == learning_rate::to_string(learning_rate::Rule::lamb) ? 0.0 : row.base_lr;
      table.rows.push_back({row.world_size, row.rule, step, done, start + (row.target_lr - start) * done});
    }
  }
  return table;
}

std::vector<store::LearningRateRow> read_learning_rates(const Source& source) {
  std::vector<store::LearningRateRow> rows;
  SQLite::Statement q(
      source.db,
      "SELECT world_size, rule, global_batch, base_lr, target_lr, warmup_steps, note FROM learning_rate "
      "ORDER BY rule, world_size");
  while (q.executeStep()) {
    rows.push_back({q.getColumn(0).getInt64(), q.getColumn(1).getString(), q.getColumn(2).getInt64(),
                    q.getColumn(3).getDouble(), q.getColumn(4).getDouble(), q.getColumn(5).getInt64(),
                    q.getColumn(6).getString()});
  }
  return rows;
}

Table learning_rate_table(const Source& source) {
  return source.rates.empty() ? learning_rate_table(read_learning_rates(source)) : source.rates[0];
}

Table warmup_table(const Source& source) {
  return source.rates.empty() ? warmup_table(read_learning_rates(source)) : source.rates[1];
}

}  // namespace ddpprof::report
