#include "analysis/fit/fit_summary.hpp"

#include <utility>

namespace ddpprof::fit {

Note make_note(const char* severity, const char* code, const std::string& message, const std::string& advice,
               std::int64_t count) {
  Note row;
  row.severity = severity;
  row.code = code;
  row.count = count;
  row.message = message;
  row.advice = advice;
  return row;
}

std::string advice_on_links(const Models& models, const char* measured) {
  return models.measured.imported ? "import traces of a training at 2 workers and more with message sizes recorded, or "
                                    "give a log of nccl-tests' all_reduce_perf (predict --all-reduce)"
                                  : measured;
}

FitSummary summarise_fits(const Models& models) {
  FitSummary summary;
  const auto add = [&](store::FitRow row, const std::vector<std::string>& notes, const std::string& advice) {
    if (!row.usable) {
      summary.notes.push_back(
          make_note("warning", "fit_not_usable", row.strategy + " " + row.name + ": " + row.status, advice));
    }
    for (const std::string& text : notes) {
      summary.notes.push_back(make_note("info", "fit_assumption", row.strategy + " " + row.name + ": " + text, advice));
    }
    summary.fits.push_back(std::move(row));
  };
  const bool ddp = !models.measured.ddp.empty();
  for (const std::string& text : models.all_reduce.warnings) {
    summary.notes.push_back(make_note("warning", "fit_doubtful", "ddp all_reduce: " + text,
                                      advice_on_links(models,
                                                      "measure DDP at more worker counts and bucket sizes, or run "
                                                      "ddpprof bench-comm")));
  }
  if (ddp || !models.measured.collectives.empty()) {
    add(to_row(models.all_reduce), models.all_reduce.notes,
        advice_on_links(
            models, "measure DDP at two worker counts above 1 and several bucket sizes, or run ddpprof bench-comm"));
  }
  if (ddp) add(to_row(models.ddp_compute), models.ddp_compute.notes, "measure at N = 1 and at N above the core count");
  if (!models.measured.dp.empty()) {
    add(to_row(models.dp_compute), models.dp_compute.notes, "measure at N = 1 and at N above the core count");
    add(to_row(models.copies), {}, "measure DataParallel at two worker counts above 1");
  }
  for (const ComputeFit* compute : {&models.ddp_compute, &models.dp_compute})
    if (compute->batch.refused())
      summary.notes.push_back(make_note("warning", "fit_doubtful",
                                        compute->strategy + " compute over the batch: " + compute->batch.status +
                                            "; compute is assumed proportional to the batch",
                                        "measure these batches again, directly one after the other"));
  for (const std::string& warning : models.measured.warnings) {
    summary.notes.push_back(make_note("warning", "fit_data_doubtful", warning, "check the scenario and measure again"));
  }
  return summary;
}

FitSummary fit_database(store::Database& database) { return summarise_fits(fit_models(database)); }

}  // namespace ddpprof::fit
