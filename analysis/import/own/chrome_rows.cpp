#include "analysis/import/own/chrome_rows.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "analysis/import/own/chrome_now.hpp"

namespace ddpprof::import {

using export_::EventTable;

namespace {

// Wraps rather than overflows: the numbers are a file's.
std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

bool remove_end(std::string& text, std::string_view end) {
  if (!text.ends_with(end)) return false;
  text.resize(text.size() - end.size());
  return true;
}

}  // namespace

ChromeRows::ChromeRows(store::Database& database, std::int64_t base_ns)
    : database_(database),
      base_ns_(base_ns),
      steps_(database),
      phases_(database),
      gradients_(database),
      collectives_(database),
      ranges_(database),
      kernels_(database),
      copies_(database),
      calls_(database) {
  SQLite::Statement shards(database.sql(), "SELECT id, clock_offset_ns, clock_drift_ppb, clock_at_ns FROM shard");
  while (shards.executeStep()) {
    store::ClockAlignment& clock = clocks_[shards.getColumn(0).getInt64()];
    clock.offset_ns = shards.getColumn(1).getInt64();
    clock.drift_ppb = shards.getColumn(2).getDouble();
    clock.at_ns = shards.getColumn(3).getInt64();
  }
  SQLite::Statement strings(database.sql(), "SELECT value, id FROM string");
  while (strings.executeStep()) strings_.emplace(strings.getColumn(0).getString(), strings.getColumn(1).getInt64());
}

std::int64_t ChromeRows::string_id(const Now& now, const std::string& text) const {
  const auto found = strings_.find(text);
  if (found == strings_.end()) now.fail("the name is none of the table string's");
  return found->second;
}

const ChromeRows::Thread& ChromeRows::thread(const Now& now) const {
  const auto found = threads_.find({now.shard, now.track});
  if (found == threads_.end())
    now.fail("track " + std::to_string(now.track) + " of process " + std::to_string(now.shard) +
             " was not named before (expected an event thread_name with the argument thread)");
  return found->second;
}

std::int64_t ChromeRows::step_start_ns(const Now& now, std::int64_t step_id) const {
  const auto found = step_starts_ns_.find(step_id);
  if (found == step_starts_ns_.end()) now.fail("step_id " + std::to_string(step_id) + " is no step before this event");
  return found->second;
}

void ChromeRows::take(const ChromeEvent& event, const Place& place) {
  Now now{event, place, 0, 0, nullptr, 0, {}, {}};
  // Arrows and counters are made of rows that are events themselves.
  if (event.phase == 's' || event.phase == 't' || event.phase == 'f' || event.phase == 'C') return;
  if (!event.pid || !event.tid) now.fail("the event lacks `pid` or `tid`");
  now.shard = *event.pid;
  now.track = *event.tid;
  const auto clock = clocks_.find(now.shard);
  if (clock == clocks_.end()) now.fail("process " + std::to_string(now.shard) + " is no row of table shard");
  now.clock = &clock->second;
  if (event.phase == 'M') return metadata(now);
  if (event.phase != 'X' && event.phase != 'i' && event.phase != 'b' && event.phase != 'e')
    now.fail("`ph` is none that an export writes");
  if (!event.start_ns) now.fail("the event lacks `ts` (expected microseconds)");
  now.aligned_ns = sum(base_ns_, *event.start_ns);
  if (event.phase == 'e') return async_end(now);
  if (const ChromeEvent::Argument* own = event.find(export_::own_key)) {
    now.own = export_::Json::parse(own->json, nullptr, false);
    if (!now.own.is_object()) now.fail("argument ddpprof is no object");
  }
  if (now.has_own("name"))
    now.name = *now.own_text("name");
  else
    now.name = event.name;

  const std::int64_t track = now.track;
  if (track == export_::launch_track) return;  // the collective says it, too
  if (track == export_::gradient_track) return gradient(now);
  if (track >= export_::collective_track && track < export_::replica_track) return collective(now);
  if (track == export_::step_track && !event.find("step_id")) return step(now);
  if (track == export_::step_track || (track >= export_::replica_track && track < export_::stream_track))
    return phase(now);
  if (track >= export_::stream_track && track < export_::thread_track) return device(now);
  if (track >= export_::thread_track && track < export_::cuda_api_track) return range(now);
  if (track >= export_::cuda_api_track) return call(now);
  now.fail("track " + std::to_string(track) + " is none that an export has");
}

void ChromeRows::metadata(const Now& now) {
  if (now.event.name != "thread_name") return;
  if (const auto thread = now.whole("thread"))
    threads_[{now.shard, now.track}] = {*thread, now.whole("depth").value_or(0)};
}

void ChromeRows::step(const Now& now) {
  store::StepRow row;
  row.id = now.needed("id");
  row.shard_id = now.shard;
  row.step = now.needed("step");
  const std::optional<std::string> kind = now.own_text("kind");
  row.kind = kind ? std::string_view(*kind) : now.event.category;
  row.samples = now.needed("samples");
  row.start_ns = now.start_ns();
  row.duration_ns = difference(now.end_ns(), row.start_ns);
  row.data_wait_ns = now.needed("data_wait_ns");
  row.host_to_device_ns = now.needed("host_to_device_ns");
  row.buffers_ns = now.needed("buffers_ns");
  row.forward_ns = now.needed("forward_ns");
  row.backward_ns = now.needed("backward_ns");
  row.optimizer_ns = now.needed("optimizer_ns");
  row.copy_ns = now.needed("copy_ns");
  row.compute_ns = now.needed("compute_ns");
  row.communication_ns = now.needed("communication_ns");
  row.overlapped_ns = now.needed("overlapped_ns");
  row.exposed_ns = now.needed("exposed_ns");
  row.skew_ns = now.needed("skew_ns");
  const std::array fields = {&row.loss, &row.learning_rate, &row.local_gradient_sqr, &row.gradient_sqr};
  static_assert(std::tuple_size_v<decltype(fields)> == export_::step_numbers.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const ChromeEvent::Argument* number = now.event.find(export_::step_numbers[i]);
    if (!number) continue;
    *fields[i] = export_::real_of(export_::Json::parse(number->json, nullptr, false));
    if (!*fields[i]) now.fail("argument " + std::string(export_::step_numbers[i]) + " is no number");
  }
  if (!step_starts_ns_.emplace(*row.id, row.start_ns).second)
    now.fail("step id " + std::to_string(*row.id) + " is there already");
  steps_.insert(row);
  count(EventTable::step);
}

void ChromeRows::phase(const Now& now) {
  const std::int64_t track = now.track;
  store::PhaseRow row;
  row.step_id = now.needed("step_id");
  row.name = now.name;
  row.lane = track == export_::step_track    ? 0
             : track < export_::loader_track ? track - export_::replica_track + 1
                                             : -(track - export_::loader_track) - 1;
  const std::int64_t start_ns = now.start_ns();
  row.start_ns = difference(start_ns, step_start_ns(now, row.step_id));
  row.duration_ns = difference(now.end_ns(), start_ns);
  row.bytes = now.whole("bytes");
  phases_.insert(row);
  count(EventTable::phase);
}

void ChromeRows::gradient(const Now& now) {
  store::GradReadyRow row;
  row.step_id = now.needed("step_id");
  row.parameter = now.needed("parameter");
  row.ready_ns = difference(now.start_ns(), step_start_ns(now, row.step_id));
  gradients_.insert(row);
  count(EventTable::grad_ready);
}

void ChromeRows::collective(const Now& now) {
  store::CollectiveRow row;
  row.shard_id = now.shard;
  row.step_id = now.whole("step_id");
  const ChromeEvent::Argument* communicator = now.event.find("communicator");
  std::uint64_t hash = 0;
  const std::string_view digits = communicator ? communicator->text : "";
  if (!digits.starts_with("0x") ||
      std::from_chars(digits.data() + 2, digits.data() + digits.size(), hash, 16).ptr != digits.data() + digits.size())
    now.fail("argument communicator is no hexadecimal number");
  row.communicator = static_cast<std::int64_t>(hash);
  row.sequence = now.needed("sequence");
  row.bucket = now.needed("bucket");
  row.bytes = now.needed("bytes");
  row.transfer_ns = now.whole("transfer_ns");
  row.skew_ns = now.whole("skew_ns");
  row.datatype = now.text("datatype");
  row.algorithm = now.text("algorithm");
  row.protocol = now.text("protocol");
  row.channels = now.whole("channels");

  std::string op = now.name;
  if (now.event.phase == 'X') {
    row.start_ns = now.start_ns();
    row.end_ns = now.end_ns();
  } else if (remove_end(op, " never ended")) {
    row.start_ns = now.start_ns();
  } else if (remove_end(op, " never started")) {
    row.end_ns = now.own_whole("end_ns");
  } else {
    now.fail("the name says neither that it never ended nor that it never started");
  }
  if (row.bucket >= 0 && !remove_end(op, " bucket " + std::to_string(row.bucket)))
    now.fail("the name does not end with the argument bucket");
  row.op = op;
  row.launch_ns = row.start_ns ? difference(*row.start_ns, now.needed("launch_to_start_ns")) : now.start_ns();
  if (const auto ready = now.whole("ready_to_launch_ns")) row.ready_ns = difference(row.launch_ns, *ready);
  insert(row);
}

void ChromeRows::device(const Now& now) {
  const std::int64_t start_ns = now.start_ns(), end_ns = now.end_ns();
  const std::int64_t device = now.needed("device"), stream = now.needed("stream");
  const std::int64_t correlation = now.needed("correlation");
  if (now.event.category == "memcpy") {
    copies_.insert({now.shard, now.name, device, stream, correlation, start_ns, end_ns, now.needed("bytes")});
    return count(EventTable::memcpy);
  }
  if (now.event.category != "kernel") now.fail("`cat` is neither kernel nor memcpy");
  kernels_.insert({now.shard, string_id(now, now.name), device, stream, correlation, start_ns, end_ns,
                   now.needed("grid"), now.needed("block"), now.needed("registers per thread"),
                   now.needed("shared memory")});
  count(EventTable::kernel);
}

void ChromeRows::call(const Now& now) {
  store::ApiCallRow row;
  row.shard_id = now.shard;
  row.cbid = now.needed("cbid");
  row.tid = thread(now).tid;
  row.correlation = now.needed("correlation");
  row.start_ns = now.start_ns();
  row.end_ns = now.end_ns();
  std::string domain = now.name;
  if (const auto said = now.own_text("domain")) {
    domain = *said;
    row.name_id = string_id(now, now.name);
  } else if (now.event.category == "cuda_api") {
    if (!remove_end(domain, " call " + std::to_string(row.cbid))) now.fail("the name does not end with argument cbid");
  } else if (now.event.category.starts_with("cuda_")) {
    domain = now.event.category.substr(5);
    row.name_id = string_id(now, now.name);
  } else {
    now.fail("`cat` does not begin with cuda_");
  }
  row.domain = domain;
  calls_.insert(row);
  count(EventTable::api_call);
}

void ChromeRows::finish(const Place& place) {
  if (!open_.empty())
    throw OwnExportError(place.text() + "the asynchronous event " + open_.begin()->first + " has no end" + what_to_do);
}

}  // namespace ddpprof::import
