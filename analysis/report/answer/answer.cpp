#include "analysis/report/answer/answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "analysis/fit/table/step_row.hpp"
#include "analysis/fit/text.hpp"
#include "analysis/predict/prediction.hpp"
#include "analysis/predict/sharded/sharded_prediction.hpp"
#include "analysis/report/answer/glance.hpp"
#include "analysis/report/answer/slow_ranks.hpp"
#include "analysis/report/render/render.hpp"
#include "analysis/report/tables/models/outlook_tables.hpp"
#include "analysis/report/tables/models/stored_models.hpp"
#include "analysis/report/tables/models/what_if_tables.hpp"
#include "simulator/scaling/knee.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report {
namespace {

using Curve = std::vector<GlanceStep>;  // of one strategy, by N

constexpr double least_gain = 1.02;  // speedup below which a change is not named

std::string seconds_text(double value_s) { return units::format_quantity(value_s, "s"); }

std::string confidence_text(double confidence) { return fmt::format("{:.3g} %", 100.0 * confidence); }

std::string share_text(double share) { return units::percent(share, 3); }

const GlanceStep* largest_measured(const Curve& curve) {
  const auto found = std::find_if(curve.rbegin(), curve.rend(), [](const GlanceStep& step) { return step.measured; });
  return found == curve.rend() ? nullptr : &*found;
}

std::string bounds_text(const GlanceStep& step) {
  const std::string bounds = fmt::format("{} to {}", seconds_text(step.low_s), seconds_text(step.high_s));
  if (step.range && step.steps == 1) return "1 step";
  if (step.range) return fmt::format("range of {} steps: {}", step.steps, bounds);
  return fmt::format("{}: {}", confidence_text(step.confidence), bounds);
}

// Returns true if an imported measurement of one process exchanged no gradients.
bool alone_without_ddp(const Source& source, const GlanceStep& step) {
  return step.workers == 1 && step.strategy == "ddp" &&
         std::ranges::any_of(source.configurations, [&](const metrics::Configuration& c) {
           return c.kind == "import" && !c.step_times_only && c.world_size == 1 && !c.measured.empty() &&
                  c.communication_known &&
                  std::ranges::all_of(c.measured, [](const auto& one) { return one.communication_s == 0.0; });
         });
}

// Returns true if the file has only step times, which do not show communication.
bool communication_unknown(const Source& source, const std::string& strategy) {
  return std::ranges::any_of(source.configurations, [&](const metrics::Configuration& one) {
    return one.strategy == strategy && one.step_times_only && !one.communication_known;
  });
}

// `with_parts`: with the parts of the step.
std::string measured_sentence(const Source& source, const Curve& curve, bool with_parts) {
  const GlanceStep* step = largest_measured(curve);
  if (step == nullptr) return "";
  const std::string workers = step->workers > 0 ? fmt::format("N = {}", step->workers) : "N unknown";
  std::string text = fmt::format("{}{}: {} per step ({})", workers,
                                 alone_without_ddp(source, *step) ? " (one process without DDP)" : "",
                                 seconds_text(step->step_s), bounds_text(*step));
  if (step->throughput) text += fmt::format(", {} samples/s", units::format_significant(*step->throughput, 4));
  if (step->speedup && step->efficiency && step->workers > 1)
    text += fmt::format(", {} × the throughput of N = 1 (weak efficiency {})",
                        units::format_significant(*step->speedup, 3), share_text(*step->efficiency));
  std::string parts;
  // Input is a part of other. Small parts of both are left out.
  constexpr double least_input = 0.02, least_other = 0.2;
  std::optional<double> input = step->input, other;
  if (step->other) {
    input = std::min(input.value_or(0.0), *step->other);
    other = *step->other - *input;
  }
  if (input && *input < least_input) input.reset();
  if (other && *other < least_other) other.reset();
  const bool unknown = communication_unknown(source, step->strategy);
  for (const auto& [share, what] : {std::pair{step->compute, "compute"},
                                    {step->transfer, unknown ? fit::shared_bound : "exposed transfer"},
                                    {step->skew, "waiting for slower ranks"},
                                    {step->host, "waiting for the host's launches"},
                                    {step->compute ? std::nullopt : step->exposed, "exposed communication"},
                                    {input, "waiting for input data"},
                                    {other, "other"}})
    if (with_parts && share && *share >= 0.001)
      parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", share_text(*share), what);
  // Other shares are ratios of medians.
  const char* of = step->compute && step->strategy != "fsdp" ? ". Of the step (means): " : ". Of the step: ";
  return text + (parts.empty() ? "." : of + parts + ".");
}

std::string predicted_text(double step_s, double low_s, double high_s, double confidence, bool wide) {
  const std::string bounds = fmt::format("{} to {}", seconds_text(low_s), seconds_text(high_s));
  return wide ? fmt::format("{} per step ({})", bounds, confidence_text(confidence))
              : fmt::format("{} per step ({}: {})", seconds_text(step_s), confidence_text(confidence), bounds);
}

std::string prediction_text(const Source& source, const Curve& curve, const GlanceStep& step) {
  std::string text = fmt::format("N = {}: {}", step.workers,
                                 predicted_text(step.step_s, step.low_s, step.high_s, step.confidence, step.wide()));
  // Without N = 1, a table of step times has an efficiency relative to its fewest ranks, and measured steps have none.
  const bool comparable = std::ranges::none_of(
      curve, [](const GlanceStep& one) { return one.measured && one.workers > 1 && !one.efficiency; });
  if (comparable && step.efficiency && !step.wide())
    text += fmt::format(", {} efficiency {}", step.strong ? "strong" : "weak", share_text(*step.efficiency));
  if (step.own_cores) text += fmt::format(", {}", fit::own_cores_note);
  if (step.dedicated_s) {
    const auto cores = source.configurations.empty() ? 0 : source.configurations.front().cores;
    GlanceStep own = step;
    own.low_s = *step.dedicated_low_s;
    own.high_s = *step.dedicated_high_s;
    text += fmt::format(", if all ranks share these {} core{}; with own cores for each rank {}", cores,
                        cores == 1 ? "" : "s",
                        predicted_text(*step.dedicated_s, own.low_s, own.high_s, step.confidence, own.wide()));
  }
  return text + ".";
}

// Returns the prediction for the largest N, and, if this is far away, for the largest N near the measured ones.
std::string predicted_sentence(const Source& source, const Curve& curve) {
  const GlanceStep& last = curve.back();
  if (last.measured) return "";
  std::string text = prediction_text(source, curve, last);
  constexpr std::int64_t near = 4;  // times the largest measured N
  const GlanceStep* measured = largest_measured(curve);
  if (measured == nullptr || last.workers <= near * measured->workers) return text;
  const auto other = std::ranges::find_if(curve.rbegin(), curve.rend(), [&](const GlanceStep& step) {
    return !step.measured && step.workers > measured->workers && step.workers <= near * measured->workers;
  });
  return other == curve.rend() ? text : text + " " + prediction_text(source, curve, *other);
}

// Without samples the throughput is in steps of all workers: every N has the same batch per worker.
double rate_of(const GlanceStep& step, bool samples) {
  return samples ? *step.throughput : static_cast<double>(step.workers) / step.step_s;
}

// Returns an N that may be as fast as the best one, by the ends of both intervals: the smallest one below it, otherwise
// the largest one above it.
const GlanceStep* rival_of(const Curve& curve, const GlanceStep& best, bool samples) {
  const auto fastest = [&](const GlanceStep& step) { return rate_of(step, samples) * step.step_s / step.low_s; };
  const auto slowest = [&](const GlanceStep& step) { return rate_of(step, samples) * step.step_s / step.high_s; };
  // Two predictions err together, so the same ends are compared.
  const auto reaches = [&](const GlanceStep& step) {
    if (&step == &best) return false;
    if (step.measured || best.measured) return fastest(step) >= slowest(best);
    return fastest(step) >= fastest(best) || slowest(step) >= slowest(best);
  };
  const auto first = std::ranges::find_if(curve, reaches);
  if (first == curve.end() || first->workers < best.workers) return first == curve.end() ? nullptr : &*first;
  return &*std::find_if(curve.rbegin(), curve.rend(), reaches);
}

// Returns the N with the highest throughput if each rank has cores of its own; nullopt if predictions do not differ.
std::optional<std::int64_t> fastest_with_own_cores(const Curve& curve) {
  const GlanceStep* best = nullptr;
  double most = 0.0;
  bool differ = false;
  for (const GlanceStep& step : curve) {
    differ = differ || step.dedicated_s.has_value();
    const double rate = static_cast<double>(step.workers) / step.dedicated_s.value_or(step.step_s);
    if (rate > most) most = rate, best = &step;
  }
  return differ ? std::optional(best->workers) : std::nullopt;
}

std::string fastest_text(const Curve& curve) {
  const bool samples = std::ranges::all_of(curve, [](const GlanceStep& step) { return step.throughput.has_value(); });
  const auto best = std::ranges::max_element(curve, {}, [&](const auto& step) { return rate_of(step, samples); });
  const GlanceStep* rival = rival_of(curve, *best, samples);
  const auto own = fastest_with_own_cores(curve);
  std::string more = own ? fmt::format("; with own cores for each rank it is probably N = {}", *own) : "";
  if (own == best->workers && rival == nullptr) more = ", also with own cores for each rank";
  if (best->workers == 1 && rival == nullptr)
    return own ? "On these cores, more workers do not increase throughput: N = 1 is fastest" + more + "."
               : "Adding workers does not increase throughput: N = 1 is fastest.";
  const char* source = best->measured    ? "measured"
                       : best->own_cores ? "predicted with own cores"
                       : best->wide()    ? "predicted with a wide interval"
                                         : "predicted";
  const char* end = best == curve.end() - 1 ? ", the largest N here"
                    : best == curve.begin() ? ", the smallest N here"
                                            : "";
  return fmt::format(
      "{}hroughput is highest at N = {} ({}{}){}{}.", own ? "On these cores, t" : "T", best->workers, source, end,
      rival == nullptr ? "" : fmt::format(", but the intervals allow that N = {} is as fast", rival->workers), more);
}

// The fastest N, and the N from which communication takes more than half of the step.
std::string scaling_sentence(const Source& source, const Curve& curve) {
  std::string text = curve.size() > 1 ? fastest_text(curve) : "";
  const Table knees = knee_table(source);
  for (const Row& row : knees.rows)
    if (value_of<std::string>(knees, row, "strategy") == curve.front().strategy &&
        value_of<double>(knees, row, "threshold") == scaling::communication_bound_share)
      if (const auto knee = value_of<std::int64_t>(knees, row, "knee_workers")) {
        const bool shared = fastest_with_own_cores(curve).has_value();
        std::string sentence = fmt::format(
            "{}communication{} is more than half of the step from N = {} on.", shared ? "on these cores, " : "",
            communication_unknown(source, curve.front().strategy) ? " or another shared resource" : " as a whole",
            *knee);
        sentence.front() = shared ? 'O' : 'C';
        text += (text.empty() ? "" : " ") + sentence;
        break;
      }
  return text;
}

std::string term_text(const std::string& term, bool with_meaning) {
  const std::string_view meaning = with_meaning ? term_meaning(term) : std::string_view();
  return meaning.empty() ? term : fmt::format("{} ({})", term, meaning);
}

std::string bound_text(const GlanceStep& step, bool with_meaning) {
  return fmt::format("at N = {} {}", step.workers, term_text(step.bound, with_meaning));
}

// `with_meanings`: with the meanings of the terms.
std::string binds_sentence(const Curve& curve, bool with_meanings) {
  const GlanceStep* first = largest_measured(curve);
  const GlanceStep& last = curve.back();
  std::string text;
  if (first != nullptr && !first->bound.empty()) text = bound_text(*first, with_meanings);
  if (&last != first && !last.bound.empty() && (first == nullptr || first->bound != last.bound))
    text += (text.empty() ? "" : ", ") + bound_text(last, with_meanings);
  if (text.empty()) return "";
  if (!last.dedicated_bound.empty() && last.dedicated_bound != last.bound)
    text += "; with own cores for each rank: " + term_text(last.dedicated_bound, with_meanings);
  text += ".";
  const bool host = (first != nullptr && first->bound == "host") || last.bound == "host";
  if (host) text += fmt::format(" Usual remedies: {}.", fit::host_remedies);
  text.front() = 'A';
  return text;
}

bool certain(const Table& table, const Row& row) {
  return value_of<double>(table, row, "speedup_low").value_or(0.0) >= 1.0;
}

// Returns the row of the kind with the largest gain for the strategy, or nullptr. `all`: also changes whose interval
// includes a loss.
const Row* best_change(const Table& table, const std::string& strategy, std::string_view kind, bool all = false) {
  for (const Row& row : table.rows)
    if (value_of<std::string>(table, row, "strategy") == strategy &&
        value_of<std::string>(table, row, "kind") == kind &&
        value_of<double>(table, row, "speedup").value_or(0.0) >= least_gain && (all || certain(table, row)))
      return &row;
  return nullptr;
}

// Returns what the job has now, for a change of its micro-batch or accumulation; empty for other changes and if the
// measurements differ.
std::string instead_of(const Source& source, const std::string& strategy, const std::string& change) {
  const bool accumulation = change.starts_with("accumulation="), batch = change.starts_with("batch_per_worker=");
  if ((!accumulation && !batch) || change.find(',') != std::string::npos) return "";
  std::set<std::int64_t> now;
  for (const metrics::Configuration& one : source.configurations)
    if (one.strategy == strategy) now.insert(accumulation ? one.accumulation : one.batch_per_worker);
  return now.size() == 1 && *now.begin() > 0 ? fmt::format(" instead of {}", *now.begin()) : "";
}

std::string gain_text(const Source& source, const Table& table, const Row& row) {
  const auto real = [&](const char* column) { return value_of<double>(table, row, column).value_or(1.0); };
  const auto number = [&](const char* column) { return units::format_significant(real(column), 3); };
  const std::string asked = *value_of<std::string>(table, row, "change"), low = number("speedup_low"),
                    high = number("speedup_high"),
                    change = asked + instead_of(source, *value_of<std::string>(table, row, "strategy"), asked);
  const std::string_view needs = fit::change_requires(asked);
  const bool named = needs == "a larger global batch" || needs == "more memory in each rank";
  const std::string price = named ? fmt::format(", with {}", needs) : "";
  // The best case of an interval is not its middle.
  const bool best_case = real("speedup_high") > real("speedup_low") && real("speedup") >= real("speedup_high");
  if (best_case || real("speedup_high") > widest_headline * real("speedup_low"))
    return fmt::format("{}: {} to {} × the throughput{}", change, low, high, price);
  return fmt::format("{}: {} × the throughput ({} to {}){}", change, number("speedup"), low, high, price);
}

// Returns the N of a measured step with a higher throughput than this N has after the change, otherwise 0.
std::int64_t faster_without(const Curve& curve, std::int64_t workers, double speedup) {
  const auto at = std::ranges::find(curve, workers, &GlanceStep::workers);
  if (at == curve.end() || !at->throughput) return 0;
  for (const GlanceStep& step : curve)
    if (step.measured && step.workers != workers && step.throughput && *step.throughput > speedup * *at->throughput)
      return step.workers;
  return 0;
}

std::string helps_sentence(const Source& source, const Curve& curve) {
  const std::string& strategy = curve.front().strategy;
  const Table* table = outlook_of(source, "what_helps");
  if (table == nullptr || table->rows.empty()) return "";
  const Row* setting = best_change(*table, strategy, "setting");
  const Row* likely = best_change(*table, strategy, "setting", true);
  const Row* machine = best_change(*table, strategy, "machine");
  const auto any = std::ranges::find_if(
      table->rows, [&](const Row& row) { return value_of<std::string>(*table, row, "strategy") == strategy; });
  const bool compared = std::ranges::any_of(table->rows, [&](const Row& row) {
    return value_of<std::string>(*table, row, "strategy") == strategy &&
           value_of<std::string>(*table, row, "kind") == "setting";
  });
  if (any == table->rows.end() || (!compared && machine == nullptr)) return "";
  std::string text = fmt::format("At N = {} ", *value_of<std::int64_t>(*table, *any, "workers"));
  text += setting != nullptr ? gain_text(source, *table, *setting)
          : compared         ? std::string("no usual setting is certain to raise the throughput")
                             : std::string("no usual setting can be predicted");
  if (setting != nullptr)
    if (const std::int64_t other = faster_without(curve, *value_of<std::int64_t>(*table, *any, "workers"),
                                                  value_of<double>(*table, *setting, "speedup").value_or(1.0)))
      text += fmt::format(" (probably less throughput than N = {})", other);
  if (likely != nullptr && likely != setting) text += "; uncertain: " + gain_text(source, *table, *likely);
  return text + (machine != nullptr ? "; other hardware: " + gain_text(source, *table, *machine) : "") + ".";
}

std::string rate_or_factor(const Table& table, const Row& row, const char* rate, const char* factor) {
  if (const auto value = value_of<double>(table, row, rate)) return fmt::format("{:.4g}", *value);
  if (const auto value = value_of<double>(table, row, factor)) return fmt::format("{:.4g} × the tuned rate", *value);
  return "";
}

std::string rate_sentence(const Source& source) {
  const Table* table = outlook_of(source, "rate_choice");
  if (table == nullptr) return "";
  if (table->rows.empty()) return table->empty;
  const Row& row = table->rows.back();
  const auto rule = [&](const char* column) { return value_of<std::string>(*table, row, column).value_or(""); };
  const std::string optimizer = rule("optimizer"), other = rate_or_factor(*table, row, "other_lr", "other_factor");
  const std::string chosen = rate_or_factor(*table, row, "lr", "factor");
  std::string text = fmt::format("N = {}, global batch {}: ", *value_of<std::int64_t>(*table, row, "workers"),
                                 *value_of<std::int64_t>(*table, row, "global_batch_samples"));
  const std::string_view unknown = rule("rule") == "linear" ? ", if the optimizer is SGD" : "";
  const auto factor = value_of<double>(*table, row, "factor"), rate = value_of<double>(*table, row, "lr");
  const std::string base = factor && rate ? fmt::format(", from {:.4g} at a global batch of {}", *rate / *factor,
                                                        *value_of<std::int64_t>(*table, row, "base_batch_samples"))
                                          : "";
  text += fmt::format("{} ({} rule{}{})", chosen.empty() ? "none" : chosen, rule("rule"),
                      optimizer.empty() ? std::string(unknown) : " for " + optimizer, base);
  if (const std::string note = rule("note"); chosen.empty() && !note.empty()) text += ": " + note;
  if (!other.empty() && !chosen.empty())
    text += fmt::format("; {} rule{}: {}", rule("other_rule"),
                        optimizer.empty() && !unknown.empty() ? ", if it is like Adam" : "", other);
  text += ".";
  if (rule("linear_rule") == "red")
    text += fmt::format(
        " By the gradient noise scale this rate is too high: from a global batch of {} on, the linear rule gives at "
        "least twice the rate that the batch allows.",
        value_of<std::int64_t>(*table, row, "red_batch_samples").value_or(0));
  if (chosen.empty())
    for (auto smaller = table->rows.rbegin(); smaller != table->rows.rend(); ++smaller)
      if (const std::string theirs = rate_or_factor(*table, *smaller, "lr", "factor"); !theirs.empty()) {
        text += fmt::format(" The largest of the predicted N with a rate: N = {}, {}.",
                            *value_of<std::int64_t>(*table, *smaller, "workers"), theirs);
        break;
      }
  if (!value_of<double>(*table, row, "lr") && !value_of<double>(*table, row, "other_lr"))
    text += fmt::format(
        " Give the rate that was tuned at a global batch of {}: ddpprof lr FILE.db --workers {} --base LR.",
        *value_of<std::int64_t>(*table, row, "base_batch_samples"), *value_of<std::int64_t>(*table, row, "workers"));
  return text;
}

// Returns what the predictions assume about links between nodes that were not measured; empty if they need none.
std::string links_sentence(const Source& source, const std::string& strategy) {
  for (const store::PredictionRow& row : read_predictions(source))
    if (row.strategy == strategy)
      if (std::string text = fit::unmeasured_links(row); !text.empty()) {
        text.front() = 'L';
        return " " + text + ".";
      }
  return "";
}

// Returns the N that the sentences about a strategy name. Sentences about no strategy count for all.
std::set<GlancePlace> named_places(const Table& answer, const std::vector<GlanceStep>& steps) {
  std::set<GlancePlace> named;
  std::set<std::string> strategies;
  for (const GlanceStep& step : steps) strategies.insert(step.strategy);
  constexpr std::string_view before = "N = ";
  for (const Row& row : answer.rows) {
    const auto &about = std::get<std::string>(row[0]), &text = std::get<std::string>(row[1]);
    for (std::size_t at = text.find(before); at != std::string::npos; at = text.find(before, at + 1)) {
      std::int64_t workers = 0;
      std::from_chars(text.data() + at + before.size(), text.data() + text.size(), workers);
      const std::string strategy = about.substr(0, about.find(' '));
      if (strategies.contains(strategy)) named.emplace(strategy, workers);
      for (const std::string& each : strategies)
        if (!strategies.contains(strategy)) named.emplace(each, workers);
    }
  }
  return named;
}

std::size_t lines_of(const std::vector<Table>& tables) {
  std::ostringstream text;
  render({"", "", tables}, Format::table, text);
  const std::string all = text.str();
  return static_cast<std::size_t>(std::ranges::count(all, '\n'));
}

Table answer_of(const Source& source, const std::vector<GlanceStep>& steps) {
  Table table;
  table.name = "answer";
  table.title = "Answer";
  table.empty = why_no_step(source);
  table.columns = {text("about", "about"), prose("answer", "answer")};
  table.key_columns = 1;
  table.plain = true;
  std::map<std::string, Curve> curves;
  for (const GlanceStep& step : steps) curves[step.strategy].push_back(step);
  const auto add = [&](const std::string& about, const std::string& sentence) {
    if (!sentence.empty()) table.rows.push_back({about, sentence});
  };
  for (const auto& [strategy, curve] : curves) {
    add(strategy + " measured", measured_sentence(source, curve, curves.size() == 1));
    if (const GlanceStep* largest = largest_measured(curve))
      add(strategy + " slow rank", slow_rank_sentence(source, *largest));
    const std::string predicted = predicted_sentence(source, curve);
    add(strategy + " predicted", predicted.empty() ? "" : predicted + links_sentence(source, strategy));
    add(strategy + " scaling", scaling_sentence(source, curve));
    add(strategy + " is bound", binds_sentence(curve, curves.size() == 1));
    add(strategy + " is helped", helps_sentence(source, curve));
  }
  if (table.rows.empty()) return table;
  add("learning rate", rate_sentence(source));
  const Table next = next_measurements_table(source);
  if (!next.rows.empty())
    add("measure next", fmt::format("{}: {}.", std::get<std::string>(next.rows.front()[0]),
                                    std::get<std::string>(next.rows.front()[1])));
  return table;
}

}  // namespace

