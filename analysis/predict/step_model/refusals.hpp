// Which predictions, and which changes, the measured data do not support.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/fit/refusal.hpp"
#include "analysis/predict/step_model/measured_job.hpp"

namespace ddpprof::fit {

// Returns why what the ranks exchange has no usable model; empty if it has one.
std::optional<Refusal> communication_refusal(const MeasuredJob&);

// Returns why the job cannot be predicted at this N; empty if it can.
std::optional<Refusal> prediction_refusal(const MeasuredJob&, std::int64_t workers);

// Returns why the change cannot be applied to this strategy at any N; empty if it can.
std::optional<Refusal> change_refusal(const MeasuredJob&, const WhatIf&);

// Returns why the change cannot be applied at this N; empty if it can. Does not include the reasons of the function
// above.
std::optional<Refusal> change_refusal_at(const MeasuredJob&, std::int64_t workers, const WhatIf&);

}  // namespace ddpprof::fit
