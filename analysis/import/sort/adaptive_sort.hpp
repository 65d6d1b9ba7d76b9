// A stable sort that is fast for records that are almost sorted, as those of traces are.
//
// Adjacent ascending runs are merged in pairs. A merge only touches the part where two runs overlap: runs that follow
// each other cost one comparison. For random order it is an ordinary merge sort. Scratch memory: at most half of the
// records in one block, and 8 bytes per run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

namespace ddpprof::import {

inline constexpr std::size_t shortest_run = 32;  // shorter runs are extended to this length by insertion

template <class T, class Less>
class AdaptiveSort {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  AdaptiveSort(std::span<T> records, const Less& less) : records_(records), less_(less) {}

  void sort() {
    find_runs();
    if (ends_.size() > 1) merge_runs(0, ends_.size());
  }

 private:
  void find_runs() {
    T* const data = records_.data();
    for (std::size_t begin = 0; begin < records_.size();) {
      std::size_t end = begin + 1;
      while (end < records_.size() && !less_(data[end], data[end - 1])) ++end;
      const std::size_t longer = std::min(begin + shortest_run, records_.size());
      for (; end < longer; ++end) insert(data + begin, data + end);
      ends_.push_back(begin = end);
    }
  }

  // Inserts the record at `end` into the sorted records before it.
  void insert(T* begin, T* end) {
    const T record = *end;
    for (; end > begin && less_(record, end[-1]); --end) *end = end[-1];
    *end = record;
  }

  // Depth first, so that the records merged last are still in the caches.
  void merge_runs(std::size_t first, std::size_t last) {
    if (last - first < 2) return;
    const std::size_t middle = first + (last - first) / 2;
    merge_runs(first, middle);
    merge_runs(middle, last);
    T* const data = records_.data();
    merge(data + (first == 0 ? 0 : ends_[first - 1]), data + ends_[middle - 1], data + ends_[last - 1]);
  }

  void merge(T* begin, T* middle, T* end) {
    if (!less_(*middle, middle[-1])) return;
    begin = std::upper_bound(begin, middle, *middle, less_);
    end = std::lower_bound(middle, end, middle[-1], less_);
    if (!scratch_) scratch_ = std::make_unique_for_overwrite<T[]>(records_.size() / 2);
    if (middle - begin <= end - middle) {
      merge_forwards(begin, middle, end);
    } else {
      merge_backwards(begin, middle, end);
    }
  }

  // Merges with the left run in the scratch memory. The choice of the run is not a branch, because in random order
  // every second branch would be mispredicted.
  void merge_forwards(T* out, const T* right, const T* const right_end) {
    const T* left = scratch_.get();
    const T* const left_end = std::copy(out, out + (right - out), scratch_.get());
    while (left != left_end && right != right_end) {
      const bool take_right = less_(*right, *left);
      *out++ = *(take_right ? right : left);
      right += take_right;
      left += !take_right;
    }
    std::copy(left, left_end, out);  // the rest of the right run is already in its place
  }

  // Merges with the right run in the scratch memory, from the greatest record down.
  void merge_backwards(const T* const left_begin, T* const middle, T* out) {
    const T* left = middle;  // one past the next record, like `right`
    const T* const right_begin = scratch_.get();
    const T* right = std::copy(middle, out, scratch_.get());
    while (left != left_begin && right != right_begin) {
      const bool take_left = less_(right[-1], left[-1]);
      *--out = *((take_left ? left : right) - 1);
      left -= take_left;
      right -= !take_left;
    }
    std::copy_backward(right_begin, right, out);
  }

  std::span<T> records_;
  const Less& less_;
  std::vector<std::size_t> ends_;  // of the runs
  std::unique_ptr<T[]> scratch_;
};

template <class T, class Less>
void adaptive_stable_sort(std::span<T> records, const Less& less) {
  AdaptiveSort<T, Less>(records, less).sort();
}

}  // namespace ddpprof::import
