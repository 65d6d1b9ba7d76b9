// Constants that predictions from step tables take from other tables.
#pragma once

#include "analysis/fit/table/growth.hpp"

namespace ddpprof::fit {

// Priors of placement_model.hpp: centres and standard deviations, from fits to tables of other models.
struct PlacementConstants {
  double two_nodes = 0.0, two_nodes_sd = 0.0;                // f
  double two_nodes_shared = 0.0, two_nodes_shared_sd = 0.0;  // f'
  double early_growth = 0.0, early_growth_sd = 0.0;          // q
  // r = late_growth + late_growth_log_s x, x = ln(k in s), a line through few models: its standard deviation is
  // late_growth_sd sqrt(1 + 1/models + (x - late_growth_centre)² / late_growth_squares). What the line adds outside of
  // the models' x, which are late_growth_from to late_growth_to, is a further standard deviation.
  double late_growth = 0.0, late_growth_log_s = 0.0, late_growth_sd = 0.0;
  double late_growth_centre = 0.0, late_growth_squares = 1.0, models = 1.0;
  double late_growth_from = 0.0, late_growth_to = 0.0;
  double drift_sd = 0.0;  // standard deviation of ln(step) beyond the largest measured N: drift_sd sqrt(doublings of N)
};

struct TableConstants {
  GrowthConstants growth;
  PlacementConstants placement;
};

}  // namespace ddpprof::fit
