// Describes an import as a measurement: its row, and the rows of device work.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/import/load/hosts.hpp"
#include "analysis/import/load/import.hpp"
#include "analysis/import/load/ranks.hpp"
#include "analysis/import/load/read_rank.hpp"
#include "analysis/import/load/shared_facts.hpp"
#include "analysis/ingest/measurement_writer.hpp"
#include "tracer/store/rows/run_rows.hpp"

namespace ddpprof::import {

struct ImportedRank {
  const ingest::LoadedShard* shard = nullptr;
  const ReadRank* file = nullptr;
};

struct DescribedMeasurement {
  store::MeasurementRow row;  // without its repeat number among measurements of the same kind
  std::vector<Note> notes;    // assumptions that had to be made
};

// Returns what the file has about its rank's host.
HostIdentity host_of(const ReadRank&);

// Returns the row of the measurement of job number `job` of the import. Values that are equal on all ranks are taken
// from the first rank. `ranks` must not be empty.
DescribedMeasurement describe_measurement(std::span<const ImportedRank> ranks, const RankAssignment&,
                                          std::int64_t hosts, const SharedFacts&, std::size_t job);

// Writes the tables device_time, kernel_summary, memory, process_group, sharded_unit and sharded_work. The steps must
// have been written.
void write_device_rows(store::Database&, std::int64_t measurement_id, std::span<const ImportedRank> ranks);

}  // namespace ddpprof::import
