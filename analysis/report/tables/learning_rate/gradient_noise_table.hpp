// The measured gradient noise scale as a table.
#pragma once

#include <span>

#include "analysis/metrics/gradient_noise.hpp"
#include "analysis/report/tables/source.hpp"

namespace ddpprof::report {

Table gradient_noise_table(std::span<const metrics::MeasuredNoise>);
Table gradient_noise_table(const Source&);

}  // namespace ddpprof::report
