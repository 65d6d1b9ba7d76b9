#include "analysis/timeline/details.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>

#include "analysis/timeline/flows.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::timeline {
namespace {

double seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

void add_step(std::vector<Detail>& out, const Step& step) {
  out.push_back({"kind", step.kind, ""});
  out.push_back({"samples", step.samples, ""});
  out.push_back({"compute", seconds(step.compute_ns), "s"});
  out.push_back({"communication", seconds(step.communication_ns), "s"});
  out.push_back({"overlapped", seconds(step.overlapped_ns), "s"});
  out.push_back({"exposed", seconds(step.exposed_ns), "s"});
  out.push_back({"skew", seconds(step.skew_ns), "s"});
  if (step.loss) out.push_back({"loss", *step.loss, ""});
  if (step.learning_rate) out.push_back({"learning rate", *step.learning_rate, ""});
}

void add_collective(std::vector<Detail>& out, const Timeline& timeline, const Collective& c) {
  out.push_back({"size", c.bytes, "bytes"});
  if (c.bucket >= 0) out.push_back({"bucket", c.bucket, ""});
  out.push_back({"sequence", c.sequence, ""});
  out.push_back({"communicator", fmt::format("{:#018x}", static_cast<std::uint64_t>(c.communicator)), ""});
  if (c.ready_ns) out.push_back({"ready to launch", seconds(c.launch_ns - *c.ready_ns), "s"});
  if (c.start_ns) out.push_back({"launch to start", seconds(*c.start_ns - c.launch_ns), "s"});
  if (c.transfer_ns) out.push_back({"transfer", seconds(*c.transfer_ns), "s"});
  if (c.skew_ns) out.push_back({"waited for slower ranks", seconds(*c.skew_ns), "s"});
  if (!timeline.ranks[c.rank].clock_known) return out.push_back({"other ranks", timeline.ranks[c.rank].clock, ""});
  const Group& group = timeline.groups[c.group];
  const FlowFacts facts = flow_facts(timeline, group);
  out.push_back({"ranks", static_cast<std::int64_t>(group.members.size()), ""});
  out.push_back({"starts apart", seconds(facts.skew_ns), "s"});
  if (facts.slowest)
    out.push_back(
        {"last to start", fmt::format("rank {}", timeline.ranks[timeline.collectives[*facts.slowest].rank].rank), ""});
  if (facts.unfinished > 0) out.push_back({"ranks that never ended it", facts.unfinished, ""});
}

const Parameter* parameter_of(const Timeline& timeline, std::uint32_t number) {
  const auto found = std::lower_bound(timeline.parameters.begin(), timeline.parameters.end(), std::int64_t{number},
                                      [](const Parameter& p, std::int64_t wanted) { return p.number < wanted; });
  return found != timeline.parameters.end() && found->number == number ? &*found : nullptr;
}

// Appends a row of a raw table as details. The query's column names are the details' names.
void add_row(std::vector<Detail>& out, SQLite::Database& db, const std::string& query, std::uint32_t id) {
  SQLite::Statement row(db, query);
  row.bind(1, static_cast<std::int64_t>(id));
  if (!row.executeStep()) return;
  for (int i = 0; i < row.getColumnCount(); ++i) {
    const SQLite::Column value = row.getColumn(i);
    if (value.isNull()) continue;
    const std::string name = value.getName();
    if (value.isInteger())
      out.push_back({name, value.getInt64(), name == "size" || name == "shared memory" ? "bytes" : ""});
    else if (value.isFloat())
      out.push_back({name, value.getDouble(), ""});
    else
      out.push_back({name, value.getString(), ""});
  }
}

}  // namespace

std::optional<std::int64_t> bytes_of(const Timeline& timeline, EventRef ref) {
  const Row& row = timeline.rows[ref.row];
  const std::uint32_t argument = row.argument[ref.event];
  if (argument == no_argument) return std::nullopt;
  switch (timeline.tracks[row.track].kind) {
    case TrackKind::steps:
      if (timeline.names.category(row.name[ref.event]) == Category::step) return std::nullopt;
      return timeline.bytes[argument];
    case TrackKind::replica:
    case TrackKind::loader:
      return timeline.bytes[argument];
    case TrackKind::launches:
    case TrackKind::collectives:
      return timeline.collectives[argument].bytes;
    case TrackKind::gradients:
      if (const Parameter* parameter = parameter_of(timeline, argument)) return parameter->bytes;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

std::vector<Detail> details(const Timeline& timeline, EventRef ref) {
  const Row& row = timeline.rows[ref.row];
  const Track& track = timeline.tracks[row.track];
  const Event event = row.at(ref.event);
  const Category category = timeline.names.category(event.name);
  std::vector<Detail> out = {{"name", timeline.names.text(event.name), ""},
                             {"what", std::string(to_string(category)), ""},
                             {"where", timeline.ranks[track.rank].title() + " · " + track.name, ""},
                             {"start", seconds(event.start_ns - timeline.begin_ns), "s"}};
  if (event.duration_ns > 0) out.push_back({"duration", seconds(event.duration_ns), "s"});
  if (track.kind == TrackKind::collectives || track.kind == TrackKind::launches)
    add_collective(out, timeline, timeline.collectives[event.argument]);
  else if (track.kind == TrackKind::steps && category == Category::step)
    add_step(out, timeline.steps[event.argument]);
  else if (const auto bytes = bytes_of(timeline, ref))
    out.push_back({"size", *bytes, "bytes"});
  return out;
}

std::vector<Detail> raw_details(const std::filesystem::path& path, const Timeline& timeline, EventRef ref) {
  const Row& row = timeline.rows[ref.row];
  const std::uint32_t id = row.argument[ref.event];
  std::vector<Detail> out;
  if (!is_raw(timeline.tracks[row.track].kind) || id == no_argument) return out;
  store::Database database = store::Database::open_read(path);
  try {
    switch (timeline.names.category(row.name[ref.event])) {
      case Category::kernel:
      case Category::communication_kernel:
        add_row(out, database.sql(),
                "SELECT grid AS 'blocks', block AS 'threads of a block', registers_per_thread AS 'registers', "
                "shared_bytes AS 'shared memory', correlation FROM kernel WHERE rowid = ?",
                id);
        break;
      case Category::memory_copy:
        add_row(out, database.sql(), "SELECT bytes AS 'size', correlation FROM memcpy WHERE rowid = ?", id);
        break;
      case Category::cuda_call:
        add_row(out, database.sql(), "SELECT domain AS 'interface', correlation FROM api_call WHERE rowid = ?", id);
        break;
      default:
        add_row(out, database.sql(),
                "SELECT (SELECT value FROM string WHERE id = domain_id) AS 'domain', "
                "CASE WHEN depth >= 0 THEN depth END AS 'depth', payload FROM range WHERE rowid = ?",
                id);
    }
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, path);
  }
  return out;
}

}  // namespace ddpprof::timeline
