#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>
#include <tuple>

#include "analysis/timeline/draft.hpp"
#include "analysis/timeline/events.hpp"
#include "tracer/store/rows/queries.hpp"

namespace ddpprof::timeline {
namespace {

std::vector<Row> rows_of(EventChunks events) {
  std::vector<EventChunks> parts;
  parts.push_back(std::move(events));
  std::vector<Row> rows = make_rows(std::move(parts));
  for (Row& row : rows) make_levels(row);
  return rows;
}

class Reader {
 public:
  Reader(SQLite::Database& db, Draft& draft) : db_(db), rows_(db), draft_(draft), all_(draft.timeline) {}

  void ranks() {
    for (store::ShardRow& shard : store::read_shards(db_, all_.measurement)) {
      Rank rank;
      rank.shard = shard.id.value_or(0);
      rank.rank = shard.rank;
      rank.pid = shard.pid;
      rank.host = std::move(shard.host);
      rank.clock_known = shard.clock_reference != "unknown";
      if (!rank.clock_known)
        rank.clock = "clock not aligned with rank 0's";
      else if (shard.clock_uncertainty_ns && *shard.clock_uncertainty_ns > 0)
        rank.clock = fmt::format("clock ± {:.3g} µs", static_cast<double>(*shard.clock_uncertainty_ns) * 1e-3);
      rank.raw_kept = shard.raw_kept != 0;
      rank.alignment.offset_ns = shard.clock_offset_ns;
      rank.alignment.drift_ppb = shard.clock_drift_ppb;
      rank.alignment.at_ns = shard.clock_at_ns;
      all_.raw_kept = all_.raw_kept || rank.raw_kept;
      all_.ranks.push_back(std::move(rank));
    }
    draft_.tracks.resize(all_.ranks.size());
  }

  void parameters() {
    for (const store::ParameterRow& row : store::read_parameters(db_, all_.measurement)) {
      all_.parameters.push_back({row.parameter, row.bytes});
      parameter_names_[row.parameter] = all_.names.intern(row.name, Category::gradient_ready);
    }
  }

  void rank(std::uint32_t index) {
    index_ = index;
    lanes_.clear();
    EventChunks gradients;
    steps(gradients);
    if (EventChunks& own = lanes_[0]; own.size() > 0) add(TrackKind::steps, "steps", rows_of(std::move(own)));
    if (gradients.size() > 0) add(TrackKind::gradients, "gradients ready", rows_of(std::move(gradients)));
    collectives();
    units();
    for (auto& [lane, events] : lanes_)
      if (lane > 0) add(TrackKind::replica, fmt::format("replica {}", lane - 1), rows_of(std::move(events)));
    for (auto lane = lanes_.rbegin(); lane != lanes_.rend(); ++lane)
      if (lane->first < 0)
        add(TrackKind::loader, fmt::format("loader {}", -lane->first - 1), rows_of(std::move(lane->second)));
  }

  void groups() {
    // Communicator, sequence, and the rank's index if its clock is not aligned with the others; otherwise -1.
    std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::vector<std::uint32_t>> members;
    for (std::uint32_t i = 0; i < all_.collectives.size(); ++i) {
      const Collective& c = all_.collectives[i];
      members[{c.communicator, c.sequence, all_.ranks[c.rank].clock_known ? -1 : std::int64_t{c.rank}}].push_back(i);
    }
    for (auto& [key, list] : members) {
      Group group;
      group.members = std::move(list);
      const auto order = [this](std::uint32_t i) {
        const Collective& c = all_.collectives[i];
        return std::tuple(!c.start_ns, c.start_ns.value_or(c.launch_ns), all_.ranks[c.rank].rank);
      };
      std::sort(group.members.begin(), group.members.end(),
                [&](std::uint32_t a, std::uint32_t b) { return order(a) < order(b); });
      group.first_ns = std::numeric_limits<std::int64_t>::max();
      group.last_ns = std::numeric_limits<std::int64_t>::min();
      for (const std::uint32_t i : group.members) {
        const Collective& c = all_.collectives[i];
        const std::int64_t start_ns = c.start_ns.value_or(c.launch_ns);
        group.first_ns = std::min(group.first_ns, start_ns);
        group.last_ns = std::max(group.last_ns, c.end_ns.value_or(start_ns));
      }
      all_.longest_group_ns = std::max(all_.longest_group_ns, group.last_ns - group.first_ns);
      all_.groups.push_back(std::move(group));
    }
    std::stable_sort(all_.groups.begin(), all_.groups.end(),
                     [](const Group& a, const Group& b) { return a.first_ns < b.first_ns; });
    for (std::uint32_t g = 0; g < all_.groups.size(); ++g)
      for (const std::uint32_t i : all_.groups[g].members) all_.collectives[i].group = g;
  }

