// Output of nccl-tests: any text gives valid times, which can be stored, or an error message.
#include <cmath>

#include "analysis/fit/nccl_tests/all_reduce_log.hpp"
#include "analysis/import/tables/tables.hpp"
#include "analysis/import/tables/text_file.hpp"
#include "tests/fuzz/empty_database.hpp"
#include "tests/fuzz/fuzz_target.hpp"

using namespace ddpprof;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  const auto path = folder.file("all_reduce.log", fuzz::text_of(data, size));
  import::text_kind(path);
  try {
    const std::vector<fit::NcclTestsRun> runs = fit::read_nccl_tests(path);
    fuzz::require(!runs.empty(), "a log that is read has runs");
    for (const fit::NcclTestsRun& run : runs) {
      fuzz::require(!run.rows.empty(), "a run has rows");
      for (const fit::NcclTestsRow& row : run.rows)
        fuzz::require(row.bytes > 0 && row.out_of_place_s > 0 && std::isfinite(row.out_of_place_s) &&
                          row.in_place_s >= 0 && std::isfinite(row.in_place_s),
                      "a row is in its range");
    }
    const fit::AllReduceLog log = fit::read_collectives(path);
    for (const fit::AllReduceRun& one : log.runs) {
      fuzz::require(one.ranks >= 2, "all-reduces are of two ranks or more");
      fit::curve_of(one);
    }
    fit::messages_of(log);
    import::import_nccl_log(fuzz::empty_database(), log, path, {});
  } catch (const fit::NcclTestsError&) {
  } catch (const import::LogError&) {
  }
  return 0;
}
