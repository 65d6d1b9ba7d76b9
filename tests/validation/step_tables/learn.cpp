#include "tests/validation/step_tables/learn.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "analysis/fit/table/placement_model.hpp"
#include "analysis/fit/table/scaling_series.hpp"
#include "analysis/fit/table/step_table.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::validation {
namespace {

using fit::GrowthConstants;
using fit::GrowthSpread;
using fit::PlacementConstants;
using fit::Region;

using Choice = std::vector<const Example*>;

// Weights of the examples: the sources weigh by the square root of their number of series.
std::vector<double> weights_of(const Choice& examples) {
  std::map<std::string, double> total;
  for (const Example* one : examples) total[one->series->source] += one->weight;
  std::vector<double> weights;
  for (const Example* one : examples) weights.push_back(one->weight / std::sqrt(total[one->series->source]));
  return weights;
}

struct Row {
  double x = 0.0, z = 0.0, y = 0.0, weight = 0.0;
};

// (a, b) of y = a x + b z with the least sum of weighted absolute errors, by iterated least squares. Without any z, b =
// 0.
std::pair<double, double> least_absolute(const std::vector<Row>& rows) {
  double a = 0.0, b = 0.0;
  for (int round = 0; round < 200; ++round) {
    double xx = 1e-9, xz = 0.0, zz = 1e-9, xy = 0.0, zy = 0.0;
    for (const Row& row : rows) {
      const double weight = row.weight / (round == 0 ? 1.0 : std::max(2e-3, std::abs(row.y - a * row.x - b * row.z)));
      xx += weight * row.x * row.x, xz += weight * row.x * row.z, zz += weight * row.z * row.z;
      xy += weight * row.x * row.y, zy += weight * row.z * row.y;
    }
    const double determinant = xx * zz - xz * xz;
    a = (xy * zz - zy * xz) / determinant;
    b = (zy * xx - xy * xz) / determinant;
  }
  return {a, b};
}

// The same with neither below 0: physics gives the signs.
std::pair<double, double> least_absolute_positive(const std::vector<Row>& rows) {
  const auto [a, b] = least_absolute(rows);
  if (a >= 0.0 && b >= 0.0) return {a, b};
  std::vector<Row> alone = rows;
  for (Row& row : alone) (a < 0.0 ? row.x : row.z) = 0.0;
  const auto [only_a, only_b] = least_absolute(alone);
  return {std::max(0.0, only_a), std::max(0.0, only_b)};
}

double weighted_quantile(std::vector<std::pair<double, double>> values, double share) {
  std::ranges::sort(values);
  double total = 0.0, below = 0.0;
  for (const auto& [value, weight] : values) total += weight;
  for (const auto& [value, weight] : values)
    if ((below += weight) >= share * total) return value;
  return values.back().first;
}

bool usual(const Example& one) { return one.question.doublings > 0.0 && !one.question.other_batch; }

// Rented nodes with 50 Gb/s links have another first crossing than clusters built for training, and where compute hides
// their communication, it is soon exposed. They count for the spread only: the links of a table's cluster are not
// known, so its interval has to contain both.
bool slow_links(const Example& one) { return one.series->source == "pollux"; }
bool full_nodes(const Example& one) { return one.series->stratum == "pollux, full nodes"; }

Choice of_region(const Choice& examples, Region region, bool with_full_nodes = false) {
  Choice found;
  for (const Example* one : examples)
    if (usual(*one) && one->question.region == region && (with_full_nodes || !full_nodes(*one))) found.push_back(one);
  return found;
}

Choice without(const Choice& examples, const std::string& family) {
  Choice found;
  for (const Example* one : examples)
    if (one->family != family) found.push_back(one);
  return found;
}

template <class Features>
std::pair<double, double> fitted(const Choice& examples, Features features) {
  const std::vector<double> weights = weights_of(examples);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    Row row = features(*examples[i]);
    row.weight = weights[i];
    rows.push_back(row);
  }
  return least_absolute_positive(rows);
}

std::pair<Choice, Choice> by_loss(const Choice& examples) {
  std::pair<Choice, Choice> found;
  for (const Example* one : examples)
    (one->question.loss < fit::hidden_loss_limit ? found.first : found.second).push_back(one);
  return found;
}

