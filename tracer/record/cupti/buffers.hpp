// The memory that CUPTI fills with records: which buffers are ours, how many are out, a few kept for the next time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_set>
#include <vector>

namespace ddpprof::record {

// CUPTI hands a buffer to whoever registered last, whoever made it: another profiler's must not be freed here.
class CuptiBuffers {
 public:
  static constexpr std::size_t bytes = 4 * 1024 * 1024;  // CUPTI's manual advises 1 to 10 MB
  static constexpr std::size_t most_out = 64;            // 256 MiB that CUPTI may hold at a time

  CuptiBuffers() = default;
  // Nobody may use any of them by then; a traced process never comes to it.
  ~CuptiBuffers();
  CuptiBuffers(const CuptiBuffers&) = delete;
  CuptiBuffers& operator=(const CuptiBuffers&) = delete;

  // One to fill; nullptr when there is no memory, or `most_out` are out and `limited`.
  std::uint8_t* take(bool limited);
  bool ours(std::uint8_t* buffer);                     // it is out, and was taken here
  void give_back(std::uint8_t* buffer);                // one of ours
  std::size_t most() const noexcept { return most_; }  // that were out at a time

 private:
  static constexpr std::size_t most_kept = 4;  // a fresh one costs a page fault for each of its 1024 pages

  std::mutex mutex_;
  std::unordered_set<std::uint8_t*> out_;
  std::vector<std::uint8_t*> kept_;
  std::size_t most_ = 0;
};

}  // namespace ddpprof::record
