// Ranges of the host: the one kind of event whose arguments are a program's own.
#include "analysis/export/json_depth.hpp"
#include "analysis/import/own/chrome_now.hpp"

namespace ddpprof::import {
namespace {

// The arguments are the payload, but for our own among them.
export_::Payload payload_of(std::string_view arguments) {
  if (arguments.empty()) return {};
  export_::Json shown = export_::Json::parse(arguments, nullptr, false);
  if (shown.is_object()) shown.erase(export_::own_key);
  return export_::implied_payload(shown);
}

}  // namespace

void ChromeRows::insert(const store::RangeRow& row, const std::string& payload_text) {
  store::RangeRow bound = row;
  if (std::holds_alternative<std::string_view>(row.payload)) bound.payload = std::string_view(payload_text);
  ranges_.insert(bound);
  count(export_::EventTable::range);
}

void ChromeRows::insert(const store::CollectiveRow& row) {
  collectives_.insert(row);
  count(export_::EventTable::collective);
}

void ChromeRows::range(const Now& now) {
  const Thread& thread = this->thread(now);
  store::RangeRow row;
  row.shard_id = now.shard;
  row.tid = thread.tid;
  row.depth = now.own_whole("depth").value_or(thread.depth);
  row.start_ns = now.start_ns();
  std::optional<std::string> domain = export_::domain_of(now.event.category);
  if (now.has_own("domain")) domain = now.own_text("domain");
  if (domain) row.domain_id = string_id(now, *domain);

  std::string text;
  // An export nests no deeper, with the argument around the payload.
  if (export_::nests_deeper(now.event.arguments_json, export_::max_json_depth + 1))
    now.fail("the arguments nest deeper than an export's");
  const export_::Payload payload = now.has_own("payload") ? export_::Payload(now.own_text("payload").value_or(""))
                                                          : payload_of(now.event.arguments_json);
  if (const auto* whole = std::get_if<std::int64_t>(&payload)) row.payload = *whole;
  if (const auto* real = std::get_if<double>(&payload)) row.payload = *real;
  if (const auto* said = std::get_if<std::string>(&payload)) {
    text = *said;
    row.payload = std::string_view();
  }

  std::string name = now.name;
  const auto kind = now.own_whole("kind");
  if (now.event.phase == 'i' && kind) {
    constexpr std::string_view end = " never ended";
    if (!name.ends_with(end)) now.fail("the name does not say that the range never ended");
    name.resize(name.size() - end.size());
    row.kind = static_cast<store::RangeKind>(*kind);
  } else if (now.event.phase == 'i') {
    row.kind = store::RangeKind::mark;
    row.end_ns = now.has_own("end_ns") ? now.own_whole("end_ns") : std::optional(row.start_ns);
  } else if (now.event.phase == 'b') {
    row.kind = store::RangeKind::start_end;
    row.name_id = string_id(now, name);
    if (!open_.emplace(std::string(now.event.id), Open{row, std::move(text), now.own_whole("end_ns")}).second)
      now.fail("an asynchronous event of this id is open already");
    return;
  } else {
    row.kind = static_cast<store::RangeKind>(kind.value_or(0));
    row.end_ns = now.end_ns();
  }
  row.name_id = string_id(now, name);
  insert(row, text);
}

void ChromeRows::async_end(const Now& now) {
  const auto begun = open_.find(now.event.id);
  if (begun == open_.end()) now.fail("the end of an asynchronous event that has no begin");
  Open& open = begun->second;
  open.row.end_ns = open.end_ns ? *open.end_ns : export_::local_guess_ns(*now.clock, now.aligned_ns);
  insert(open.row, open.payload_text);
  open_.erase(begun);
}

}  // namespace ddpprof::import
