// The list of subcommands.
#include "cli/subcommand.hpp"

// One line per subcommand, in the order of the help. make_<name>() is in the subcommand's own file.
#define DDPPROF_SUBCOMMANDS(one)                                                                             \
  one(run) one(record) one(worker) one(import) one(bench_comm) one(report) one(compare) one(predict) one(lr) \
      one(export) one(validate) one(doctor) one(gui) one(completion)

namespace ddpprof::cli {

#define DDPPROF_DECLARE(word) std::unique_ptr<Subcommand> make_##word();
DDPPROF_SUBCOMMANDS(DDPPROF_DECLARE)
#undef DDPPROF_DECLARE

std::vector<std::unique_ptr<Subcommand>> all_subcommands() {
  std::vector<std::unique_ptr<Subcommand>> all;
#define DDPPROF_MAKE(word) all.push_back(make_##word());
  DDPPROF_SUBCOMMANDS(DDPPROF_MAKE)
#undef DDPPROF_MAKE
  return all;
}

}  // namespace ddpprof::cli
