// Tables that explain the time of a step, and the effect of a change.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "analysis/predict/predict.hpp"
#include "analysis/report/core/table.hpp"

namespace ddpprof::report {

// Returns the meanings of the terms that occur, in the order of fit::Term: "compute: …; sharing: …"; "" without terms.
std::string terms_text(const std::function<bool(std::string_view)>& occurs);

// Returns the meaning of a term by its name, the to_string of fit::Term: "waiting for data"; "" for an unknown name.
std::string_view term_meaning(std::string_view term);

// Returns a sentence about a value that is an end of its own interval, as in a row of the change; empty without one.
std::string one_sided_text(std::span<const fit::WhatIfRow>);

// By term: reduction of the step if the term took no time.
Table why_table(std::span<const fit::WhyRow>, const fit::WhatIf&);
Table what_if_table(std::span<const fit::WhatIfRow>, const fit::WhatIf&, double confidence);
// A fixed global batch that N workers divide among themselves.
Table strong_predictions_table(std::span<const fit::StrongScaling>);
// The N from which communication dominates, without the change and with it (if there is a change). All N are
// considered, listed or not.
Table knee_table(std::span<const fit::Knee>, const fit::WhatIf&);

}  // namespace ddpprof::report
