// Writes the ranks of one job as a measurement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/import/load/import.hpp"
#include "analysis/import/load/ranks.hpp"
#include "analysis/import/load/read_rank.hpp"
#include "analysis/import/load/shared_facts.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::import {

struct JobToWrite {
  std::vector<ReadRank> files;
  RankAssignment assignment;
  std::int64_t hosts = 1;
  std::vector<Note> notes;  // about the job, and about files that are not in `files`
};

// Writes all rows of the job but the raw events, which are in the database, and removes the raw events of files without
// a rank. `number` is the job's number in `shared`, `first_shard` the id of the shard of source 0. Throws ImportError
// if options.append is set and the database has this job.
ImportedJob write_job(store::Database&, const ImportOptions&, JobToWrite&&, std::int64_t first_shard,
                      const SharedFacts& shared, std::size_t number);

}  // namespace ddpprof::import
