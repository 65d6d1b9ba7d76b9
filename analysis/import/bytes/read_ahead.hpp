// Reads and decompresses in a thread of its own, a few blocks ahead of the parser.
//
// The blocks are allocated once and reused. Memory is bounded by Options::blocks blocks, plus twice the rest that the
// caller keeps if this is larger than the room in front of a block.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "analysis/import/bytes/byte_source.hpp"

namespace ddpprof::import {

class ReadAhead final : public ByteSource {
 public:
  static constexpr std::size_t padding_bytes = 64;  // readable and zero after every span of next_block()

  struct Options {
    std::size_t block_bytes = std::size_t{4} << 20;
    std::size_t blocks = 4;                          // at least 2: one is used by the caller
    std::size_t rest_bytes = std::size_t{64} << 10;  // room in front of each block
  };

  explicit ReadAhead(std::unique_ptr<ByteSource> source);
  ReadAhead(std::unique_ptr<ByteSource> source, Options options);
  ~ReadAhead() override;  // waits for the thread, which ends after its current read

  // Returns one span: the last `keep_bytes` of the previous span, followed by the next bytes of the source.
  // padding_bytes of zeros follow the span. At the end the span holds the kept bytes only.
  //
  // The memory belongs to this object. The span is valid until the next call, which may overwrite it. Only the kept
  // bytes are copied, to the room in front of the next block. If there are more than rest_bytes, the block is copied
  // behind them instead, into memory that doubles, so that a growing rest costs time in proportion to its length.
  //
  // Rethrows an exception of the source after the bytes before it have been returned. Throws std::invalid_argument if
  // more bytes are to be kept than the previous span has.
  std::span<const std::byte> next_block(std::size_t keep_bytes = 0);

  // Copies the same bytes. One object is read either by next_block() or by read(); otherwise throws std::logic_error.
  std::size_t read(std::span<std::byte> into) override;

  std::optional<std::string> problem() const override;  // set once the end was returned, like remark()
  std::optional<std::string> remark() const override;
  std::uint64_t consumed() const override { return consumed_; }  // bytes of the file for the bytes returned so far
  std::uint64_t file_bytes() const override { return source_->file_bytes(); }
  Encoding encoding() const override { return source_->encoding(); }

 private:
  struct Block {
    std::unique_ptr<std::byte[]> memory;  // room for the rest, the block, the padding
    std::size_t bytes = 0;                // filled bytes of the block
    std::uint64_t consumed = 0;           // bytes of the file when the block was filled
  };
  using Lock = std::unique_lock<std::mutex>;

  void fill_blocks(const std::stop_token& stop);  // runs in the thread
  Block* next_filled();                           // null: the end
  std::span<const std::byte> behind_rest(Block& block, std::size_t keep_bytes);
  std::span<const std::byte> joined(const Block& block, std::size_t keep_bytes);
  std::span<const std::byte> advance(std::size_t keep_bytes);
  std::byte* begin_of(const Block& block) const { return block.memory.get() + options_.rest_bytes; }

  std::unique_ptr<ByteSource> source_;
  Options options_;
  std::vector<Block> blocks_;

  // Used by the caller's thread.
  Block* held_ = nullptr;                // contains `given_`
  std::unique_ptr<std::byte[]> joined_;  // contains `given_` if the rest does not fit in front of a block
  std::size_t joined_room_bytes_ = 0;
  std::span<const std::byte> given_, unread_;
  std::uint64_t consumed_ = 0;
  bool at_end_ = false;
  enum class Way { none, blocks, read } way_ = Way::none;

  mutable std::mutex mutex_;
  std::condition_variable_any free_came_, filled_came_;
  std::deque<Block*> free_, filled_;
  bool finished_ = false;         // the thread fills no more blocks
  std::exception_ptr exception_;  // exception of the thread
  std::jthread thread_;           // the last member: it ends before the members that it uses
};

}  // namespace ddpprof::import
