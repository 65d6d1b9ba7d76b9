// Sorts more records than fit in memory: sorted runs are written to a temporary file and merged whenever they are read.
//
// Stable: records that compare equal keep the order in which they were pushed. No file is created while all records fit
// into the memory bound. Use of the bound: while records are pushed, two thirds for records and one third for the
// scratch memory of sorting. While they are read, half for each of two cursors' buffers; a run's buffer holds at least
// one record, whatever the bound.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "analysis/import/sort/adaptive_sort.hpp"
#include "analysis/import/sort/run_file.hpp"

namespace ddpprof::import {

struct SortOptions {
  std::size_t bound_bytes = std::size_t{64} << 20;
  std::filesystem::path folder;  // for the temporary file; empty: std::filesystem::temp_directory_path()
};

template <class T, class Less = std::less<T>>
class ExternalSorter {
  static_assert(std::is_trivially_copyable_v<T>, "records are written to a file as they are");

 public:
  explicit ExternalSorter(SortOptions options = {}, Less less = {});

  // Throws TemporaryFileError if a run cannot be written, std::logic_error after finish().
  void push(const T& record);
  // Call once, after the last push() and before reading. Throws TemporaryFileError.
  void finish();

  // Frees the records when they are not read any more. size() stays as it is. Call after finish(), without a cursor.
  void release();

  std::uint64_t size() const { return count_; }
  std::size_t runs() const { return runs_.size(); }  // in the file

  // One pass in order. The sorter must outlive the cursor and must not move. Any number of cursors, in any threads, may
  // exist at the same time.
  class Cursor {
   public:
    // Returns the next record, or null at the end. The record is valid until the next call. Throws TemporaryFileError,
    // after which the cursor must not be used again.
    const T* next();

   private:
    friend class ExternalSorter;
    explicit Cursor(const ExternalSorter& sorter);
    struct Head {
      const T* at = nullptr;
      std::size_t run = 0;
    };
    struct Run {
      std::uint64_t next = 0, end = 0;  // records of the file that are not buffered yet
      T* buffer = nullptr;
      const T* filled_end = nullptr;
    };
    bool refill(Head& head);
    bool before(const Head& a, const Head& b) const;
    void sink_first();

    const ExternalSorter* sorter_;
    std::size_t in_memory_ = 0;
    std::size_t buffer_records_ = 0;  // per run
    std::unique_ptr<T[]> buffers_;
    std::vector<Run> runs_;
    std::vector<Head> heap_;  // the smallest first; ties go to the earlier run
    bool begun_ = false;
  };
  Cursor cursor() const;

  template <class Function>
  void for_each(Function&& function) const {
    Cursor pass = cursor();
    while (const T* record = pass.next()) function(*record);
  }

 private:
  struct Run {
    std::uint64_t begin = 0, end = 0;  // records of the file
  };
  void make_room();
  void sort_buffer();
  void spill();

