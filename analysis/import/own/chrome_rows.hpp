// From the events of a Chrome export of ours to the rows they were made of.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analysis/export/chrome_format.hpp"
#include "analysis/import/own/chrome_event.hpp"
#include "analysis/import/own/error.hpp"
#include "tracer/store/rows/inserter.hpp"

namespace ddpprof::import {

class ChromeRows {
 public:
  // `base_ns`: what times are counted from. The tables of shards and texts must be loaded.
  ChromeRows(store::Database&, std::int64_t base_ns);

  // Throws OwnExportError where the event is none of ours, store::DatabaseError.
  void take(const ChromeEvent&, const Place&);
  // Nothing is left half told.
  void finish(const Place&);

  const std::array<std::int64_t, export_::event_tables.size()>& rows() const { return rows_; }

 private:
  struct Now;  // the event in work
  struct Thread {
    std::int64_t tid = 0, depth = 0;
  };

  void metadata(const Now&);
  void step(const Now&);
  void phase(const Now&);
  void gradient(const Now&);
  void collective(const Now&);
  void device(const Now&);
  void range(const Now&);
  void async_end(const Now&);
  void call(const Now&);
  void insert(const store::CollectiveRow&);
  void insert(const store::RangeRow&, const std::string& payload_text);

  std::int64_t string_id(const Now&, const std::string& text) const;
  const Thread& thread(const Now&) const;
  std::int64_t step_start_ns(const Now&, std::int64_t step_id) const;
  void count(export_::EventTable table) { ++rows_[static_cast<std::size_t>(table)]; }

  store::Database& database_;
  std::int64_t base_ns_;
  std::map<std::int64_t, store::ClockAlignment> clocks_;  // by shard
  std::unordered_map<std::string, std::int64_t> strings_;
  std::map<std::pair<std::int64_t, std::int64_t>, Thread> threads_;  // by shard and track
  std::unordered_map<std::int64_t, std::int64_t> step_starts_ns_;
  struct Open {  // an asynchronous event's begin
    store::RangeRow row;
    std::string payload_text;
    std::optional<std::int64_t> end_ns;
  };
  std::map<std::string, Open, std::less<>> open_;  // by id
  std::array<std::int64_t, export_::event_tables.size()> rows_{};

  store::Inserter<store::StepRow> steps_;
  store::Inserter<store::PhaseRow> phases_;
  store::Inserter<store::GradReadyRow> gradients_;
  store::Inserter<store::CollectiveRow> collectives_;
  store::Inserter<store::RangeRow> ranges_;
  store::Inserter<store::KernelRow> kernels_;
  store::Inserter<store::MemcpyRow> copies_;
  store::Inserter<store::ApiCallRow> calls_;
};

}  // namespace ddpprof::import
