#include "analysis/predict/sharded/shard_logs.hpp"

namespace ddpprof::fit {

void add_warnings(const AllReduceLog& log, std::vector<Note>& notes) {
  const auto add = [&notes](const std::vector<NcclTestsWarning>& warnings) {
    for (const NcclTestsWarning& one : warnings)
      notes.push_back(make_note("warning", one.code.c_str(), one.message, one.advice));
  };
  add(log.warnings);
  for (const AllReduceRun& one : log.runs) add(one.run.warnings);
  for (const OtherRun& one : log.others) add(one.run.warnings);
}

void add_shard_log(const std::filesystem::path& path, const std::string& op, PredictOptions& options,
                   std::vector<Note>& notes) {
  const AllReduceLog log = read_others(path, op);
  add_warnings(log, notes);
  for (const OtherRun& one : log.others) options.shard_collectives.push_back(collective_run(one));
}

}  // namespace ddpprof::fit
