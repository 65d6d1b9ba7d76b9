// Prints analysis/fit/table/learned.hpp as the data give it; with --check compares the constants of growth with it.
#include <cmath>
#include <iostream>
#include <string_view>

#include "tests/validation/data.hpp"
#include "tests/validation/step_tables/constants.hpp"
#include "tests/validation/step_tables/learn.hpp"

int main(int argc, char** argv) {
  using namespace ddpprof;
  const auto scaling = validation::data_folder("scaling");
  const auto pollux = validation::data_folder("pollux");
  if (!scaling || !pollux) return validation::skipped;
  fit::TableConstants constants;
  constants.growth = validation::learn_growth(validation::examples_of(
      validation::read_series(scaling->parent_path()), [](const validation::Series& one) { return one.family; }));
  if (argc > 1 && std::string_view(argv[1]) == "--check") {
    int differ = 0;
    const auto learned = validation::named(constants.growth),
               committed = validation::named(fit::learned_constants.growth);
    for (std::size_t i = 0; i < learned.size(); ++i) {
      const auto& [name, value] = learned[i];
      if (std::abs(value - committed[i].second) <= 0.001 + 0.02 * std::abs(value)) continue;
      std::cout << name << ": learned " << value << ", learned.hpp has " << committed[i].second << '\n';
      ++differ;
    }
    if (differ > 0) std::cout << "run scripts/learn-step-tables\n";
    return differ > 0 ? 1 : 0;
  }
  validation::PolluxRows models;
  for (const std::string& model : validation::pollux_models) models[model] = validation::pollux_rows(*pollux / model);
  constants.placement = validation::learn_placement(models, validation::placement_fits(models), "");
  std::cout << validation::header_of(constants);
  return 0;
}
