#include "analysis/metrics/trained_rates.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tracer/store/database.hpp"
#include "tracer/store/files/error.hpp"

namespace ddpprof::metrics {
namespace {

constexpr std::int64_t most_steps = std::int64_t{1} << 53;  // a file may say anything, and sums are made of it

std::int64_t resumed_step(const std::string& options) {
  const auto parsed = nlohmann::json::parse(options, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object() || !parsed.contains("resumed_step") || !parsed["resumed_step"].is_number_integer()) return 0;
  return std::clamp<std::int64_t>(parsed["resumed_step"].get<std::int64_t>(), 0, most_steps);
}

// Records of the ranks for the step that is being read.
struct Rows {
  std::vector<double> rates, local_gradient_sqr;
  double gradient_sqr = 0.0;
};

void conclude(TrainedRates& rates, const Rows& rows, std::int64_t step, const std::optional<PlannedStep>& plan) {
  if (rates.steps++ == 0) {
    rates.first_step = step;
    rates.first_lr = rows.rates.front();
  }
  rates.last_lr = rows.rates.back();
  rates.last_planned_lr = plan ? std::optional(plan->rate) : std::nullopt;
  rates.base_steps = plan ? plan->base_steps : std::nullopt;
  if (!plan) {
    ++rates.unchecked;
    return;
  }
  bool unlike = false;
  for (const double rate : rows.rates) {
    if (rate == plan->rate) continue;
    unlike = true;
    const double difference = plan->rate > 0.0 ? std::abs(rate - plan->rate) / plan->rate : INFINITY;
    rates.largest_difference = std::max(rates.largest_difference, difference);
  }
  if (unlike) ++rates.unlike;
}

double number_or_none(const SQLite::Column& column) {
  return column.isNull() ? std::numeric_limits<double>::quiet_NaN() : column.getDouble();
}

}  // namespace

std::vector<TrainedRates> trained_rates(store::Database& database, const PlannedRate& planned) {
  try {
    std::vector<TrainedRates> all;
    // The warm-up steps after the last measured one are those of the copy without the DDP wrapper.
    SQLite::Statement row(
        database.sql(),
        "SELECT m.id, m.strategy, m.world_size, m.repeat, m.options, st.step, st.samples, st.learning_rate, "
        "st.local_gradient_sqr, st.gradient_sqr FROM step st "
        "JOIN shard sh ON sh.id = st.shard_id JOIN measurement m ON m.id = sh.measurement_id "
        "LEFT JOIN (SELECT shard_id, MAX(step) AS step FROM step WHERE kind = 'measured' GROUP BY shard_id) l "
        "ON l.shard_id = st.shard_id WHERE m.kind = 'train' AND st.learning_rate IS NOT NULL AND st.step BETWEEN 0 AND "
        "? "
        "AND st.kind <> 'unwrapped' AND st.step <= COALESCE(l.step, st.step) ORDER BY m.id, st.step, sh.rank");
    row.bind(1, most_steps);
    RecordedStep step;
    std::string options;
    std::int64_t offset = 0, number = -1;
    Rows rows;
    const auto end_step = [&] {
      if (rows.rates.empty()) return;
      step.local_gradient_sqr = rows.local_gradient_sqr;
      step.gradient_sqr = rows.gradient_sqr;
      conclude(all.back(), rows, step.step, planned(step));
      rows.rates.clear();
      rows.local_gradient_sqr.clear();
    };
    while (row.executeStep()) {
      const std::int64_t id = row.getColumn(0).getInt64();
      const bool fresh = all.empty() || id != step.measurement;
      if (fresh || row.getColumn(5).getInt64() != number) end_step();
      if (fresh) {
        TrainedRates& rates = all.emplace_back();
        rates.strategy = row.getColumn(1).getString();
        rates.workers = step.workers = row.getColumn(2).getInt64();
        rates.repeat = row.getColumn(3).getInt64();
        step.measurement = id;
        options = row.getColumn(4).getString();
        step.options = options;
        offset = resumed_step(options);
      }
      number = row.getColumn(5).getInt64();
      step.number = number;
      step.step = offset + number;
      if (rows.rates.empty()) {
        step.samples = row.getColumn(6).getInt64();
        rows.gradient_sqr = number_or_none(row.getColumn(9));
      }
      rows.rates.push_back(row.getColumn(7).getDouble());
      rows.local_gradient_sqr.push_back(number_or_none(row.getColumn(8)));
    }
    end_step();
    return all;
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, database.path());
  }
}

}  // namespace ddpprof::metrics
