// The step of A, the change of each of its terms, and the step of B. The changes add up to the difference of the steps.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <cmath>
#include "analysis/fit/measured/step_shares.hpp"
#include "analysis/report/tables/compare/compare_parts.hpp"
#include "simulator/stats/random.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::report {
namespace {

constexpr double rounding_s = 1e-15;  // a smaller difference of two means is rounding

constexpr std::size_t term_count = 6;
constexpr const char* term_names[term_count] = {"compute", "exposed communication", "waiting", "host", "input",
                                                "other"};
using Terms = std::array<double, term_count>;

// Shares of a step that add up to 1.
Terms as_terms(const fit::StepShares& shares, bool host) {
  const double other = shares.other - shares.input;
  return {shares.compute,           shares.exposed, shares.skew,
          host ? shares.host : 0.0, shares.input,   host ? other : other + shares.host};
}

// The shares of each step, by measurement and step number, from the source of the predictions' shares.
std::map<std::pair<std::int64_t, std::int64_t>, fit::StepShares> measured_shares(SQLite::Database& db,
                                                                                 const metrics::Configuration& c) {
  std::map<std::pair<std::int64_t, std::int64_t>, fit::StepShares> all;
  for (const fit::MeasurementInfo& info : fit::read_measurements(db)) {
    if (std::ranges::find(c.measurements, info.id) == c.measurements.end()) continue;
    for (const auto& [step, shares] : fit::shares_by_step(db, info)) all.emplace(std::pair(info.id, step), shares);
  }
  return all;
}

struct Repeat {
  std::vector<Terms> shares;   // measured steps, or means of blocks of neighbours
  std::vector<double> step_s;  // steps that give the step time, or medians of blocks
};

// One file's steps, by repeat. A term is its mean share times the median step.
class StepTerms {
 public:
  StepTerms(const Source& file, const metrics::Configuration& c, bool host) {
    std::map<std::int64_t, Repeat> by_measurement;
    const auto shares_of = reading(file, [&](const Source& source) { return measured_shares(source.db, c); });
    for (const metrics::RunStep& step : c.parts()) {
      const auto found = shares_of.find({step.measurement, step.step});
      if (found != shares_of.end()) by_measurement[step.measurement].shares.push_back(as_terms(found->second, host));
    }
    for (const metrics::RunStep& step : c.timed()) by_measurement[step.measurement].step_s.push_back(step.duration_s);
    same_steps_ = c.untraced.empty();
    std::vector<Terms> shares;
    std::vector<double> step_s;
    for (auto& [measurement, repeat] : by_measurement) {
      if (repeat.shares.empty() || repeat.step_s.empty()) continue;
      shares.insert(shares.end(), repeat.shares.begin(), repeat.shares.end());
      step_s.insert(step_s.end(), repeat.step_s.begin(), repeat.step_s.end());
      same_steps_ = same_steps_ && repeat.shares.size() == repeat.step_s.size();
      repeats_.push_back(thinned_repeat(repeat));
    }
    samples_ = std::min(shares.size(), step_s.size());
    if (samples_ > 0) terms_ = terms_of(shares, step_s);
  }
  std::size_t samples() const { return samples_; }
  std::size_t repeats() const { return repeats_.size(); }
  const Terms& terms() const { return terms_; }

  // The deviation of each term in one resample: repeats are drawn first, then steps within them. `room` is scratch.
  Terms drawn_deviations(stats::Random& random, Repeat& room) const {
    room.shares.clear();
    room.step_s.clear();
    for (std::size_t i = 0; i < repeats_.size(); ++i) {
      const Repeat& drawn = repeats_[repeats_.size() == 1 ? 0 : random.below(repeats_.size())];
      for (std::size_t j = 0; j < drawn.shares.size(); ++j) {
        const std::size_t step = random.below(drawn.shares.size());
        room.shares.push_back(drawn.shares[step]);
        if (same_steps_) room.step_s.push_back(drawn.step_s[step]);
      }
      if (same_steps_) continue;
      for (std::size_t j = 0; j < drawn.step_s.size(); ++j)
        room.step_s.push_back(drawn.step_s[random.below(drawn.step_s.size())]);
    }
    Terms deviations = terms_of(room.shares, room.step_s);
    for (std::size_t t = 0; t < term_count; ++t) deviations[t] -= terms_[t];
    return deviations;
  }

 private:
  static Terms terms_of(const std::vector<Terms>& shares, const std::vector<double>& step_s) {
    Terms terms{};
    for (const Terms& one : shares)
      for (std::size_t t = 0; t < term_count; ++t) terms[t] += one[t];
    const double scale = stats::median(step_s) / static_cast<double>(shares.size());
    for (double& term : terms) term *= scale;
    return terms;
  }
  // At most 200 blocks of neighbours: they limit the work, and correlated neighbours do not count as independent.
  static Repeat thinned_repeat(const Repeat& repeat) {
    constexpr std::size_t most = 200;
    Repeat thin;
    const auto blocks = [most](std::size_t size, const auto& each) {
      const std::size_t count = std::min(size, most);
      for (std::size_t block = 0; block < count; ++block) each(block * size / count, (block + 1) * size / count);
    };
    blocks(repeat.shares.size(), [&](std::size_t from, std::size_t to) {
      Terms& mean = thin.shares.emplace_back();
      for (std::size_t i = from; i < to; ++i)
        for (std::size_t t = 0; t < term_count; ++t) mean[t] += repeat.shares[i][t] / static_cast<double>(to - from);
    });
    blocks(repeat.step_s.size(), [&](std::size_t from, std::size_t to) {
      thin.step_s.push_back(stats::median(std::span(repeat.step_s).subspan(from, to - from)));
    });
    return thin;
  }

