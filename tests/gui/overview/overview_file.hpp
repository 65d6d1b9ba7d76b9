// Trace databases for the page Overview: with fits and predictions, as a run or an import leaves them.
#pragma once

#include <QTemporaryDir>
#include <filesystem>
#include <memory>
#include <vector>

#include "analysis/fit/fit_summary.hpp"
#include "analysis/predict/predict.hpp"
#include "gui/models/opened_file.hpp"
#include "tests/analysis/fit/synthetic.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::gui {

class OverviewFile {
 public:
  explicit OverviewFile(const fit::synthetic::Truth& truth, const std::vector<std::int64_t>& workers = {1, 2, 4},
                        bool predicted = true) {
    path = std::filesystem::path(folder_.path().toStdString()) / "run.db";
    store::Database database = store::Database::create(path);
    fit::synthetic::add_ddp(database, truth, workers, 1);
    database.finish_load();
    if (!predicted) return;
    fit::PredictOptions options;
    options.workers = {1, 2, 4, 8, 64};
    fit::write_fits(database, fit::fit_database(database));
    fit::write_predictions(database, fit::predict_all(database, options));
  }
  std::shared_ptr<const OpenedFile> open() const { return open_file(path); }

  // GPUs that wait for launches in a part of each phase.
  static fit::synthetic::Truth host_bound() {
    fit::synthetic::Truth truth;
    truth.nccl = truth.own_hosts = true;
    truth.noise = 0.02;
    truth.idle_share = 0.6;
    return truth;
  }

 private:
  QTemporaryDir folder_;

 public:
  std::filesystem::path path;
};

}  // namespace ddpprof::gui
