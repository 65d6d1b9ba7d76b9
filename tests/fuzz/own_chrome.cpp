// Chrome traces, as ddpprof exports them and somebody may have edited them: restored as they are, or refused in words;
// and what was restored exports to a trace that restores alike.
#include "analysis/export/export.hpp"
#include "analysis/import/bytes/byte_source.hpp"
#include "tests/fuzz/empty_database.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/fuzz/own_checks.hpp"

using namespace ddpprof;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  const auto path = folder.file("trace.json", fuzz::text_of(data, size));
  import::own_export_kind(path);
  try {
    store::Database& database = fuzz::empty_database();
    fuzz::check_restored(database, import::restore_chrome(database, path));
    // A trace is exported by time: events that were edited to stand in another order come back in order.
    const std::string rows = fuzz::all_rows(database, fuzz::RowOrder::by_value);
    const std::filesystem::path exported = folder.path() / "exported.json";
    export_::export_chrome(database, exported);
    store::Database& again = fuzz::empty_database();
    try {
      import::restore_chrome(again, exported);
    } catch (const import::OwnExportError& error) {
      fuzz::require(false, std::string("what was exported is restored: ") + error.what());
    }
    fuzz::require(fuzz::all_rows(again, fuzz::RowOrder::by_value) == rows,
                  "what was restored and exported restores alike");
  } catch (const import::OwnExportError& error) {
    fuzz::require(std::string_view(error.what()).find("trace.json") != std::string_view::npos,
                  "a refusal names the file");
  } catch (const import::OpenError&) {
  }
  return 0;
}
