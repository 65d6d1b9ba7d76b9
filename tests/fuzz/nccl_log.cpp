// Output of nccl-tests: any text gives valid times, which can be stored, or an error message.
#include <cmath>

#include "analysis/fit/table/nccl_tests.hpp"
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
    const fit::NcclTestsLog log = fit::read_nccl_tests(path);
    fuzz::require(!log.rows.empty(), "a log that is given has rows");
    for (const fit::NcclTestsRow& row : log.rows)
      fuzz::require(row.bytes > 0 && row.out_of_place_s > 0 && std::isfinite(row.out_of_place_s) &&
                        row.in_place_s >= 0 && std::isfinite(row.in_place_s),
                    "a row is in its range");
    const std::int64_t ranks = import::import_nccl_log(fuzz::empty_database(), log, path, {});
    fuzz::require(ranks >= 2, "all-reduces are of two ranks or more");
  } catch (const fit::NcclTestsError&) {
  } catch (const import::LogError&) {
  }
  return 0;
}
