// Tables of why a step takes what it takes, and of what a change would make of it.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "analysis/predict/predict.hpp"
#include "analysis/report/core/table.hpp"

namespace ddpprof::report {

// What each of the terms that occur means, in the order of fit::Term: "compute: …; sharing: …"; empty for none.
std::string terms_text(const std::function<bool(std::string_view)>& occurs);

// Returns the meaning of a term by its name, the to_string of fit::Term: "waiting for data"; "" for an unknown name.
std::string_view term_meaning(std::string_view term);

// By term: how much of the step would be gone if the term took no time.
Table why_table(std::span<const fit::WhyRow>, const fit::WhatIf&);
Table what_if_table(std::span<const fit::WhatIfRow>, const fit::WhatIf&, double confidence);
// Where communication takes over, without the change and, where there is one, with it: of all N, listed or not.
Table knee_table(std::span<const fit::Knee>, const fit::WhatIf&);

}  // namespace ddpprof::report
