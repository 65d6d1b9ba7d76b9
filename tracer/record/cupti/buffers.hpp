// The buffers that CUPTI fills with records: tracks which ones CUPTI has, and keeps a few free ones for reuse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_set>
#include <vector>

namespace ddpprof::record {

// CUPTI returns every buffer to the profiler that registered last, even buffers of another profiler. Those must not be
// freed here.
class CuptiBuffers {
 public:
  static constexpr std::size_t bytes = 4 * 1024 * 1024;  // CUPTI's manual advises 1 to 10 MB
  static constexpr std::size_t most_out = 64;            // CUPTI has at most 256 MiB at a time

  CuptiBuffers() = default;
  // Requires that CUPTI no longer uses any buffer. Never runs in a traced process.
  ~CuptiBuffers();
  CuptiBuffers(const CuptiBuffers&) = delete;
  CuptiBuffers& operator=(const CuptiBuffers&) = delete;

  // Returns a buffer for CUPTI. Returns nullptr without memory, or if `limited` and CUPTI has `most_out` buffers.
  std::uint8_t* take(bool limited);
  bool ours(std::uint8_t* buffer);       // true if take() returned it and it was not given back
  void give_back(std::uint8_t* buffer);  // requires ours(buffer)

 private:
  static constexpr std::size_t most_kept = 4;  // a new buffer costs a page fault for each of its 1024 pages

  std::mutex mutex_;
  std::unordered_set<std::uint8_t*> out_;
  std::vector<std::uint8_t*> kept_;
};

}  // namespace ddpprof::record
