// Tables of step times: any text gives valid rows, which are stored unchanged, or an error message.
#include <cmath>

#include "analysis/fit/table/step_csv.hpp"
#include "analysis/import/tables/tables.hpp"
#include "analysis/import/tables/text_file.hpp"
#include "tests/fuzz/empty_database.hpp"
#include "tests/fuzz/fuzz_target.hpp"

using namespace ddpprof;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  const auto path = folder.file("steps.csv", fuzz::text_of(data, size));
  import::text_kind(path);
  fit::looks_like_csv(path);
  try {
    const std::vector<fit::StepRow> rows = fit::read_step_csv(path);
    if (rows.empty()) return 0;  // only headings: the caller reports that rows are missing
    for (const fit::StepRow& row : rows)
      fuzz::require(row.workers > 0 && row.nodes > 0 && row.batch_per_worker > 0 && row.step_s > 0 &&
                        std::isfinite(row.step_s) && row.devices() > 0,
                    "a row is in its range");
    store::Database& database = fuzz::empty_database();
    import::import_step_table(database, rows, "fuzz");
    const auto stored = database.sql().execAndGet("SELECT count(*) FROM step").getInt64();
    fuzz::require(stored >= static_cast<std::int64_t>(rows.size()), "every row is stored");
  } catch (const fit::CsvError&) {
  } catch (const import::TableError&) {
  }
  return 0;
}
