// What the ranks of an import make a measurement of: its row, and the rows of what their devices did.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/import/load/import.hpp"
#include "analysis/import/load/ranks.hpp"
#include "analysis/import/load/read_rank.hpp"
#include "analysis/ingest/measurement_writer.hpp"
#include "tracer/store/rows/run_rows.hpp"

namespace ddpprof::import {

struct ImportedRank {
  const ingest::LoadedShard* shard = nullptr;
  const ReadRank* file = nullptr;
};

struct DescribedMeasurement {
  store::MeasurementRow row;  // but for its number among others of its kind
  std::vector<Note> notes;    // what had to be assumed
};

// The first rank speaks for what is the same on all; `ranks` hold one at least.
DescribedMeasurement describe_measurement(std::span<const ImportedRank> ranks, const Cast&, const ImportOptions&);

// Tables device_time, kernel_summary and memory.
void write_device_rows(store::Database&, std::int64_t measurement_id, std::span<const ImportedRank> ranks);

}  // namespace ddpprof::import