  SortOptions options_;
  Less less_;
  std::size_t most_records_;  // in memory
  std::vector<T> buffer_;
  bool ordered_ = true;  // the buffer is ordered
  bool finished_ = false;
  bool released_ = false;
  std::uint64_t count_ = 0;
  std::unique_ptr<RunFile> file_;
  std::vector<Run> runs_;
  std::optional<T> last_spilled_;
};

template <class T, class Less>
ExternalSorter<T, Less>::ExternalSorter(SortOptions options, Less less)
    : options_(std::move(options)),
      less_(std::move(less)),
      most_records_(std::max<std::size_t>(1, options_.bound_bytes / 3 * 2 / sizeof(T))) {}

template <class T, class Less>
void ExternalSorter<T, Less>::push(const T& record) {
  if (finished_) throw std::logic_error("ExternalSorter: push() after finish()");
  if (buffer_.size() == std::min(buffer_.capacity(), most_records_)) make_room();
  if (ordered_ && !buffer_.empty() && less_(record, buffer_.back())) ordered_ = false;
  buffer_.push_back(record);
  ++count_;
}

// Reserves all memory at once: unwritten pages cost nothing, and growth would leave the smaller buffers in the heap.
template <class T, class Less>
void ExternalSorter<T, Less>::make_room() {
  if (buffer_.size() == most_records_) return spill();
  buffer_.reserve(most_records_);
}

template <class T, class Less>
void ExternalSorter<T, Less>::sort_buffer() {
  if (!ordered_) adaptive_stable_sort(std::span<T>(buffer_), less_);
  ordered_ = true;
}

template <class T, class Less>
void ExternalSorter<T, Less>::spill() {
  if (buffer_.empty()) return;
  if (!file_)
    file_ =
        std::make_unique<RunFile>(options_.folder.empty() ? std::filesystem::temp_directory_path() : options_.folder);
  sort_buffer();
  const std::uint64_t begin = file_->bytes() / sizeof(T);
  file_->append(std::as_bytes(std::span<const T>(buffer_)));
  const std::uint64_t end = begin + buffer_.size();
  // A run that continues the order of the last run is joined with it, so sorted input becomes a single run.
  if (last_spilled_ && !less_(buffer_.front(), *last_spilled_)) {
    runs_.back().end = end;
  } else {
    runs_.push_back({begin, end});
  }
  last_spilled_ = buffer_.back();
  buffer_.clear();
}

template <class T, class Less>
void ExternalSorter<T, Less>::finish() {
  if (finished_) throw std::logic_error("ExternalSorter: finish() twice");
  if (file_) {
    spill();
    std::vector<T>().swap(buffer_);
  } else {
    sort_buffer();
  }
  finished_ = true;
}

template <class T, class Less>
void ExternalSorter<T, Less>::release() {
  std::vector<T>().swap(buffer_);
  runs_.clear();
  file_.reset();
  released_ = true;
}

template <class T, class Less>
auto ExternalSorter<T, Less>::cursor() const -> Cursor {
  if (!finished_ || released_) throw std::logic_error("ExternalSorter: read before finish() or after release()");
  return Cursor(*this);
}

template <class T, class Less>
ExternalSorter<T, Less>::Cursor::Cursor(const ExternalSorter& sorter) : sorter_(&sorter) {
  if (sorter.runs_.empty()) return;
  constexpr std::size_t largest_buffer_bytes = std::size_t{1} << 20;  // longer reads are not faster
  const std::size_t share_bytes = sorter.options_.bound_bytes / 2 / sorter.runs_.size();
  buffer_records_ = std::max<std::size_t>(1, std::min(share_bytes, largest_buffer_bytes) / sizeof(T));
  buffers_ = std::make_unique_for_overwrite<T[]>(buffer_records_ * sorter.runs_.size());
  for (const auto& run : sorter.runs_) {
    T* const buffer = buffers_.get() + runs_.size() * buffer_records_;
    runs_.push_back({run.begin, run.end, buffer, buffer});
    Head head{buffer, runs_.size() - 1};
    refill(head);  // runs are not empty
    heap_.push_back(head);
  }
  std::ranges::make_heap(heap_, [this](const Head& a, const Head& b) { return before(b, a); });
}

template <class T, class Less>
const T* ExternalSorter<T, Less>::Cursor::next() {
  if (!sorter_->file_) {
    if (in_memory_ == sorter_->buffer_.size()) return nullptr;
    return &sorter_->buffer_[in_memory_++];
  }
  if (begun_ && !heap_.empty()) {  // the record that was given last is done with only now
    Head& first = heap_.front();
    ++first.at;
    if (first.at == runs_[first.run].filled_end && !refill(first)) {
      first = heap_.back();
      heap_.pop_back();
    }
    sink_first();
  }
  begun_ = true;
  return heap_.empty() ? nullptr : heap_.front().at;
}

// Reads the next records of the head's run. Returns false at the end of the run.
template <class T, class Less>
bool ExternalSorter<T, Less>::Cursor::refill(Head& head) {
  Run& run = runs_[head.run];
  const auto records = static_cast<std::size_t>(std::min<std::uint64_t>(buffer_records_, run.end - run.next));
  if (records == 0) return false;
  sorter_->file_->read(run.next * sizeof(T), std::as_writable_bytes(std::span<T>(run.buffer, records)));
  run.next += records;
  run.filled_end = run.buffer + records;
  head.at = run.buffer;
  return true;
}

template <class T, class Less>
bool ExternalSorter<T, Less>::Cursor::before(const Head& a, const Head& b) const {
  if (sorter_->less_(*a.at, *b.at)) return true;
  return a.run < b.run && !sorter_->less_(*b.at, *a.at);
}

// Moves the first element of the heap to its place. It mostly stays first, because runs of a trace hardly overlap.
template <class T, class Less>
void ExternalSorter<T, Less>::Cursor::sink_first() {
  if (heap_.size() < 2) return;
  const Head sinking = heap_.front();
  std::size_t at = 0;
  for (std::size_t child = 1; child < heap_.size(); child = 2 * at + 1) {
    if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child])) ++child;
    if (!before(heap_[child], sinking)) break;
    heap_[at] = heap_[child];
    at = child;
  }
  heap_[at] = sinking;
}

}  // namespace ddpprof::import
