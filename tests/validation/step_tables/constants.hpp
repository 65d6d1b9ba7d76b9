// The learned constants as named numbers: to print learned.hpp, and to compare it with what is learned now.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analysis/fit/table/table_constants.hpp"

namespace ddpprof::validation {

std::vector<std::pair<std::string, double>> named(const fit::GrowthConstants&);
std::vector<std::pair<std::string, double>> named(const fit::PlacementConstants&);

// The text of analysis/fit/table/learned.hpp.
std::string header_of(const fit::TableConstants&);

}  // namespace ddpprof::validation