 private:
  const Rank& here() const { return all_.ranks[index_]; }
  std::int64_t aligned(std::int64_t local_ns) const { return store::to_reference_ns(here().alignment, local_ns); }
  void add(TrackKind kind, std::string name, std::vector<Row> rows) {
    draft_.tracks[index_].push_back({kind, std::move(name), std::move(rows)});
  }

  void steps(EventChunks& gradients) {
    for (store::StepRow& row : rows_.steps(here().shard)) {
      const std::int64_t id = row.id.value_or(0), start = row.start_ns;
      Step step;
      step.rank = index_;
      step.step = row.step;
      step.kind = std::move(row.kind);
      step.start_ns = aligned(start);
      step.duration_ns = aligned(start + row.duration_ns) - step.start_ns;
      step.samples = row.samples;
      step.compute_ns = row.compute_ns;
      step.communication_ns = row.communication_ns;
      step.overlapped_ns = row.overlapped_ns;
      step.exposed_ns = row.exposed_ns;
      step.skew_ns = row.skew_ns;
      step.loss = row.loss;
      step.learning_rate = row.learning_rate;
      lanes_[0].add({step.start_ns, step.duration_ns,
                     all_.names.intern(fmt::format("step {}", step.step), Category::step),
                     static_cast<std::uint32_t>(all_.steps.size())});
      all_.steps.push_back(std::move(step));
      for (const store::PhaseRow& part : rows_.phases(id)) phase(part, start);
      for (const store::GradReadyRow& gradient : rows_.gradients(id)) {
        const std::int64_t parameter = gradient.parameter;
        const auto known = parameter_names_.find(parameter);
        const std::uint32_t name =
            known != parameter_names_.end()
                ? known->second
                : all_.names.intern(fmt::format("parameter {}", parameter), Category::gradient_ready);
        gradients.add(
            {aligned(start + gradient.ready_ns), 0, name,
             parameter >= 0 && parameter < no_argument ? static_cast<std::uint32_t>(parameter) : no_argument});
      }
    }
  }

  void phase(const store::PhaseRow& row, std::int64_t step_start) {
    const std::int64_t from = step_start + row.start_ns;
    Event event;
    event.start_ns = aligned(from);
    event.duration_ns = std::max<std::int64_t>(0, aligned(from + row.duration_ns) - event.start_ns);
    event.name = all_.names.intern(row.name, category_of_phase(row.name));
    if (row.bytes) {
      event.argument = static_cast<std::uint32_t>(all_.bytes.size());
      all_.bytes.push_back(*row.bytes);
    }
    lanes_[row.lane].add(event);
  }

  void collectives() {
    EventChunks launches, slices;
    const auto aligned_if = [this](std::optional<std::int64_t> at_ns) {
      return at_ns ? std::optional(aligned(*at_ns)) : std::nullopt;
    };
    for (const store::CollectiveRow& row : rows_.collectives_of_shard(here().shard)) {
      Collective c;
      c.rank = index_;
      c.bucket = row.bucket;
      c.bytes = row.bytes;
      c.communicator = row.communicator;
      c.sequence = row.sequence;
      c.launch_ns = aligned(row.launch_ns);
      c.start_ns = aligned_if(row.start_ns);
      c.end_ns = aligned_if(row.end_ns);
      c.ready_ns = aligned_if(row.ready_ns);
      c.transfer_ns = row.transfer_ns;
      c.skew_ns = row.skew_ns;
      const std::string name = row.op + (c.bucket >= 0 ? fmt::format(" bucket {}", c.bucket) : std::string());
      const auto argument = static_cast<std::uint32_t>(all_.collectives.size());
      launches.add({c.launch_ns, 0, all_.names.intern("launch " + name, Category::launch), argument});
      if (c.finished())
        slices.add({*c.start_ns, std::max<std::int64_t>(0, *c.end_ns - *c.start_ns),
                    all_.names.intern(name, Category::collective), argument});
      else
        slices.add({c.start_ns.value_or(c.launch_ns), 0,
                    all_.names.intern(name + (c.start_ns ? " never ended" : " never started"), Category::unfinished),
                    argument});
      all_.collectives.push_back(std::move(c));
    }
    if (launches.size() > 0) add(TrackKind::launches, "collectives launched", rows_of(std::move(launches)));
    if (slices.size() > 0) add(TrackKind::collectives, "collectives", rows_of(std::move(slices)));
  }

