// The parameters of an all-reduce's cost, and the least-squares problem of one form.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/fit/all_reduce_fit.hpp"

namespace ddpprof::fit {

// Order of the parameters in every form's problem. A segmented ring also has gamma, a time-shared one the rest.
// Curves of which one was measured across hosts have three other parameters after `turn`: alpha and beta of the job's
// links inside one host, and in_step of the curves across hosts.
namespace link_parameter {
enum : std::size_t {
  alpha,
  beta,
  in_step,
  turn,
  gamma,
  switching,
  switch_exponent,
  core_share,
  inside_alpha = gamma,
  inside_beta,
  in_step_across
};
}  // namespace link_parameter

// Returns true for one host, and for containers of one machine: the ranks share cores, and these cores carry the bytes.
bool on_one_machine(const CollectivePoint&);

Problem make_problem(const Form&, const std::vector<CollectivePoint>&, bool nccl);

}  // namespace ddpprof::fit
