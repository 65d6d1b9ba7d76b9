// The upper tail of the binomial distribution.
#pragma once

#include <cstdint>

namespace ddpprof::stats {

// P(X >= successes) for X ~ Binomial(trials, probability): the one-sided p-value of the exact binomial test (Clopper
// and Pearson 1934). 1 for successes <= 0, 0 for successes > trials. Throws std::invalid_argument on negative trials or
// a probability outside [0, 1].
double binomial_upper_tail(std::int64_t trials, std::int64_t successes, double probability);

}  // namespace ddpprof::stats
