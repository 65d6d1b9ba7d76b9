// The parameters of an all-reduce's cost, and the least-squares problem of one form.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/fit/all_reduce_fit.hpp"

namespace ddpprof::fit {

// Order of the parameters in every form's problem. A segmented ring also has gamma, a time-shared one the rest.
// Curves of which one was measured across hosts have other parameters after `turn`: in_step of the curves across hosts,
// and all parameters of the form of the job's links inside one host, if there is one.
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
  in_step_across = gamma,
  inside
};
}  // namespace link_parameter

// Returns true for one host, and for containers of one machine: the ranks share cores, and these cores carry the bytes.
bool on_one_machine(const CollectivePoint&);

Problem make_problem(const Form&, const std::vector<CollectivePoint>&, bool nccl);

}  // namespace ddpprof::fit
