// The answer about a file in one look. All numbers are cells of the tables of `ddpprof report`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/report.hpp"
#include "gui/models/opened_file.hpp"
#include "gui/models/selection.hpp"

namespace ddpprof::gui {

// A key figure: a title, the figure, its interval or parts, and the page with the evidence.
struct KeyFigure {
  std::string title, figure, detail, page;
};

enum class StepPart { compute, transfer, waiting, launches, other };

struct StepShare {
  StepPart part = StepPart::compute;
  std::string name;
  double share = 0.0;  // of the step
};

struct UsefulChange {
  std::string change;    // "accumulation=4", as for ddpprof predict --what-if
  std::string gain;      // "1.16 × the throughput (1.11 to 3.57)"
  std::string needs;     // what the change requires: "faster links"
  bool certain = false;  // the interval includes no loss
};

struct Overview {
  std::string job;                    // "ddp at N = 2, nccl, cuda"
  std::vector<KeyFigure> figures;     // step time, exposed communication, device busy, what binds; empty without a step
  std::string why_no_step;            // why `figures` is empty, and what to do
  std::vector<StepShare> step;        // where the step goes; the shares add up to 1. Empty if this is not known
  std::int64_t changes_workers = 0;   // the N of `changes`
  std::vector<UsefulChange> changes;  // at most three, the largest gain first, as on the page Scaling
  std::vector<std::pair<std::string, std::string>> sentences;  // of the answer: about, text
  std::vector<std::pair<std::string, std::string>> warnings;   // about, text; the largest effect on the answer first
  report::Table rates;                                         // rate_choice; without rows: `why_no_rate`
  std::string why_no_rate;
  report::Table notices;  // report::notices
};

// `answer`: the report "answer". `full`: the report "summary" or "imported" of the same file.
Overview make_overview(const report::Report& answer, const report::Report& full,
                       const std::vector<metrics::Configuration>&);

// Builds both reports; too slow for the interface thread. Throws store::DatabaseError, and std::runtime_error if the
// path now names another file.
Overview read_overview(const OpenedFile&);
// Predicts for another N or machine. Returns the same overview with the parts that predictions change: changes,
// sentences, warnings and notices. The other parts are about the measured steps and the file. Throws also
// fit::NotSupported if nothing can be predicted.
Overview read_overview(const OpenedFile&, const PredictionChoice&);
// Returns `of_file` with those parts of `chosen`.
Overview with_choice(Overview of_file, const Overview& chosen);

// "N = 64, global batch 2048: 0.64 (linear rule for SGD); square-root rule: 0.08." `row`: of Overview::rates.
std::string rate_text(const report::Table& rates, std::size_t row);

}  // namespace ddpprof::gui
