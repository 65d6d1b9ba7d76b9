// Prints analysis/fit/table/learned.hpp as the data give it. With --check compares it with the data, without the drift
// of placements, which takes half a minute to learn.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <iterator>
#include <string_view>

#include "tests/validation/data.hpp"
#include "tests/validation/step_tables/constants.hpp"
#include "tests/validation/step_tables/learn.hpp"

namespace {

using Named = std::vector<std::pair<std::string, double>>;

// The header has three digits.
int differences(const Named& learned, const Named& committed) {
  int differ = 0;
  for (std::size_t i = 0; i < learned.size(); ++i) {
    const auto& [name, value] = learned[i];
    if (std::abs(value - committed[i].second) <= 0.01 * std::abs(value) + 1e-5) continue;
    std::cout << name << ": learned " << value << ", learned.hpp has " << committed[i].second << '\n';
    ++differ;
  }
  return differ;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace ddpprof;
  const auto scaling = validation::data_folder("scaling");
  const auto pollux = validation::data_folder("pollux");
  if (!scaling || !pollux) return validation::skipped;
  fit::TableConstants constants;
  const std::vector<validation::Series> series = validation::read_series(scaling->parent_path());
  const auto family = [](const validation::Series& one) { return one.family; };
  std::vector<validation::Example> examples = validation::examples_of(series, family);
  std::ranges::move(validation::inner_examples_of(series, family), std::back_inserter(examples));
  constants.growth = validation::learn_growth(examples);
  validation::PolluxRows models;
  for (const std::string& model : validation::pollux_models) models[model] = validation::pollux_rows(*pollux / model);
  const validation::PlacementFits fits = validation::placement_fits(models);
  if (argc > 1 && std::string_view(argv[1]) == "--check") {
    constants.placement = validation::placement_priors(fits, "");
    constants.placement.drift_sd = fit::learned_constants.placement.drift_sd;
    const int differ =
        differences(validation::named(constants.growth), validation::named(fit::learned_constants.growth)) +
        differences(validation::named(constants.placement), validation::named(fit::learned_constants.placement));
    if (differ > 0) std::cout << "run scripts/learn-step-tables\n";
    return differ > 0 ? 1 : 0;
  }
  constants.placement = validation::learn_placement(models, fits, "");
  std::cout << validation::header_of(constants);
  return 0;
}
