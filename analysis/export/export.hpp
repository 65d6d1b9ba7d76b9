// Exports a trace database for other tools: as Chrome/Perfetto JSON, as one CSV file per table, or as SQLite files in
// the format of Nsight Systems; or as a database without the user's names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ddpprof::store {
class Database;
}

namespace ddpprof::export_ {

// Thrown if the output cannot be written. The message names the file and the system's reason. No incomplete file is
// left under the final name.
class ExportError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct ChromeSummary {
  std::int64_t events = 0;      // without metadata, counters and flow arrows
  std::int64_t unfinished = 0;  // ranges and collectives that never ended: written as instants marked so
};

// Exports all measurements as Chrome/Perfetto JSON. Each rank is a process (pid = shard.id) with a name such as
// "ddp N=4 rank 2"; docs/reference/export.md lists the tracks. Times are microseconds with three decimals, exact to the
// ns, on rank 0's clock, relative to the first event (baseTimeNanoseconds has that event's time). Every row of the
// database is in the file. Memory grows with the steps of one rank, not with its raw events. Throws ExportError,
// store::DatabaseError.
ChromeSummary export_chrome(store::Database&, const std::filesystem::path& file);

// Writes one CSV file (RFC 4180) per table of the schema, with rows in the order in which they were written and the
// column's unit in its heading. NULL is an empty field, an empty text is "". Returns the number of rows. Throws as above.
std::int64_t export_csv(store::Database&, const std::filesystem::path& folder);

struct NsysPart {
  std::int64_t measurement = 0;
  std::string file;  // "ddp-n4-r0.sqlite", as used for a database of several measurements
};
std::vector<NsysPart> nsys_parts(store::Database&);  // in the order of the measurements

struct NsysSummary {
  std::int64_t files = 0, events = 0, kernels = 0;
};

// A stored scenario without names of the user, as an anonymous database has it.
struct AnonymousScenario {
  std::int64_t id = 0;  // of the row
  std::string name;
  std::string yaml;
  std::vector<std::pair<std::string, std::string>> replaced;  // original, replacement
};

// Copies the database to a new file in which names are replaced, each by one other name: of hosts, processes, threads,
// models, parameters, modules, groups, ranges and kernels. Names that each job has (of PyTorch, NCCL, CUDA and ddpprof)
// stay; so do numbers, times and versions. In texts for people also paths, files, addresses and quoted words are
// replaced. `scenarios`: one for each row of the table scenario. Returns the number of rows. Throws as above.
std::int64_t export_anonymous(store::Database&, const std::vector<AnonymousScenario>& scenarios,
                              const std::filesystem::path& file);

// Exports in the format of Nsight Systems' SQLite exports, one file per measurement: `out` itself if the database has one
// measurement, otherwise files in the folder `out`, named as by nsys_parts(). Times are ns on rank 0's clock, relative to
// the measurement's first event. Further columns and tables hold data that Nsight Systems' tables cannot hold; see
// docs/reference/export-nsys.md. Apart from names and threads, memory does not grow with the trace. The same database
// gives the same bytes. Throws ExportError, store::DatabaseError.
NsysSummary export_nsys(store::Database&, const std::filesystem::path& out);

}  // namespace ddpprof::export_
