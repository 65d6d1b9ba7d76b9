// The first table of a report: per strategy, in words, the measured scaling, predictions for more workers, and the
// binding term.
#pragma once

#include "analysis/report/tables/source.hpp"

namespace ddpprof::report {

Table answer_table(const Source&);

}  // namespace ddpprof::report
