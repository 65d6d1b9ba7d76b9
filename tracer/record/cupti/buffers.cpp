#include "tracer/record/cupti/buffers.hpp"

#include <cstdlib>

namespace ddpprof::record {
namespace {
constexpr std::size_t alignment = 8;  // CUPTI's requirement
}

CuptiBuffers::~CuptiBuffers() {
  for (std::uint8_t* buffer : kept_) std::free(buffer);
  for (std::uint8_t* buffer : out_) std::free(buffer);
}

std::uint8_t* CuptiBuffers::take(bool limited) {
  const std::lock_guard lock(mutex_);
  if (limited && out_.size() >= most_out) return nullptr;
  std::uint8_t* buffer = nullptr;
  if (!kept_.empty()) {
    buffer = kept_.back();
    kept_.pop_back();
  } else {
    buffer = static_cast<std::uint8_t*>(std::aligned_alloc(alignment, bytes));
  }
  if (buffer == nullptr) return nullptr;
  out_.insert(buffer);
  return buffer;
}

bool CuptiBuffers::ours(std::uint8_t* buffer) {
  const std::lock_guard lock(mutex_);
  return out_.contains(buffer);
}

void CuptiBuffers::give_back(std::uint8_t* buffer) {
  const std::lock_guard lock(mutex_);
  if (out_.erase(buffer) == 0) return;
  if (kept_.size() < most_kept)
    kept_.push_back(buffer);
  else
    std::free(buffer);
}

}  // namespace ddpprof::record
