// A link with two lanes, for several draws at once.
#pragma once

#include <cstddef>
#include <limits>

#include "simulator/step/ddp_draws_vectors.hpp"

namespace ddpprof::step::draws {

// At most two collectives at once, as in step::simulate, but computed from launch to launch instead of from event to
// event: the time between two launches has a closed form. A collective first needs its fixed time and then the link, of
// which two collectives have half each. Beside compute a collective runs at a slower pace; its times are kept stretched
// until compute ends.
template <std::size_t W>
class TwoLanes {
  using V = Vectors<W>;
  using Lanes = typename V::Lanes;
  using Mask = typename V::Mask;

 public:
  // `copy_s`: for all buckets.
  [[gnu::always_inline]] TwoLanes(const Lanes& length_s, const Lanes& copy_s)
      : length_s_(length_s),
        finish_s_(length_s + copy_s),
        beside_(V::less(Lanes{}, length_s)),
        computes_(V::any(beside_)) {
    const Lanes over = Lanes{} - std::numeric_limits<double>::infinity();
    older_.copy_s = newer_.copy_s = over;
    older_.stretch = newer_.stretch = Lanes{} + 1.0;
  }

  // Compute still runs in some draw. Until it has ended in all draws, `turns` must be considered.
  bool computes() const { return computes_; }

  // `copy_s`: for this bucket and all later ones. None of them is copied before this bucket.
  template <bool turns>
  [[gnu::always_inline]] void launch(const Lanes& ready_s, const Lanes& fixed_s, const Lanes& shared_s,
                                     const Lanes& stretch, const Lanes& copy_s) {
    first_of_both_ends<turns>();
    // The other one alone, until the bucket is ready: not after compute's end.
    const Lanes zero = {}, gap = V::max(ready_s - now_s_, zero), alone = older_.fixed_s + older_.shared_s;
    const Lanes never = zero - std::numeric_limits<double>::infinity();
    const Mask ends_before = V::less_or_equal(alone, gap);
    finish_s_ = V::max(finish_s_, V::choose(ends_before, now_s_ + alone + older_.copy_s, never));
    older_.copy_s = V::choose(ends_before, never, older_.copy_s);
    busy_s_ += V::min(gap, alone);
    older_.shared_s = V::min(older_.shared_s, V::max(alone - gap, zero));
    older_.fixed_s = V::max(older_.fixed_s - gap, zero);
    now_s_ = V::max(now_s_, ready_s);
    newer_ = {fixed_s, shared_s, copy_s, zero + 1.0};
    if (turns) {
      newer_.stretch = V::choose(beside_, stretch, newer_.stretch);
      newer_.fixed_s *= newer_.stretch;
      newer_.shared_s *= newer_.stretch;
    }
  }

  template <bool turns>
  [[gnu::always_inline]] void end() {
    first_of_both_ends<turns>();
    Lanes left = older_.fixed_s + older_.shared_s;
    if (turns) {
      const Lanes until = V::max(length_s_ - now_s_, Lanes{});
      left = V::choose(beside_ & V::less(until, left), until + (left - until) / older_.stretch, left);
    }
    now_s_ += left;
    busy_s_ += left;
    finish_s_ = V::max(finish_s_, now_s_ + older_.copy_s);
    now_s_ = V::max(now_s_, length_s_);
  }

  const Lanes& finish_s() const { return finish_s_; }
  const Lanes& last_end_s() const { return now_s_; }
  const Lanes& busy_s() const { return busy_s_; }

 private:
  struct Active {
    Lanes fixed_s = {}, shared_s = {};
    Lanes copy_s = {};  // from its end to the last copy's; minus infinity once it has ended
    Lanes stretch = {};
  };
  struct Ends {
    Mask older_first;                     // whose fixed time ends first
    Lanes sooner_fixed_s, later_fixed_s;  // its own, the other's
    Lanes shared_second;                  // the other's
    Lanes beyond_s;  // of the first one's transfer, what is left when the other needs the link, too
    Lanes wait_s;    // until one of the two has ended; 0 if fewer than two run
  };

  [[gnu::always_inline]] Ends ends() const {
    Ends at;
    at.older_first = V::less_or_equal(older_.fixed_s, newer_.fixed_s);
    at.sooner_fixed_s = V::min(older_.fixed_s, newer_.fixed_s);
    at.later_fixed_s = V::max(older_.fixed_s, newer_.fixed_s);
    at.shared_second = V::choose(at.older_first, newer_.shared_s, older_.shared_s);
    const Lanes shared_first = V::choose(at.older_first, older_.shared_s, newer_.shared_s);
    at.beyond_s = shared_first - (at.later_fixed_s - at.sooner_fixed_s);
    at.wait_s = V::choose(V::less(Lanes{}, at.beyond_s), at.later_fixed_s + 2.0 * V::min(at.beyond_s, at.shared_second),
                          at.sooner_fixed_s + shared_first);
    return at;
  }

  template <bool turns>
  [[gnu::always_inline]] void first_of_both_ends() {
    const Lanes zero = {};
    Ends at = ends();
    if (turns) {
      const Mask over = beside_ & V::less_or_equal(length_s_, now_s_ + at.wait_s);
      if (__builtin_expect(V::any(over), 0)) {
        compute_ends(over, at);
        at = ends();
      }
    }
    const Mask first_done = V::less_or_equal(at.beyond_s, at.shared_second);
    const Mask older_done = ~(first_done ^ at.older_first);
    now_s_ += at.wait_s;
    busy_s_ += at.wait_s;
    finish_s_ = V::max(finish_s_, now_s_ + V::choose(older_done, older_.copy_s, newer_.copy_s));
    older_.copy_s = V::choose(older_done, newer_.copy_s, older_.copy_s);
    if (turns) older_.stretch = V::choose(older_done, newer_.stretch, older_.stretch);
    const Lanes beyond = V::max(at.beyond_s, zero);
    older_.fixed_s = beyond - at.beyond_s;
    older_.shared_s = V::size(at.shared_second - beyond);
    newer_.fixed_s = newer_.shared_s = zero;
    newer_.copy_s = zero - std::numeric_limits<double>::infinity();
  }

  // Before either has ended, in the draws of the mask.
  [[gnu::always_inline]] void compute_ends(const Mask& over, const Ends& at) {
    const Lanes zero = {}, passed = V::choose(over, V::max(length_s_ - now_s_, zero), zero);
    const Lanes half = 0.5 * V::max(passed - at.later_fixed_s, zero);
    const Lanes first = V::max(V::min(passed, at.later_fixed_s) - at.sooner_fixed_s, zero) + half;
    const auto pass = [&](Active & one, const Lanes& served) __attribute__((always_inline)) {
      one.fixed_s = V::max(one.fixed_s - passed, zero);
      one.shared_s = V::max(one.shared_s - served, zero);
      one.fixed_s = V::choose(over, one.fixed_s / one.stretch, one.fixed_s);
      one.shared_s = V::choose(over, one.shared_s / one.stretch, one.shared_s);
    };
    pass(older_, V::choose(at.older_first, first, half));
    pass(newer_, V::choose(at.older_first, half, first));
    now_s_ += passed;
    now_s_ = V::choose(over, V::max(now_s_, length_s_), now_s_);
    busy_s_ += passed;
    beside_ = beside_ & ~over;
    computes_ = V::any(beside_);
  }

  Lanes length_s_, finish_s_;
  Lanes now_s_ = {}, busy_s_ = {};
  Active older_, newer_;  // older_ is the only one between two launches
  Mask beside_;           // compute goes on
  bool computes_;         // … in some draw
};

}  // namespace ddpprof::step::draws
