// The end of the warm-up in a series of step times.
#pragma once

#include <cstddef>
#include <span>

namespace ddpprof::stats {

// MSER-m: the samples at the front whose removal makes the mean of the rest best known. Over means Y of batches of m
// samples, d* = argmin over 0 <= d <= k/2 of sum over i > d of (Y_i - mean of Y_(d+1)…Y_k)^2 / (k - d)^2 (White 1997;
// m = 5: Spratt 1998, White, Cobb and Spratt 2000); the smallest such d. Returns d* batches. A d* of k/2 means that the
// series is too short to tell. Samples that fill no last batch are left out at the front, and count as removed.
// Throws std::invalid_argument for a batch of 0 or fewer than 2 batches.
std::size_t mser(std::span<const double> samples, std::size_t batch);

struct WarmupEnd {
  std::size_t steps = 0;  // at the front that differ from what follows
  bool settled = false;   // false: still moving, or too few steps to tell
};

inline constexpr std::size_t minimum_warmup_samples = 10;

// MSER-m over `samples`, m = 5 from 50 samples on and n/10 below, so that there are always ten batches. First, samples
// farther than 5 mad_sigma from the median of the second half are moved to that distance: a step that the machine
// interrupted must not decide, and a slow beginning stays visible. Not settled below `minimum_warmup_samples`, and when
// d* reaches half of the series: then it still moves, or drifts all along.
WarmupEnd warmup_end(std::span<const double> samples);

}  // namespace ddpprof::stats
