// Judges predictions from step tables on families that the constants were not learned from, beside trivial baselines.
//
// The constants, the spreads of the intervals included, are learned again without each family before it is predicted.
// --short leaves out knees and placements, whose priors take minutes to learn.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <set>
#include <string_view>

#include "analysis/fit/not_supported.hpp"
#include "analysis/fit/table/step_table.hpp"
#include "simulator/stats/random.hpp"
#include "simulator/stats/summary.hpp"
#include "tests/validation/data.hpp"
#include "tests/validation/step_tables/knees.hpp"
#include "tests/validation/step_tables/learn.hpp"

namespace {

using namespace ddpprof;
using validation::Example;
using validation::Series;

struct Errors {
  std::vector<double> signed_errors;
  void add(double predicted, double measured) { signed_errors.push_back(predicted / measured - 1.0); }
  std::vector<double> sizes() const {
    std::vector<double> all;
    for (const double one : signed_errors) all.push_back(std::abs(one));
    return all;
  }
  std::string text() const {
    const std::vector<double> all = sizes();
    return fmt::format("{:.1f} / {:.1f}", 100 * stats::median(all), 100 * stats::mean(all));
  }
};

double per_doubling(const std::vector<fit::StepRow>& rows) {
  const fit::StepRow &last = rows.back(), &before = rows[rows.size() - 2];
  return std::log(last.micro_s() / before.micro_s()) /
         std::log2(static_cast<double>(last.workers) / static_cast<double>(before.workers));
}

// Baselines: throughput in proportion to N; half of the last slope; a ring through the last two; and, where the batch
// per rank changes, throughput as a power of N.
double linear(const Example& one) {
  const fit::StepRow& last = one.given.back();
  const double samples = static_cast<double>(one.asked.batch_per_worker) / static_cast<double>(last.batch_per_worker);
  return last.micro_s() * samples;
}
double half_slope(const Example& one) {
  const double d = std::log2(static_cast<double>(one.asked.workers) / static_cast<double>(one.given.back().workers));
  return one.given.back().micro_s() * std::exp(0.5 * std::max(0.0, per_doubling(one.given)) * d);
}
double ring(const Example& one) {
  const auto share = [](std::int64_t n) { return (static_cast<double>(n) - 1.0) / static_cast<double>(n); };
  const fit::StepRow &last = one.given.back(), &before = one.given[one.given.size() - 2];
  const double slope =
      std::max(0.0, (last.micro_s() - before.micro_s()) / (share(last.workers) - share(before.workers)));
  return last.micro_s() + slope * (share(one.asked.workers) - share(last.workers));
}
double power(const Example& one) {
  const fit::StepRow &last = one.given.back(), &before = one.given[one.given.size() - 2];
  const auto throughput = [](const fit::StepRow& row) {
    return static_cast<double>(row.workers) * static_cast<double>(row.batch_per_worker) / row.micro_s();
  };
  const auto ratio = [](const fit::StepRow& a, const fit::StepRow& b) {
    return std::log(static_cast<double>(a.workers) / static_cast<double>(b.workers));
  };
  const double exponent = std::log(throughput(last) / throughput(before)) / ratio(last, before);
  const double predicted = throughput(last) * std::exp(exponent * ratio(one.asked, last));
  return static_cast<double>(one.asked.workers) * static_cast<double>(one.asked.batch_per_worker) / predicted;
}

struct Stratum {
  Errors own, linear, half_slope, ring, power;
  validation::Coverage coverage;
  std::int64_t above = 0, below = 0;
  double width = 0.0;
  std::vector<std::string> families;  // of the errors of baselines

