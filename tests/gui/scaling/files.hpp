// Trace databases with known parameters, opened as the window opens them.
#pragma once

#include <QTemporaryDir>
#include <memory>
#include <string>
#include <vector>

#include "gui/models/opened_file.hpp"
#include "tests/analysis/fit/synthetic.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::gui::whatif {

// Links that are slow enough for communication to dominate before N = 64.
inline fit::synthetic::Truth slow_links(bool nccl = true) {
  fit::synthetic::Truth truth;
  truth.nccl = nccl;
  truth.noise = 0.02;
  truth.own_hosts = true;
  truth.alpha_s = 300e-6;
  truth.beta_s_per_byte = 4e-9;
  return truth;
}

// Ranks on CPUs of one host: more than four of them share its cores.
inline fit::synthetic::Truth few_cores() {
  fit::synthetic::Truth truth = slow_links(false);
  truth.own_hosts = false;
  truth.cores = 4;
  return truth;
}

class TestFile {
 public:
  explicit TestFile(const fit::synthetic::Truth& truth = slow_links(), const std::vector<std::int64_t>& ddp = {1, 2, 4},
                    const std::vector<std::int64_t>& dp = {}) {
    path = folder.filePath("run one.db").toStdString();
    store::Database database = store::Database::create(path, store::Replace::yes);
    database.sql().exec("PRAGMA synchronous = OFF");
    if (!ddp.empty()) fit::synthetic::add_ddp(database, truth, ddp, 3);
    if (!dp.empty()) fit::synthetic::add_dp(database, truth, dp, 3);
  }

  // Like an import whose trace has no number of samples per step.
  void forget_samples() const {
    store::Database database = store::Database::open_write(path);
    database.sql().exec("UPDATE step SET samples = 0");
    database.sql().exec("UPDATE measurement SET batch_per_worker = 0");
  }

  std::shared_ptr<const OpenedFile> open() const { return open_file(path); }
  store::Database database() const { return store::Database::open_read(path); }

  QTemporaryDir folder;
  std::filesystem::path path;
};

}  // namespace ddpprof::gui::whatif
