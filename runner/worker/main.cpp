// ddpprof-worker: one rank of a measurement. Started by ddpprof, torchrun, srun or mpirun.
#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <string>

#include "runner/scenario/data_files.hpp"
#include "runner/scenario/read.hpp"
#include "runner/worker/annotate.hpp"
#include "runner/worker/leave.hpp"
#include "runner/worker/loop/bench_comm.hpp"
#include "runner/worker/loop/context.hpp"
#include "runner/worker/loop/train.hpp"
#include "runner/worker/memory/counting_allocator.hpp"
#include "runner/worker/mpi/library.hpp"
#include "runner/worker/process_group/entrance.hpp"
#include "runner/worker/process_group/gathering.hpp"
#include "runner/worker/process_group/guard.hpp"
#include "runner/worker/result.hpp"
#include "runner/worker/status.hpp"

namespace ddpprof::worker {
namespace {

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The arguments of this process. The context has those that every mode of the worker needs.
struct Arguments {
  Context context;
  Entrance entrance;
  std::filesystem::path gather;  // this rank's folder, when its files go to rank 0; empty: they stay
  bool overwrite = false;        // rank 0: an earlier run's files of other ranks may go for those that come
};

Arguments read_arguments(int argc, char** argv) {
  std::int64_t dump_steps = 3, dump_gradients = -1;
  bool annotate_in_turn = false, without_ddp = false, closing = false, several_hosts = false, overwrite = false;
  double rendezvous_timeout_s = 0;
  std::string run_file;
  std::string scenario_file, strategy = "ddp", mode = "train", result, dump, listen, gather;
  int replicas = 0, token_pipe = -1;
  CLI::App app(
      "One rank of a ddpprof measurement. RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT say which.",
      "ddpprof-worker");
  app.add_option("--scenario", scenario_file, "scenario file (YAML)")->required();
  app.add_option("--strategy", strategy, "ddp or dp")->check(CLI::IsMember({"ddp", "dp"}));
  app.add_option("--mode", mode, "train or bench-comm")->check(CLI::IsMember({"train", "bench-comm"}));
  app.add_option("--replicas", replicas, "DataParallel's replicas (dp only)")->check(CLI::Range(1, 4096));
  app.add_option("--result", result, "where to write this rank's result (JSON)")->required();
  app.add_flag("--without-ddp", without_ddp, "one process, trained without process group and Reducer (ddp only)");
  app.add_option("--rendezvous-timeout", rendezvous_timeout_s, "seconds to reach rank 0, and again for all to come")
      ->check(CLI::Range(0.1, 86400.0));
  app.add_option("--listen", listen, "rank 0: this host's address to listen on, where MASTER_ADDR is not one");
  app.add_flag("--several-hosts", several_hosts, "ranks of other hosts are to come, for sure");
  app.add_option("--token-pipe", token_pipe, "the number of an open pipe that holds the run's token");
  app.add_option("--gather", gather, "this rank's folder, whose files go to rank 0's at the end");
  app.add_flag("--overwrite", overwrite, "rank 0: files that come replace those of an earlier run (with --gather)");
  app.add_option("--run-file", run_file, "where to write the run's name once every rank has come (JSON)");
  app.add_flag("--closing-line", closing, "say on standard error what was measured");
  app.add_option("--dump", dump, "folder for weights, batches, gradients and buckets (for tests)");
  app.add_option("--dump-steps", dump_steps, "steps whose batches are dumped")->check(CLI::Range(0, 1000));
  app.add_option("--dump-gradients", dump_gradients, "steps whose gradients are dumped (default: as --dump-steps)")
      ->check(CLI::Range(0, 1000));
  app.add_flag("--annotate-in-turn", annotate_in_turn, "annotate steps 0, 3, 4, 7, … only (for benchmarks)");
  app.set_version_flag("--version", DDPPROF_VERSION);
  app.add_flag_callback(
      "--about", [] { throw CLI::CallForVersion(describe_program().dump(), 0); },
      "versions, backends and devices as JSON, and exit");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& ask) {
    std::exit(app.exit(ask));
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  const auto read = scenario::read_file(scenario_file);
  if (!read.problems.empty()) {
    std::string text;
    for (const auto& problem : read.problems) text += (text.empty() ? "" : "\n") + problem.text();
    throw UsageError(text);
  }
  if (read.scenario.has_command()) throw UsageError(scenario_file + " has a command: use 'ddpprof run'");
  Arguments arguments;
  arguments.entrance.listen = listen;
  arguments.gather = gather;
  arguments.overwrite = overwrite;
  Context& context = arguments.context;
  context.scenario = read.scenario;
  context.strategy = strategy == "dp" ? scenario::Strategy::dp : scenario::Strategy::ddp;
  context.mode = mode == "train" ? Mode::train : Mode::bench_comm;
  context.result = result;
  context.dump = dump;
  context.dump_steps = dump_steps;
  context.dump_gradients = dump_gradients < 0 ? dump_steps : dump_gradients;
  context.annotate_in_turn = annotate_in_turn;
  context.without_ddp = without_ddp;
  context.run_file = run_file;
  context.closing_line = closing;
  if (rendezvous_timeout_s > 0) context.own_rendezvous_timeout_s = rendezvous_timeout_s;
  try {
    context.environment = read_rank_environment();
    if (several_hosts) context.environment.several_hosts = true;
    if (token_pipe >= 0) arguments.entrance.token = launcher::take_token(token_pipe);
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  } catch (const launcher::TokenError& error) {
    throw UsageError(error.what());
  }
  if (context.strategy == scenario::Strategy::dp) {
    if (context.mode == Mode::bench_comm) throw UsageError("--mode bench-comm: expected --strategy ddp");
    if (context.environment.world_size != 1)
      throw UsageError("--strategy dp is one process: expected WORLD_SIZE=1 and --replicas N, found WORLD_SIZE=" +
                       std::to_string(context.environment.world_size));
    context.replicas = replicas > 0 ? replicas : 1;
  } else if (without_ddp && (context.environment.world_size != 1 || context.mode == Mode::bench_comm)) {
    throw UsageError("--without-ddp is one process that trains: expected no WORLD_SIZE over 1 and --mode train");
  } else if (replicas > 1) {
    throw UsageError("--replicas needs --strategy dp (DataParallel); the number of DDP ranks is WORLD_SIZE");
  }
  return arguments;
}

void run(Arguments& arguments, std::int64_t began_ns) {
  Context& context = arguments.context;
  memory::start_counting();
  choose_resources(context);
  if (context.device.is_cuda()) {
    c10::impl::getDeviceGuardImpl(context.device.type())->setDevice(context.device);
    torch::empty({1}, context.device);  // starts the driver now, so that no step has this cost
  }
  Group* group = nullptr;  // not destroyed after a failure: its destructors may wait for ranks that have ended
  context.run = launcher::draw_nonce();
  if (context.strategy == scenario::Strategy::ddp && !context.without_ddp) {
    status::set(status::Activity::rendezvous);
    GroupOptions options;
    options.backend = context.backend;
    options.timeout = context.timeout();
    options.rendezvous_timeout = context.rendezvous_timeout();
    options.registration = describe_rank(context);
    if (!arguments.gather.empty())
      options.registration.strategy += " with --gather";  // all ranks must have it, or rank 0 would wait for files
    group = new Group(join_group(context.environment, options, arguments.entrance));
    context.run = group->run;
    const Guard guard(context.environment.rank, "sharing the processors",
                      "rank 0's store stopped answering: is rank 0's process stopped, or its host cut off?",
                      context.rendezvous_timeout() + beyond_c10d);
    share_threads(context, share_cores(*group->store, context.environment.rank, context.environment.world_size));
  }
  if (!context.run_file.empty()) write_result(context.run_file, {{"run", context.run}});
  auto found = context.mode == Mode::bench_comm ? bench_comm(context, *group) : train(context, group);
  status::set(status::Activity::finishing);
  const auto result = describe_run(context, std::move(found), began_ns);
  write_result(context.result, result);
  // Before files are gathered: gathering has no time limit on rank 0, leaving has one.
  if (group && context.backend == BackendKind::mpi) group->backend->shutdown();
  // Otherwise the process's end destroys NCCL's communicators, in any order and while other ranks may use them.
  if (group && context.backend == BackendKind::nccl) end_communicators(*group, context.timeout() + beyond_c10d);
  // Rank 0 serves the store, so it leaves last.
  if (group && !arguments.gather.empty()) {
    gather_files(context, {arguments.gather, arguments.overwrite}, arguments.entrance.token, *group->store);
  } else if (group) {
    group->control->barrier()->wait();
  }
  status::set(status::Activity::done);
  if (context.closing_line) std::cerr << closing_line(context, result) << std::endl;
  delete group;
}

int guarded_main(int argc, char** argv) {
  const std::int64_t began_ns = monotonic_ns();
  std::string who = "ddpprof-worker";
  try {
    Arguments arguments = read_arguments(argc, argv);
    who += ": rank " + std::to_string(arguments.context.environment.rank);
    fail_where_a_thread_throws(who);
    status::open();
    annotate::initialize();
    annotate::name_thread("main");
    run(arguments, began_ns);
    return done;
  } catch (const UsageError& error) {
    leave(usage, who + ": " + error.what());
  } catch (const scenario::DataError& error) {
    leave(usage, who + ": " + error.what());
  } catch (const MissingAbility& error) {
    leave(missing, who + ": " + error.what());
  } catch (const mpi::LibraryError& error) {
    leave(missing, who + ": " + error.what());
  } catch (const std::exception& error) {
    fail(who, error.what());
  }
}

}  // namespace
}  // namespace ddpprof::worker

int main(int argc, char** argv) { return ddpprof::worker::guarded_main(argc, argv); }
