// PyTorch profiler's traces, plain or compressed: any bytes are read to the end, or give an error message.
#include "analysis/import/bytes/byte_source.hpp"
#include "analysis/import/json/trace_reader.hpp"
#include "analysis/import/kineto/kineto_reader.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/fuzz/rank_checks.hpp"

using namespace ddpprof;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  const auto path = folder.file("trace.json", fuzz::text_of(data, size));
  const import::SortOptions sort{.folder = folder.path()};
  import::RankTrace rank(sort);
  fuzz::RawCount sink;
  import::RawCollector raw(rank.names, &sink, 0);
  import::KinetoReader reader(rank, raw);
  try {
    const std::unique_ptr<import::ByteSource> bytes = import::open_bytes(path);
    const import::TraceTally tally =
        import::read_trace([&](std::span<char> into) { return bytes->read(std::as_writable_bytes(into)); }, reader);
    reader.finish();
    fuzz::require(tally.events >= reader.taken(), "no event is taken that was not read");
    fuzz::conclude(rank);
  } catch (const import::OpenError&) {
  }
  return 0;
}