GrowthConstants means_of(const Choice& examples) {
  GrowthConstants constants;
  std::tie(constants.inside, constants.inside_loss) =
      fitted(of_region(examples, Region::one_node), [](const Example& one) {
        const double d = one.question.doublings;
        return Row{d, d * std::min(one.question.loss, fit::hidden_loss_limit), one.growth, 0.0};
      });
  // In two steps: where little is lost the drift, and what is lost beyond a fit::hidden_loss_limit for the rest.
  auto [little, much] = by_loss(of_region(examples, Region::several_nodes));
  std::erase_if(little, [](const Example* one) { return slow_links(*one); });
  constants.between = fitted(little, [](const Example& one) {
                        return Row{one.question.doublings, 0.0, one.growth, 0.0};
                      }).first;
  const double between = constants.between;
  constants.between_loss =
      fitted(much, [between](const Example& one) {
        const double d = one.question.doublings;
        return Row{d * (one.question.loss - fit::hidden_loss_limit), 0.0, one.growth - d * between, 0.0};
      }).first;
  std::tie(constants.crossing, constants.crossing_doubling) =
      fitted(of_region(examples, Region::first_crossing), [](const Example& one) {
        return Row{1.0, one.question.doublings, one.growth, 0.0};
      });
  std::tie(constants.fewer, constants.fewer_doubling) =
      fitted(of_region(examples, Region::fewer_ranks), [](const Example& one) {
        return Row{1.0, one.question.doublings, -one.growth, 0.0};
      });
  return constants;
}

struct Residual {
  const Example* example;
  double off;  // measured growth less the mean
  double weight;
};

// The weight of the loss is that of the largest likelihood, with residuals of Student's t with 4 degrees of freedom.
GrowthSpread spread_of(const std::vector<Residual>& residuals) {
  if (residuals.empty()) return {};
  GrowthSpread best;
  double best_likelihood = -1e300;
  for (const double loss_weight : {0.0, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 60.0}) {
    GrowthConstants unit;
    for (GrowthSpread* spread : {&unit.one_node, &unit.several_nodes, &unit.first_crossing, &unit.fewer_ranks,
                                 &unit.interpolated, &unit.other_batch})
      *spread = {1.0, 1.0, loss_weight};
    std::vector<std::pair<double, double>> scaled;
    std::vector<double> scales;
    for (const Residual& one : residuals) {
      const fit::Growth growth = fit::growth_of(one.example->question, unit, 0.9);
      scales.push_back(growth.high - growth.mean);
      scaled.emplace_back(one.off / scales.back(), one.weight);
    }
    double likelihood = -1e300;
    for (double sd = 0.002; sd < 0.5; sd *= 1.1) {
      double sum = 0.0;
      for (std::size_t i = 0; i < scaled.size(); ++i)
        sum -=
            scaled[i].second * (std::log(sd * scales[i]) + 2.5 * std::log1p(std::pow(scaled[i].first / sd, 2) / 4.0));
      likelihood = std::max(likelihood, sum);
    }
    if (likelihood <= best_likelihood) continue;
    best_likelihood = likelihood;
    // Fewer than 20 series show neither a twentieth of their errors nor on which side they lie: there the largest
    // error counts, on both sides.
    std::set<const Series*> series;
    for (const Residual& one : residuals) series.insert(one.example->series);
    if (series.size() < 20)
      for (auto& [error, weight] : scaled) error = std::abs(error);
    const double high = weighted_quantile(scaled, series.size() < 20 ? 1.0 : 0.95);
    const double low = series.size() < 20 ? high : -weighted_quantile(scaled, 0.05);
    best = {std::max(1e-3, low), std::max(1e-3, high), loss_weight};
  }
  return best;
}

}  // namespace

namespace {

// Adds the question of one row to the given ones. Nothing if it is refused: one batch was given and another is asked.
void add_example(std::vector<Example>& examples, const Series& series, const std::string& family,
                 std::vector<fit::StepRow> given, const fit::StepRow& asked, bool largest) {
  Example one;
  one.series = &series;
  one.family = family;
  one.given = std::move(given);
  one.asked = asked;
  const fit::ScalingSeries model(one.given, std::make_shared<fit::Alone>(one.given), {});
  const fit::ScalingSeries::Start start = model.start_of(one.asked);
  one.question = start.question;
  one.growth = std::log(one.asked.micro_s() / start.step.micro_s);
  one.largest = largest;
  if (std::isfinite(one.growth)) examples.push_back(std::move(one));
}

}  // namespace

