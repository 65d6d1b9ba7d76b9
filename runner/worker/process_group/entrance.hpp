// How ranks come to a run on a network that one does not trust: where rank 0 listens, and what each has to know.
#pragma once

#include <optional>
#include <string>

#include "runner/launcher/exchange/token.hpp"
#include "runner/worker/process_group/process_group.hpp"

namespace ddpprof::worker {

struct Entrance {
  std::string listen;                    // rank 0: where to listen instead of MASTER_ADDR's address; "" there
  std::optional<launcher::Token> token;  // the run's; every rank proves that it knows it
};

// join_group through an entrance of one's own.
Group join_group(const RankEnvironment&, const GroupOptions&, const Entrance&);

}  // namespace ddpprof::worker
