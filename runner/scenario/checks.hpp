// Checks between the values of a scenario: what each is alone may be sound while the whole is not. Private.
#pragma once

#include <set>
#include <string>

#include "runner/scenario/tree.hpp"

namespace ddpprof::scenario {

// `broken`: keys that already have a problem; checks that need them are left out, so one mistake gives one message.
void check_whole(const Scenario&, const std::set<std::string, std::less<>>& broken, Tree&);

}  // namespace ddpprof::scenario
