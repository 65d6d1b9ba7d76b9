// Everything that is measured in, and fitted to, one database.
#pragma once

#include <vector>

#include "analysis/fit/all_reduce_fit.hpp"
#include "analysis/fit/compute_fit.hpp"
#include "analysis/fit/copy_fit.hpp"
#include "analysis/fit/measured/measured.hpp"
#include "simulator/collective/curve.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::fit {

struct Models {
  Measured measured;
  AllReduceFit all_reduce;
  ComputeFit ddp_compute, dp_compute;
  CopyFit copies;
};

// Throws NotSupported if the database holds no measured training step and no benchmark of collectives. `curves`:
// all-reduces measured elsewhere, which replace the fitted links (PredictOptions::all_reduce).
Models fit_models(store::Database&, const std::vector<collective::Curve>& curves = {});

}  // namespace ddpprof::fit
