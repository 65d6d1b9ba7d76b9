#include "analysis/import/bytes/read_ahead.hpp"

#include <algorithm>
#include <cstring>

namespace ddpprof::import {

ReadAhead::ReadAhead(std::unique_ptr<ByteSource> source) : ReadAhead(std::move(source), Options{}) {}

ReadAhead::ReadAhead(std::unique_ptr<ByteSource> source, Options options)
    : source_(std::move(source)), options_(options), blocks_(options.blocks) {
  if (options_.blocks < 2 || options_.block_bytes == 0)
    throw std::invalid_argument("ReadAhead: at least 2 blocks of at least 1 byte are needed, not " +
                                std::to_string(options_.blocks) + " of " + std::to_string(options_.block_bytes));
  for (Block& block : blocks_) {
    block.memory =
        std::make_unique_for_overwrite<std::byte[]>(options_.rest_bytes + options_.block_bytes + padding_bytes);
    free_.push_back(&block);
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { fill_blocks(stop); });
}

ReadAhead::~ReadAhead() = default;

void ReadAhead::fill_blocks(const std::stop_token& stop) {
  for (bool more = true; more;) {
    Block* block = nullptr;
    {
      Lock lock(mutex_);
      if (!free_came_.wait(lock, stop, [this] { return !free_.empty(); })) return;
      block = free_.front();
      free_.pop_front();
    }
    block->bytes = 0;
    std::exception_ptr exception;
    try {
      while (more && block->bytes < options_.block_bytes && !stop.stop_requested()) {
        const std::size_t got = source_->read({begin_of(*block) + block->bytes, options_.block_bytes - block->bytes});
        block->bytes += got;
        more = got > 0;
      }
      block->consumed = source_->consumed();
    } catch (...) {
      exception = std::current_exception();
      more = false;
    }
    if (stop.stop_requested()) return;
    std::memset(begin_of(*block) + block->bytes, 0, padding_bytes);
    {
      const Lock lock(mutex_);
      if (block->bytes > 0) filled_.push_back(block);
      finished_ = !more;
      exception_ = exception;
    }
    filled_came_.notify_one();
  }
}

ReadAhead::Block* ReadAhead::next_filled() {
  Lock lock(mutex_);
  filled_came_.wait(lock, [this] { return !filled_.empty() || finished_; });
  if (!filled_.empty()) {
    Block* block = filled_.front();
    filled_.pop_front();
    return block;
  }
  if (exception_) std::rethrow_exception(exception_);
  return nullptr;
}

std::span<const std::byte> ReadAhead::behind_rest(Block& block, std::size_t keep_bytes) {
  std::byte* begin = begin_of(block) - keep_bytes;
  if (keep_bytes > 0) std::memcpy(begin, given_.data() + given_.size() - keep_bytes, keep_bytes);
  return {begin, keep_bytes + block.bytes};
}

std::span<const std::byte> ReadAhead::joined(const Block& block, std::size_t keep_bytes) {
  const std::size_t bytes = keep_bytes + block.bytes;
  const std::byte* rest = given_.data() + given_.size() - keep_bytes;
  std::byte* begin = nullptr;
  if (held_ == nullptr && joined_) {
    const auto offset = static_cast<std::size_t>(rest - joined_.get());
    if (offset + bytes + padding_bytes <= joined_room_bytes_) begin = joined_.get() + offset;
  }
  if (begin == nullptr) {
    const std::size_t room_bytes = 2 * bytes + padding_bytes;
    auto larger = std::make_unique_for_overwrite<std::byte[]>(room_bytes);
    std::memcpy(larger.get(), rest, keep_bytes);
    joined_ = std::move(larger);
    joined_room_bytes_ = room_bytes;
    begin = joined_.get();
  }
  std::memcpy(begin + keep_bytes, begin_of(block), block.bytes + padding_bytes);
  return {begin, bytes};
}

std::span<const std::byte> ReadAhead::advance(std::size_t keep_bytes) {
  if (keep_bytes > given_.size())
    throw std::invalid_argument("ReadAhead: " + std::to_string(keep_bytes) + " bytes are to be kept, but only " +
                                std::to_string(given_.size()) + " were given");
  Block* block = at_end_ ? nullptr : next_filled();
  if (block == nullptr) {  // the kept bytes stay where they are
    at_end_ = true;
    consumed_ = source_->consumed();                                        // the thread no longer uses the source
    if (given_.data() == nullptr) given_ = {begin_of(blocks_.front()), 0};  // an empty source also needs padding
    return given_ = given_.last(keep_bytes);
  }
  consumed_ = block->consumed;
  Block* done = held_;
  if (keep_bytes <= options_.rest_bytes) {
    given_ = behind_rest(*block, keep_bytes);
    held_ = block;
    joined_.reset();
  } else {
    given_ = joined(*block, keep_bytes);
    held_ = nullptr;
  }
  {
    const Lock lock(mutex_);
    if (done != nullptr) free_.push_back(done);
    if (held_ == nullptr) free_.push_back(block);
  }
  free_came_.notify_one();
  return given_;
}

std::span<const std::byte> ReadAhead::next_block(std::size_t keep_bytes) {
  if (way_ == Way::read) throw std::logic_error("ReadAhead: next_block() after read()");
  way_ = Way::blocks;
  return advance(keep_bytes);
}

std::size_t ReadAhead::read(std::span<std::byte> into) {
  if (way_ == Way::blocks) throw std::logic_error("ReadAhead: read() after next_block()");
  way_ = Way::read;
  std::size_t done = 0;
  while (done < into.size()) {
    try {
      if (unread_.empty() && (unread_ = advance(0)).empty()) break;
    } catch (...) {
      if (done == 0) throw;
      break;  // return the bytes before it first; the next call throws
    }
    const std::size_t bytes = std::min(unread_.size(), into.size() - done);
    std::memcpy(into.data() + done, unread_.data(), bytes);
    unread_ = unread_.subspan(bytes);
    done += bytes;
  }
  return done;
}

// The thread no longer uses the source when the end was returned.
std::optional<std::string> ReadAhead::problem() const { return at_end_ ? source_->problem() : std::nullopt; }
std::optional<std::string> ReadAhead::remark() const { return at_end_ ? source_->remark() : std::nullopt; }

}  // namespace ddpprof::import
