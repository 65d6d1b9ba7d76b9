// Writes raw events into the database in a thread of its own while files are being read.
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

// Only the writer may use the database between construction and close(). Each reading thread has one lane. Lanes are
// written in turns of one batch, so the order of rows depends on the files alone, not on the speed of the threads.
class RowWriter {
 public:
  // `first_shard` is the shard id of source 0; source k has first_shard + k.
  RowWriter(store::Database&, std::int64_t first_shard, std::size_t lanes);
  ~RowWriter();
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;

  // The sink for one thread. take() waits while the writer is far behind, and rethrows an exception of the writer's
  // thread.
  RawSink& lane(std::size_t);
  // Call when the lane's thread has read its last file or failed. The turns of the other lanes continue without it.
  void end_lane(std::size_t);
  // Call after the last end_lane(). Rethrows an exception of the writer's thread. Then the caller may use the database
  // again.
  void close();

 private:
  static constexpr std::size_t most_waiting = 4;  // batches per lane
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