  // A track for each unit of a sharded training (FSDP). Its collectives lie below its compute and copies.
  void units() {
    SQLite::Statement query(db_,
                            "SELECT w.unit, u.name, u.root, w.action, w.pass, st.start_ns + w.start_ns, st.start_ns + "
                            "w.end_ns FROM sharded_work w JOIN step st ON st.id = w.step_id JOIN sharded_unit u ON "
                            "u.measurement_id = ? AND u.unit = w.unit WHERE st.shard_id = ? ORDER BY w.unit");
    query.bind(1, all_.measurement);
    query.bind(2, here().shard);
    struct Unit {
      std::string name;
      EventChunks work, collectives;
    };
    std::map<std::int64_t, Unit> units;
    while (query.executeStep()) {
      Unit& unit = units[query.getColumn(0).getInt64()];
      if (unit.name.empty()) unit.name = query.getColumn(2).getInt() != 0 ? "root" : query.getColumn(1).getString();
      std::string action = query.getColumn(3).getString();
      const bool compute = action == "compute", copy = action == "copy";
      std::replace(action.begin(), action.end(), '_', '-');
      const std::string name = (compute ? query.getColumn(4).getString() : copy ? "copies" : action) + " " + unit.name;
      Event event;
      event.start_ns = aligned(query.getColumn(5).getInt64());
      event.duration_ns = std::max<std::int64_t>(0, aligned(query.getColumn(6).getInt64()) - event.start_ns);
      event.name = all_.names.intern(name, compute ? Category::compute : copy ? Category::copy : Category::collective);
      (compute || copy ? unit.work : unit.collectives).add(event);
    }
    for (auto& [number, unit] : units) {
      std::vector<Row> rows;
      for (EventChunks* events : {&unit.work, &unit.collectives})
        if (events->size() > 0)
          for (Row& row : rows_of(std::move(*events))) rows.push_back(std::move(row));
      add(TrackKind::unit, "unit " + unit.name, std::move(rows));
    }
  }

  SQLite::Database& db_;
  store::StepReader rows_;
  Draft& draft_;
  Timeline& all_;
  std::uint32_t index_ = 0;
  std::map<std::int64_t, EventChunks> lanes_;
  std::map<std::int64_t, std::uint32_t> parameter_names_;
};

}  // namespace

Draft read_summaries(SQLite::Database& db, std::int64_t measurement) {
  Draft draft;
  draft.timeline.measurement = measurement;
  SQLite::Statement row(db, "SELECT kind, strategy, world_size, repeat, device FROM measurement WHERE id = ?");
  row.bind(1, measurement);
  if (!row.executeStep())
    throw std::invalid_argument(
        fmt::format("measurement {} is not in the file; choose one of the file's measurements", measurement));
  const std::string kind = row.getColumn(0).getString();
  draft.timeline.title =
      fmt::format("{} N={}", kind == "bench-comm" ? kind : row.getColumn(1).getString(), row.getColumn(2).getInt64());
  const bool host_timed = row.getColumn(4).getString() == "cpu";
  Reader reader(db, draft);
  reader.ranks();
  reader.parameters();
  for (std::uint32_t i = 0; i < draft.timeline.ranks.size(); ++i) {
    reader.rank(i);
    if (host_timed) draft.timeline.ranks[i].time = read_rank_time(db, draft.timeline.ranks[i]);
  }
  reader.groups();
  return draft;
}

Timeline assembled(Draft draft) {
  Timeline all = std::move(draft.timeline);
  all.begin_ns = std::numeric_limits<std::int64_t>::max();
  all.end_ns = std::numeric_limits<std::int64_t>::min();
  for (std::uint32_t r = 0; r < draft.tracks.size(); ++r) {
    all.ranks[r].first_track = static_cast<std::uint32_t>(all.tracks.size());
    for (TrackDraft& from : draft.tracks[r]) {
      Track track{from.kind, r, std::move(from.name), static_cast<std::uint32_t>(all.rows.size()),
                  static_cast<std::uint32_t>(from.rows.size())};
      for (Row& row : from.rows) {
        const auto number = static_cast<std::uint32_t>(all.rows.size());
        row.track = static_cast<std::uint32_t>(all.tracks.size());
        if (row.size() > 0) {
          all.begin_ns = std::min(all.begin_ns, row.start_ns.front());
          all.end_ns = std::max(all.end_ns, row.end_ns(row.size() - 1));
        }
        if (track.kind == TrackKind::collectives)
          for (std::uint32_t i = 0; i < row.size(); ++i) {
            all.collectives[row.argument[i]].row = number;
            all.collectives[row.argument[i]].event = i;
          }
        all.rows.push_back(std::move(row));
      }
      all.tracks.push_back(std::move(track));
    }
    all.ranks[r].tracks = static_cast<std::uint32_t>(all.tracks.size()) - all.ranks[r].first_track;
  }
  if (all.begin_ns > all.end_ns) all.begin_ns = all.end_ns = 0;
  return all;
}

}  // namespace ddpprof::timeline
