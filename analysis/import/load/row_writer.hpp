// Writes raw events into the database in a thread of its own, while files are still being read.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "analysis/import/trace/raw_events.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::import {

// Between construction and close() nobody else may use the database. Each thread that reads has a lane of its own, and
// the lanes take turns, a batch each: so the rows' order depends on the files alone, not on who was faster.
class RowWriter {
 public:
  // `first_shard`: the shard's id of source 0; source k's is k more.
  RowWriter(store::Database&, std::int64_t first_shard, std::size_t lanes);
  ~RowWriter();
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;

  // For one thread; take() waits while the writer is far behind, and throws what the writer's thread threw.
  RawSink& lane(std::size_t);
  // The lane's thread has read its last file, or failed: the others' turns go on without it.
  void end_lane(std::size_t);
  // After the last end_lane(): throws what the writer's thread threw. The database is the caller's again.
  void close();

 private:
  static constexpr std::size_t most_waiting = 4;  // batches of a lane
  struct Lane : RawSink {
    void take(RawBatch&&) override;
    RowWriter* writer = nullptr;
    std::deque<RawBatch> waiting;
    bool ended = false;
  };
  void run();

  store::Database& database_;
  std::int64_t first_shard_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Lane> lanes_;
  bool abandoned_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace ddpprof::import