std::vector<Example> examples_of(const std::vector<Series>& all,
                                 const std::function<std::string(const Series&)>& family_of) {
  std::vector<Example> examples;
  for (const Series& series : all) {
    const std::size_t first = examples.size(), count = series.rows.size();
    const std::string family = family_of(series);
    const auto begin = series.rows.begin();
    for (std::size_t given = 2; given < count; ++given)
      for (std::size_t asked = given; asked < count; ++asked)
        add_example(examples, series, family, {begin, begin + static_cast<std::ptrdiff_t>(given)}, series.rows[asked],
                    given + 1 == count);
    for (std::size_t i = first; i < examples.size(); ++i)
      examples[i].weight = 1.0 / static_cast<double>(examples.size() - first);
  }
  return examples;
}

std::vector<Example> inner_examples_of(const std::vector<Series>& all,
                                       const std::function<std::string(const Series&)>& family_of) {
  std::vector<Example> examples;
  for (const Series& series : all) {
    const std::size_t first = examples.size(), count = series.rows.size();
    const std::string family = family_of(series);
    const auto begin = series.rows.begin();
    for (std::size_t given = 1; given + 2 <= count; ++given)
      for (std::size_t asked = 0; asked < given; ++asked)
        add_example(examples, series, family, {begin + static_cast<std::ptrdiff_t>(given), series.rows.end()},
                    series.rows[asked], false);
    // Between the neighbours of a row, and between the ends of the table.
    for (std::size_t asked = 1; asked + 1 < count; ++asked) {
      std::vector<fit::StepRow> others = series.rows;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(asked));
      add_example(examples, series, family, others, series.rows[asked], false);
      if (count > 3)
        add_example(examples, series, family, {series.rows.front(), series.rows.back()}, series.rows[asked], false);
    }
    for (std::size_t i = first; i < examples.size(); ++i)
      examples[i].weight = 1.0 / static_cast<double>(examples.size() - first);
  }
  // Rows of a series may have another batch, or several placements of one N.
  std::erase_if(examples, [](const Example& one) {
    return one.question.region != Region::fewer_ranks && one.question.region != Region::interpolated;
  });
  return examples;
}

GrowthConstants learn_growth(const std::vector<Example>& examples) {
  Choice all;
  std::set<std::string> families;
  for (const Example& one : examples) {
    all.push_back(&one);
    families.insert(one.family);
  }
  GrowthConstants constants = means_of(all);
  std::map<std::string, GrowthConstants> others;  // without one family
  for (const std::string& family : families) others[family] = means_of(without(all, family));
  const auto spread = [&](const Choice& chosen) {
    const std::vector<double> weights = weights_of(chosen);
    std::vector<Residual> residuals;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const double mean = fit::growth_of(chosen[i]->question, others[chosen[i]->family], 0.9).mean;
      residuals.push_back({chosen[i], chosen[i]->growth - mean, weights[i]});
    }
    return spread_of(residuals);
  };
  constants.one_node = spread(of_region(all, Region::one_node));
  constants.several_nodes = spread(of_region(all, Region::several_nodes));
  constants.first_crossing = spread(of_region(all, Region::first_crossing, true));
  constants.fewer_ranks = spread(of_region(all, Region::fewer_ranks));
  constants.interpolated = spread(of_region(all, Region::interpolated));
  Choice other_batch;
  for (const Example* one : all)
    if (one->question.doublings > 0.0 && one->question.other_batch) other_batch.push_back(one);
  constants.other_batch = spread(other_batch);
  return constants;
}