Table answer_table(const Source& source) { return answer_of(source, glance_steps(source)); }

std::vector<Table> one_screen(const Source& source, const Table& all_warnings, std::size_t most_lines) {
  const std::vector<GlanceStep> steps = glance_steps(source);
  constexpr std::size_t most_rows = 12, usual_rows = 6, fewest_rows = 4, least_rows = 2, most_warnings = 3;
  Table answer = answer_of(source, steps);
  const std::set<GlancePlace> named = named_places(answer, steps);
  std::size_t rows = most_rows, warnings = most_warnings;
  bool notes = true;
  // Sentences of further strategies that are left out one after another.
  std::vector<std::string_view> less_important = {" scaling", " is bound", " is helped"};
  while (true) {
    Table shown_warnings = all_warnings;
    shown_warnings.rows.resize(std::min(warnings, all_warnings.rows.size()));
    if (shown_warnings.rows.size() < all_warnings.rows.size())
      shown_warnings.title +=
          fmt::format(" ({} of {}; all: --report diagnostics)", shown_warnings.rows.size(), all_warnings.rows.size());
    std::vector<Table> tables{answer};
    for (Table& table : std::vector{glance_table(steps, rows, named), std::move(shown_warnings)}) {
      if (!notes) table.note.clear();
      if (!table.rows.empty()) tables.push_back(std::move(table));
    }
    if (lines_of(tables) <= most_lines) return tables;
    const std::string first = steps.empty() ? "" : steps.front().strategy + " ";
    const auto of_another = [&](const Row& row) { return !std::get<std::string>(row[0]).starts_with(first); };
    if (rows > usual_rows) {
      --rows;
    } else if (warnings > 2) {
      --warnings;
    } else if (!less_important.empty()) {
      std::erase_if(answer.rows, [&](const Row& row) {
        return of_another(row) && std::get<std::string>(row[0]).ends_with(less_important.back());
      });
      less_important.pop_back();
    } else if (rows > fewest_rows) {
      --rows;
    } else if (warnings > 0) {
      --warnings;
    } else {  // the next measurement, then further strategies; the table has their steps
      const auto last = std::find_if(answer.rows.rbegin(), answer.rows.rend(), [&](const Row& row) {
        return of_another(row) && std::get<std::string>(row[0]) != "learning rate";
      });
      if (last != answer.rows.rend())
        answer.rows.erase(std::next(last).base());
      else if (rows > least_rows)
        --rows;
      else if (notes)
        notes = false;
      else
        return tables;
    }
  }
}

}  // namespace ddpprof::report