  std::vector<Repeat> repeats_;
  Terms terms_{};
  std::size_t samples_ = 0;
  bool same_steps_ = true;  // false: the step time is that of other steps than the shares
};

bool parts_known(const metrics::Configuration& c) {
  return !c.step_times_only && c.communication_known &&
         std::ranges::any_of(c.measured, [](const metrics::RunStep& step) {
           return step.duration_s > 0.0 && step.compute_s + step.forward_s + step.backward_s > 0.0;
         });
}

double sum_of(const Terms& terms) {
  double sum = 0.0;
  for (const double term : terms) sum += term;
  return sum;
}

void add_pair(const Source& in_a, const Source& in_b, const Pair& pair, Table& table) {
  const bool host = pair.a->host_known() && pair.b->host_known();
  const StepTerms a(in_a, *pair.a, host), b(in_b, *pair.b, host);
  if (a.samples() == 0 || b.samples() == 0) return;
  std::array<std::vector<double>, term_count + 1> of_a, of_b;  // by term; the last one is the step
  stats::Random random(1);
  Repeat room;
  for (std::size_t i = 0; i < resamples; ++i)
    for (const auto& [file, into] : {std::pair(&a, &of_a), std::pair(&b, &of_b)}) {
      const Terms drawn = file->drawn_deviations(random, room);
      for (std::size_t t = 0; t < term_count; ++t) (*into)[t].push_back(drawn[t]);
      into->back().push_back(sum_of(drawn));
    }
  const auto add = [&](const char* what, std::size_t t, double a_s, double b_s) {
    const stats::Interval range = drawn_interval(b_s - a_s, std::move(of_b[t]), std::move(of_a[t]), b.repeats(),
                                                 a.repeats(), std::min(a.samples(), b.samples()));
    const bool enough = range.achieved_confidence >= metrics::confidence;
    Row row = configuration_cells(*pair.a);
    const Cell cells[] = {what,
                          a_s,
                          b_s,
                          std::abs(b_s - a_s) < rounding_s ? 0.0 : b_s - a_s,
                          enough ? Cell(range.low) : Cell(),
                          enough ? Cell(range.high) : Cell()};
    row.insert(row.end(), std::begin(cells), std::end(cells));
    table.rows.push_back(std::move(row));
  };
  add("step", term_count, sum_of(a.terms()), sum_of(b.terms()));
  for (std::size_t t = 0; t < term_count; ++t)
    if (a.terms()[t] > 0.0 || b.terms()[t] > 0.0) add(term_names[t], t, a.terms()[t], b.terms()[t]);
}

// The shares are those of steps without the profiler if one file has such steps, and do not divide its traced steps.
bool has_terms(const Pair& pair) { return !pair.traced && parts_known(*pair.a) && parts_known(*pair.b); }

}  // namespace

bool in_waterfall(const Source& a, const Source& b, const Pair& pair) {
  if (!has_terms(pair)) return false;
  return StepTerms(a, *pair.a, false).samples() > 0 && StepTerms(b, *pair.b, false).samples() > 0;
}

Table compare_waterfall_table(const Source& a, const Source& b, const Paired& paired,
                              const std::function<bool()>& stopped) {
  Table table;
  table.name = "compare_waterfall";
  table.title = "From A to B, by term";
  table.note = fmt::format(
      "Mean share of a term in the measured steps × median step, as in the predictions. The terms add up to the step, "
      "and their differences to the difference of the steps. Low and high: {} % interval of B − A from resampled "
      "repeats and steps; with one repeat in a file it does not include the variation between runs. It is left out "
      "with fewer than 6 steps in a file. Host: only if both files recorded it, otherwise it is part of other.",
      100.0 * metrics::confidence);
  table.columns = configuration_columns();
  table.key_columns = configuration_column_count + 1;
  for (Column& column : std::vector<Column>{
           text("what", "what"), digits(seconds("a_s", "A"), 4), digits(seconds("b_s", "B", "a_s"), 4),
           digits(seconds("difference_s", "B − A", "a_s"), 3), digits(seconds("difference_low_s", "low", "a_s"), 3),
           digits(seconds("difference_high_s", "high", "a_s"), 3)})
    table.columns.push_back(std::move(column));
  table.empty =
      "No configuration has recorded parts of its steps in both files. Tables of step times have no parts; in a run, "
      "parts need the tracer. If only one file has steps without the profiler, the profiler's cost in the parts of the "
      "other file is not known.";
  for (const Pair& pair : paired.both) {
    if (stopped()) return table;
    if (has_terms(pair)) add_pair(a, b, pair, table);
  }
  return table;
}

}  // namespace ddpprof::report