namespace {

constexpr double wider = 1.25;  // the priors, because few models were seen

fit::TableOptions options_with(const PlacementConstants& placement) {
  fit::TableOptions options;
  options.constants.placement = placement;
  return options;
}

PlacementConstants weak() {
  return {.two_nodes = 0.2,
          .two_nodes_sd = 0.4,
          .two_nodes_shared = 0.2,
          .two_nodes_shared_sd = 0.4,
          .early_growth = 0.4,
          .early_growth_sd = 0.5,
          .late_growth = 0.2,
          .late_growth_log_s = 0.0,
          .late_growth_sd = 0.5,
          .late_growth_centre = 0.0,
          .late_growth_squares = 1e9,
          .models = 1e9,
          .late_growth_from = -1e9,
          .late_growth_to = 1e9,
          .drift_sd = 0.03};
}

void prior_of(const std::vector<double>& values, double& centre, double& sd) {
  centre = stats::mean(values);
  sd = std::max(0.05, wider * stats::standard_deviation(values));
}

PlacementConstants priors_of(const std::vector<fit::PlacementModel::Fitted>& fits) {
  PlacementConstants constants = weak();
  std::vector<double> early, two, shared;
  double n = 0.0, x = 0.0, y = 0.0, xx = 0.0, xy = 0.0;
  constants.late_growth_from = 1e9, constants.late_growth_to = -1e9;
  for (const auto& one : fits) {
    early.push_back(one.early_growth);
    two.push_back(one.two_nodes);
    shared.push_back(one.two_nodes_shared);
    const double log_s = std::log(one.carried_s);
    constants.late_growth_from = std::min(constants.late_growth_from, log_s);
    constants.late_growth_to = std::max(constants.late_growth_to, log_s);
    n += 1.0, x += log_s, y += one.late_growth, xx += log_s * log_s, xy += log_s * one.late_growth;
  }
  prior_of(early, constants.early_growth, constants.early_growth_sd);
  prior_of(two, constants.two_nodes, constants.two_nodes_sd);
  prior_of(shared, constants.two_nodes_shared, constants.two_nodes_shared_sd);
  constants.models = n;
  constants.late_growth_centre = x / n;
  constants.late_growth_squares = xx - x * x / n;
  constants.late_growth_log_s = (n * xy - x * y) / (n * xx - x * x);
  constants.late_growth = (y - constants.late_growth_log_s * x) / n;
  double squares = 0.0;
  for (const auto& one : fits)
    squares +=
        std::pow(one.late_growth - constants.late_growth - constants.late_growth_log_s * std::log(one.carried_s), 2);
  constants.late_growth_sd = std::max(0.05, wider * std::sqrt(squares / std::max(1.0, n - 2.0)));
  return constants;
}

double covered(const std::vector<fit::StepRow>& rows, const PlacementConstants& constants, std::int64_t most_nodes) {
  std::vector<fit::StepRow> given;
  for (const fit::StepRow& row : rows)
    if (row.workers <= fit::early_ranks && row.nodes <= most_nodes) given.push_back(row);
  const fit::StepTable table(given, options_with(constants));
  double covered = 0.0, asked = 0.0;
  for (const fit::StepRow& row : rows) {
    if (row.workers < 16) continue;
    const fit::TablePrediction prediction = table.predict(row);
    asked += 1.0;
    covered += prediction.low_s <= row.step_s && row.step_s <= prediction.high_s;
  }
  return covered / asked;
}

}  // namespace

PlacementFits placement_fits(const PolluxRows& models) {
  PlacementFits fits;
  for (const auto& [model, rows] : models)
    fits[model] = fit::PlacementModel(rows, std::make_shared<fit::Alone>(rows), options_with(weak())).fitted();
  return fits;
}

PlacementConstants placement_priors(const PlacementFits& fits, const std::string& left_out) {
  std::vector<fit::PlacementModel::Fitted> others;
  for (const auto& [model, fitted] : fits)
    if (model != left_out) others.push_back(fitted);
  return priors_of(others);
}

PlacementConstants learn_placement(const PolluxRows& models, const PlacementFits& fits, const std::string& left_out) {
  PlacementFits train = fits;
  train.erase(left_out);
  PlacementConstants constants = placement_priors(train, "");
  // The smallest drift with which nine tenths of the rows of every model that was left out are covered.
  for (const double drift_sd : {0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3}) {
    constants.drift_sd = drift_sd;
    double least = 1.0;
    for (const auto& [model, fitted] : train) {
      PlacementConstants others = placement_priors(train, model);
      others.drift_sd = drift_sd;
      for (const std::int64_t nodes : {2, 4}) {
        least = std::min(least, covered(models.at(model), others, nodes));
      }
    }
    if (least >= 0.9) return constants;
  }
  throw std::runtime_error("learn_placement: no drift up to 0.3 covers nine tenths of every model");
}

}  // namespace ddpprof::validation
