// Shards: any bytes are visited, ingested as a run and imported as another job, or give an error message.
#include <array>

#include "analysis/import/recorded/recorded_process.hpp"
#include "analysis/ingest/ingest.hpp"
#include "tests/fuzz/empty_database.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/fuzz/rank_checks.hpp"
#include "tracer/store/shard/shard_reader.hpp"

using namespace ddpprof;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  const std::array paths{folder.file("shard.ddps", fuzz::text_of(data, size))};
  try {
    const store::ShardReader reader(paths[0]);
    store::ShardVisitor nothing;
    const store::ShardTally once = reader.visit(nothing), again = reader.visit(nothing);
    fuzz::require(once.records == again.records && once.lost_bytes == again.lost_bytes, "two passes find the same");
    fuzz::require(once.first_bad_offset.has_value() || (once.bad_records == 0 && once.bad_chunks == 0),
                  "what is bad has a place");
  } catch (const store::ShardError&) {
  }
  fuzz::RawCount raw;
  try {
    import::RecordedProcess process = import::read_recorded(paths[0], {.folder = folder.path()}, &raw, 0);
    fuzz::conclude(process.trace);
  } catch (const store::ShardError&) {
  }
  ingest::MeasurementInfo info;
  info.world_size = 2;
  const ingest::IngestResult result =
      ingest::ingest_measurement(fuzz::empty_database(), info, paths, ingest::RawPolicy::all);
  fuzz::require(result.measurement_id > 0, "a shard that cannot be read is a diagnostic of its measurement");
  return 0;
}