  void add(const Example& one, const fit::TablePrediction& prediction) {
    families.push_back(one.family);
    const double rounds = static_cast<double>(one.asked.accumulation), actual = one.asked.step_s;
    linear.add(rounds * ::linear(one), actual);
    half_slope.add(rounds * ::half_slope(one), actual);
    ring.add(rounds * ::ring(one), actual);
    power.add(rounds * ::power(one), actual);
    add(prediction, actual);
  }
  void add(const fit::TablePrediction& prediction, double actual) {
    own.add(prediction.step_s, actual);
    coverage.covered += prediction.low_s <= actual && actual <= prediction.high_s;
    ++coverage.asked;
    above += actual > prediction.high_s;
    below += actual < prediction.low_s;
    width += std::log(prediction.high_s / prediction.low_s);
  }
  double mean_width() const { return width / static_cast<double>(coverage.asked); }
};

using Strata = std::map<std::string, Stratum>;

void print(const std::string& title, const Strata& strata) {
  std::cout
      << "\n### " << title
      << "\n\nErrors: median / mean, in %. Width: mean of ln(high / low) of the 90 % interval.\n\n| stratum | "
         "predictions | error | median off by | linear | half of the last slope | ring | power law | covered | width "
         "| measured above, below |\n|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const auto& [name, one] : strata)
    std::cout << fmt::format("| {} | {} | {} | {:+.1f} % | {} | {} | {} | {} | {:.0f} % | {:.3f} | {}, {} |\n", name,
                             one.coverage.asked, one.own.text(), 100 * stats::median(one.own.signed_errors),
                             one.linear.text(), one.half_slope.text(), one.ring.text(), one.power.text(),
                             100 * one.coverage.share(), one.mean_width(), one.above, one.below);
}

// Baselines have no answer for fewer ranks or between measured ones, but throughput in proportion to N from the largest.
void print_inner(const Strata& strata) {
  std::cout << "\n### Fewer ranks than were measured, and N between measured ones, the model's family left out\n\n"
               "| stratum | predictions | error | median off by | linear | covered | width | measured above, below "
               "|\n|---|---|---|---|---|---|---|---|\n";
  for (const auto& [name, one] : strata)
    std::cout << fmt::format("| {} | {} | {} | {:+.1f} % | {} | {:.0f} % | {:.3f} | {}, {} |\n", name,
                             one.coverage.asked, one.own.text(), 100 * stats::median(one.own.signed_errors),
                             one.linear.text(), 100 * one.coverage.share(), one.mean_width(), one.above, one.below);
}

// Returns the share of resamples of the families, with replacement, in which the mean error is below the baseline's.
// Families are resampled as a whole, because tables of one family are alike.
double share_below(const Stratum& one, const Errors& baseline) {
  std::map<std::string, double> by_family;  // sum of own errors - sum of the baseline's
  const std::vector<double> own = one.own.sizes(), theirs = baseline.sizes();
  for (std::size_t i = 0; i < own.size(); ++i) by_family[one.families[i]] += own[i] - theirs[i];
  std::vector<double> differences;
  for (const auto& [family, difference] : by_family) differences.push_back(difference);
  constexpr int resamples = 4000;
  stats::Random random(1);
  int below = 0;
  for (int i = 0; i < resamples; ++i) {
    double sum = 0.0;
    for (std::size_t j = 0; j < differences.size(); ++j) sum += differences[random.below(differences.size())];
    below += sum < 0.0;
  }
  return below / static_cast<double>(resamples);
}

void print_resampled(const Strata& strata) {
  std::cout << "\n### Resampled families\n\nShare of 4,000 resamples of the families of models in which the mean error "
               "is below the baseline's.\n\n| stratum | families | linear | half of the last slope | ring | power law "
               "|\n|---|---|---|---|---|---|\n";
  for (const auto& [name, one] : strata) {
    const std::set<std::string> families(one.families.begin(), one.families.end());
    if (families.size() < 4) continue;
    std::cout << fmt::format("| {} | {} |", name, families.size());
    for (const Errors* baseline : {&one.linear, &one.half_slope, &one.ring, &one.power})
      std::cout << fmt::format(" {:.0f} % |", 100 * share_below(one, *baseline));
    std::cout << '\n';
  }
}

std::string region_of(const Example& one) {
  switch (one.question.region) {
    case fit::Region::one_node:
      return "one node";
    case fit::Region::several_nodes:
      return "several nodes";
    case fit::Region::fewer_ranks:
      return "fewer ranks";
    case fit::Region::interpolated:
      return "between measured N";
    case fit::Region::first_crossing:
      break;
  }
  return "from one node to several";
}

// Strata of one split: the largest N from all smaller ones, by source of the data; the same by family; and every N by
// its distance.
struct Split {
  Strata largest, by_family, by_distance;
  Strata inner;  // fewer ranks than were given, and ranks between given ones
  std::set<std::string> refused;
};

Split judge(const std::vector<Series>& all, const std::function<std::string(const Series&)>& family_of) {
  const std::vector<Example> examples = validation::examples_of(all, family_of);
  const std::vector<Example> inner = validation::inner_examples_of(all, family_of);
  std::set<std::string> families;
  for (const Example& one : examples) families.insert(one.family);
  Split split;
  for (const std::string& family : families) {
    std::vector<Example> train;
    for (const Example& one : examples)
      if (one.family != family) train.push_back(one);
    for (const Example& one : inner)
      if (one.family != family) train.push_back(one);
    fit::TableOptions options;
    options.constants.growth = validation::learn_growth(train);
    for (const Example& one : examples) {
      if (one.family != family) continue;
      const auto prediction = fit::StepTable(one.given, options).predict(one.asked);
      const bool crossing = one.question.region == fit::Region::first_crossing;
      const std::string stratum = one.series->stratum;
      const double doublings = one.question.doublings;
      const char* distance = doublings <= 1.01 ? "1 doubling" : doublings <= 2.01 ? "2 doublings" : "3 and more";
      split.by_distance[stratum + ", " + region_of(one) + ", " + distance].add(one, prediction);
      if (!one.largest) continue;
      split.largest[stratum + ", " + region_of(one)].add(one, prediction);
      if (crossing) continue;
      split.largest[stratum].add(one, prediction);
      split.by_family[stratum + ", " + family].add(one, prediction);
    }
    for (const Example& one : inner)
      if (one.family == family)
        split.inner[one.series->stratum + ", " + region_of(one)].add(
            one, fit::StepTable(one.given, options).predict(one.asked));
  }
  std::set<std::string> predicted;
  for (const Example& one : examples)
    if (one.largest) predicted.insert(one.series->name);
  for (const Series& one : all)
    if (!predicted.contains(one.name)) split.refused.insert(one.name);
  return split;
}

struct Goals {
  bool met = true;
  void check(const std::string& what, bool holds) {
    if (!holds) std::cout << "\nNot met: " << what << '\n';
    met = met && holds;
  }
};

void check_table(const std::string& name, const Stratum& one, Goals& goals) {
  const std::vector<double> own = one.own.sizes();
  for (const auto& [baseline, errors] : {std::pair{"linear", &one.linear},
                                         {"half of the last slope", &one.half_slope},
                                         {"ring", &one.ring},
                                         {"power law", &one.power}}) {
    const std::vector<double> theirs = errors->sizes();
    goals.check(name + ": median below " + baseline, stats::median(own) < stats::median(theirs));
    goals.check(name + ": mean below " + baseline, stats::mean(own) < stats::mean(theirs));
  }
  goals.check(name + ": at least 85 % covered", one.coverage.share() >= 0.85);
  const std::int64_t misses = one.above + one.below;
  goals.check(name + ": at most 75 % of more than 8 misses on one side",
              misses <= 8 || 4 * std::max(one.above, one.below) <= 3 * misses);
}

// Tables whose law is known: what is lost does not grow, and is 0 or 2 %.
void judge_made_tables(Goals& goals) {
  std::cout << "\n### Tables with a known law\n\n| table | predicted | off by, for each doubling |\n|---|---|---|\n";
  for (const double lost : {0.0, 0.02}) {
    for (const std::vector<std::int64_t>& counts : {std::vector<std::int64_t>{1, 4}, {1, 2, 4, 8}, {8, 16, 32}}) {
      std::vector<fit::StepRow> rows;
      for (const std::int64_t n : counts) rows.push_back({n, (n + 7) / 8, 32, n == 1 ? 0.1 : 0.1 * (1.0 + lost)});
      fit::StepRow asked = rows.back();
      asked.workers *= 2;
      asked.nodes = (asked.workers + 7) / 8;
      if (asked.nodes > 1 && rows.back().nodes == 1) asked.nodes = 1, asked.devices_per_node = asked.workers;
      const double off = fit::StepTable(rows).predict(asked).step_s / asked.step_s - 1.0;
      std::cout << fmt::format("| {} lost, N = {} to {} | {} | {:+.1f} % |\n", lost > 0.0 ? "2 %" : "nothing",
                               counts.front(), counts.back(), asked.workers, 100 * off);
      goals.check("a made table within 2.5 % per doubling", std::abs(off) <= 0.025);
    }
  }
}

// Pollux: all placements of up to 8 ranks on up to 4 or 2 nodes, for 16 ranks and more.
void judge_placements(const validation::PolluxRows& models, const validation::PlacementFits& fits, Goals& goals) {
  std::cout
      << "\n### Placements and batches of one model, the other five models learned from\n\n| model | nodes up to | "
         "error | median off by | covered | width |\n|---|---|---|---|---|---|\n";
  std::map<std::int64_t, std::vector<double>> medians;
  for (const auto& [model, rows] : models) {
    fit::TableOptions options;
    options.constants.placement = validation::learn_placement(models, fits, model);
    for (const std::int64_t nodes : {4, 2}) {
      std::vector<fit::StepRow> given;
      for (const fit::StepRow& row : rows)
        if (row.workers <= 8 && row.nodes <= nodes) given.push_back(row);
      const fit::StepTable table(given, options);
      Stratum one;
      for (const fit::StepRow& row : rows)
        if (row.workers >= 16) one.add(table.predict(row), row.step_s);
      medians[nodes].push_back(stats::median(one.own.sizes()));
      std::cout << fmt::format("| {} | {} | {} | {:+.1f} % | {:.0f} % | {:.2f} |\n", model, nodes, one.own.text(),
                               100 * stats::median(one.own.signed_errors), 100 * one.coverage.share(),
                               one.mean_width());
      goals.check(fmt::format("{} from {} nodes: at least 85 % covered", model, nodes), one.coverage.share() >= 0.85);
    }
  }
  for (const auto& [nodes, errors] : medians)
    std::cout << fmt::format("\nMean of the six medians from up to {} nodes: {:.1f} %.\n", nodes,
                             100 * stats::mean(errors));
  goals.check("placements of 4 nodes: 7.0 %", stats::mean(medians[4]) <= 0.07);
  goals.check("placements of 2 nodes: 12 %", stats::mean(medians[2]) <= 0.12);
}

}  // namespace

