// The rows of the table `fit`, and the notes on assumptions and on fits that cannot be used.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/fit/models.hpp"
#include "tracer/store/rows/result_rows.hpp"
#include "tracer/store/rows/run_rows.hpp"

namespace ddpprof::fit {

using Note = store::DiagnosticRow;

struct FitSummary {
  std::vector<store::FitRow> fits;
  std::vector<Note> notes;  // what was assumed, what is not usable and why
};

FitSummary summarise_fits(const Models&);
// Throws NotSupported if the database holds no measured training step and no benchmark of collectives.
FitSummary fit_database(store::Database&);

Note make_note(const char* severity, const char* code, const std::string& message, const std::string& advice,
               std::int64_t count = 1);

// Returns advice on how to learn the time of all-reduces: `measured`, or for imported data, which cannot be measured
// again, which files to import.
std::string advice_on_links(const Models&, const char* measured);

}  // namespace ddpprof::fit
