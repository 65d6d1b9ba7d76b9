// Reads and inflates in a thread of its own, a few blocks ahead of whoever parses them.
//
// The blocks are made once and go round: memory is bounded by Options::blocks of them, plus twice the rest that the
// caller keeps where that is larger than a block's room in front.
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
  static constexpr std::size_t padding_bytes = 64;  // readable and zero behind every span of next_block()

  struct Options {
    std::size_t block_bytes = std::size_t{4} << 20;
    std::size_t blocks = 4;                          // at least 2: one is with the caller
    std::size_t rest_bytes = std::size_t{64} << 10;  // room in front of each block
  };

  explicit ReadAhead(std::unique_ptr<ByteSource> source);
  ReadAhead(std::unique_ptr<ByteSource> source, Options options);
  ~ReadAhead() override;  // waits for the thread, which ends after the read it is in

  // The last `keep_bytes` of the span that was given last, and behind them the next bytes of the source, one span with
  // padding_bytes of zeros behind it. At the end the span holds the kept bytes only.
  //
  // The memory belongs to this object; the span holds until the next call, which may overwrite it. Only the kept bytes
  // are copied, to in front of the next block; where they are more than rest_bytes, the block is copied behind them
  // instead, into memory that doubles, so that a rest that grows for long costs time in proportion to its length.
  //
  // Throws what the source threw in its thread, once the bytes before that have been given; std::invalid_argument where
  // more is to be kept than was given.
  std::span<const std::byte> next_block(std::size_t keep_bytes = 0);

  // The same bytes, copied. One object is read either by next_block() or by read(): std::logic_error otherwise.
  std::size_t read(std::span<std::byte> into) override;

  std::optional<std::string> problem() const override;  // known once the end was given, as remark() is
  std::optional<std::string> remark() const override;
  std::uint64_t consumed() const override { return consumed_; }  // of the file, for what was given so far
  std::uint64_t file_bytes() const override { return source_->file_bytes(); }
  Encoding encoding() const override { return source_->encoding(); }

 private:
  struct Block {
    std::unique_ptr<std::byte[]> memory;  // room for the rest, the block, the padding
    std::size_t bytes = 0;                // of the block that are filled
    std::uint64_t consumed = 0;           // of the file, once it was filled
  };
  using Lock = std::unique_lock<std::mutex>;

  void fill_blocks(const std::stop_token& stop);  // the thread
  Block* next_filled();                           // null: the end
  std::span<const std::byte> behind_rest(Block& block, std::size_t keep_bytes);
  std::span<const std::byte> joined(const Block& block, std::size_t keep_bytes);
  std::span<const std::byte> advance(std::size_t keep_bytes);
  std::byte* begin_of(const Block& block) const { return block.memory.get() + options_.rest_bytes; }

  std::unique_ptr<ByteSource> source_;
  Options options_;
  std::vector<Block> blocks_;

  // The caller's.
  Block* held_ = nullptr;                // whose memory `given_` lies in
  std::unique_ptr<std::byte[]> joined_;  // where `given_` lies when the rest did not fit in front of a block
  std::size_t joined_room_bytes_ = 0;
  std::span<const std::byte> given_, unread_;
  std::uint64_t consumed_ = 0;
  bool at_end_ = false;
  enum class Way { none, blocks, read } way_ = Way::none;

  mutable std::mutex mutex_;
  std::condition_variable_any free_came_, filled_came_;
  std::deque<Block*> free_, filled_;
  bool finished_ = false;         // the thread fills no more
  std::exception_ptr exception_;  // what it died of
  std::jthread thread_;           // the last member: it ends before what it uses
};

}  // namespace ddpprof::import