int main(int argc, char** argv) {
  const bool brief = argc > 1 && std::string_view(argv[1]) == "--short";
  const auto scaling = validation::data_folder("scaling");
  const auto pollux = validation::data_folder("pollux");
  if (!scaling || !pollux) return validation::skipped;
  const std::vector<Series> all = validation::read_series(scaling->parent_path());
  Goals goals;
  judge_made_tables(goals);
  const Split by_family = judge(all, [](const Series& one) { return one.family; });
  print("The largest N from all smaller ones, the model's family left out", by_family.largest);
  print_resampled(by_family.largest);
  print("Each family", by_family.by_family);
  print("Every N by its distance, the model's family left out", by_family.by_distance);
  print_inner(by_family.inner);
  for (const std::string& name : by_family.refused)
    std::cout << "\nNot predicted, because one batch was measured and another is asked about: " << name << '\n';
  const Split by_source = judge(all, [](const Series& one) { return one.source; });
  Strata sources = by_source.largest;
  std::erase_if(sources, [](const auto& one) { return one.first.starts_with("mlperf"); });  // it has one source
  print("The largest N from all smaller ones, the source left out", sources);
  for (const char* name : {"published", "ddp_tables"}) {
    check_table(name, by_family.largest.at(name), goals);
    check_table(std::string(name) + ", source left out", by_source.largest.at(name), goals);
  }
  for (const char* name : {"pollux", "pollux, full nodes"})
    goals.check(std::string(name) + ": mean below linear", stats::mean(by_family.largest.at(name).own.sizes()) <
                                                               stats::mean(by_family.largest.at(name).linear.sizes()));
  for (const char* name : {"published", "ddp_tables"})
    goals.check(std::string(name) + ": below linear in nine of ten resamples of the families",
                share_below(by_family.largest.at(name), by_family.largest.at(name).linear) >= 0.9);
  const Stratum& strong = by_family.largest.at("mlperf");
  goals.check("mlperf: median at most 12 %", stats::median(strong.own.sizes()) <= 0.12);
  goals.check("mlperf: 80 % covered", strong.coverage.share() >= 0.8);
  if (!brief) {
    validation::PolluxRows models;
    for (const std::string& model : validation::pollux_models) models[model] = validation::pollux_rows(*pollux / model);
    const validation::PlacementFits fits = validation::placement_fits(models);
    goals.check("knees", validation::judge_knees(*pollux, models, fits));
    judge_placements(models, fits, goals);
  }
  return goals.met ? 0 : 1;
}
