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
  // Later versions of CUPTI request a buffer for each thread that calls CUDA (attribute PER_THREAD_ACTIVITY_BUFFER).
  // CUPTI fills a new buffer with zeros on the thread that needs it. A small buffer limits the memory of a process with
  // many threads, and the delay of the call that needs a new buffer. CUPTI's manual advises 1 to 10 MB. CUPTI's
  // attribute ZEROED_OUT_ACTIVITY_BUFFER would avoid the delay, but it would also apply to the buffers of another
  // profiler in the process, which are not zero.
  static constexpr std::size_t bytes = std::size_t{1} << 20;
  static constexpr std::size_t most_out_bytes = std::size_t{256} << 20;  // CUPTI has at most this much at a time
  static constexpr std::size_t most_out = most_out_bytes / bytes;

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
  static constexpr std::size_t most_kept = 16;  // a new buffer costs a page fault for each of its 256 pages

  std::mutex mutex_;
  std::unordered_set<std::uint8_t*> out_;
  std::vector<std::uint8_t*> kept_;
};

}  // namespace ddpprof::record
