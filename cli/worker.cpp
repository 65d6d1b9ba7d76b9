// ddpprof worker: one rank of a training that torchrun, srun, mpirun or a shell starts, or a process of its own.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <ostream>

#include "analysis/import/ranks/rank_folder.hpp"
#include "cli/files/scenario_file.hpp"
#include "cli/option_values.hpp"
#include "cli/subcommand.hpp"
#include "runner/host/network.hpp"
#include "runner/launcher/exchange/token.hpp"
#include "runner/launcher/listening_socket.hpp"
#include "runner/launcher/rank_environment.hpp"
#include "runner/launcher/start.hpp"
#include "runner/launcher/status_page.hpp"
#include "runner/measure/installation.hpp"
#include "runner/measure/plan.hpp"

namespace ddpprof::cli {
namespace {

namespace fs = std::filesystem;
using launcher::Start;
using launcher::Starter;

// Writes a temporary file and renames it, so that a concurrent reader sees the complete file or none.
void write_whole(const fs::path& path, const std::string& text) {
  fs::path partial = path;
  partial += fmt::format(".{}.partial", getpid());
  std::ofstream file(partial);
  file << text;
  file.close();
  std::error_code error;
  if (file) fs::rename(partial, path, error);
  if (!file || error)
    throw Failure(ExitCode::failed, "cannot write " + path.string(), "", "check whether the disk is full");
}

const std::vector<std::string> strategies = {"ddp", "dp"};

class Worker : public Subcommand {
 public:
  std::string_view name() const override { return "worker"; }
  std::string_view summary() const override {
    return "Run one rank of a training that torchrun, srun or mpirun starts";
  }
  std::vector<std::string_view> examples() const override {
    return {"torchrun --no-python --nproc-per-node 2 ddpprof worker scenario.yaml --out ranks",
            "mpirun -n 4 ddpprof worker scenario.yaml --out ranks"};
  }

  void declare(CLI::App& app) override {
    app.add_option("scenario", scenario_file_,
                   "Scenario file (docs/reference/scenario.md); docs/guide/starting.md shows the ways to start")
        ->required();
    app.add_option("--out", out_, "Folder for this rank's results; ranks may share it, also between hosts")
        ->type_name("FOLDER")
        ->required();
    with_words(app.add_option("--strategy", strategy_, "ddp (default), or dp: one process with --replicas"), strategies)
        ->type_name("STRATEGY");
    app.add_option("--replicas", replicas_, "DataParallel's replicas (default: every visible GPU)")
        ->check(CLI::Range(1, 1024));
    app.add_flag("--bench-comm", bench_comm_,
                 "Time all-reduces of 1 KiB to 256 MiB among the ranks instead of training");
    app.add_option("--set", overrides_, "Override a key: --set measure.steps=20 (repeatable)")->allow_extra_args(false);
    app.add_option("--rendezvous-timeout", timeout_s_,
                   "Seconds to reach rank 0, and again until every rank has joined (default 120)")
        ->check(CLI::Range(0.1, 86400.0));
    app.add_option("--listen", listen_,
                   "Rank 0: address of this host to listen on, if MASTER_ADDR is not one (address translation, name\n"
                   "of a service); 0.0.0.0 or :: for all addresses. The other ranks do not need it");
    app.add_option("--token-file", token_file_,
                   "File (mode 0600) or pipe with the run's token, the same on every rank; default: the file in\n"
                   "DDPPROF_TOKEN_FILE (docs/guide/network.md)");
    app.add_flag("--gather", gather_,
                 "Send every rank's files to rank 0's folder at the end, for hosts without a shared folder");
    app.add_flag("--overwrite", overwrite_, "Remove the files of an earlier run of this rank from the folder");
  }

  ExitCode run(Context& context) override {
    check_word("--strategy", strategy_, strategies);
    const Start start = read_environment();
    const bool dp = strategy_ == "dp";
    if (dp && start.world_size != 1)
      throw Failure(ExitCode::usage,
                    fmt::format("--strategy dp is one process with replicas, but WORLD_SIZE={}", start.world_size),
                    "--strategy ddp, or one process", "start one process and give --replicas");
    if (!dp && replicas_ > 0)
      throw Failure(ExitCode::usage, "--replicas needs --strategy dp", "", "give --strategy dp, or no --replicas");
    if (bench_comm_ && (dp || start.world_size < 2))
      throw Failure(ExitCode::usage, "--bench-comm times messages between ranks, and this is a single process",
                    "two ranks or more", "docs/guide/starting.md shows a command for each way to start them");
    if (!listen_.empty() && start.rank == 0 && start.store_elsewhere)
      throw Failure(ExitCode::usage,
                    "--listen sets rank 0's socket, but under torchrun its agent serves the ranks' store",
                    "no --listen under torchrun", "docs/guide/network.md describes where torchrun listens");
    const std::int64_t workers = dp ? replicas() : start.world_size;
    const scenario::ReadResult read = read_for(context, workers);
    const std::optional<launcher::Token> token = read_token();
    const measure::Installation installation = measure::find_installation();
    const ranks::RankFiles files =
        ranks::claim_rank_files(out_, start, launcher::torchrun_agent(), overwrite_, gather_ && start.rank == 0);
    write_whole(files.scenario, scenario::to_yaml(read.scenario));
    write_whole(files.start, described(start, workers, read.source).dump() + "\n");
    if (!context.quiet) say_what(context, start, read.scenario);
    become_worker(context, start, workers, read.scenario, installation, files, token);
  }

 private:
  static Start read_environment() {
    try {
      return launcher::read_start();
    } catch (const launcher::StartError& error) {
      throw Failure(ExitCode::failed, error.what(), "", "docs/guide/starting.md shows a command for each way to start");
    }
  }

  std::optional<launcher::Token> read_token() const {
    const char* variable = std::getenv(launcher::token_file_variable);
    const std::string file = !token_file_.empty() ? token_file_ : variable != nullptr ? variable : "";
    if (file.empty()) return std::nullopt;
    try {
      return launcher::read_token(file);
    } catch (const launcher::TokenError& error) {
      throw Failure(ExitCode::usage, error.what());
    }
  }

  std::int64_t replicas() const {
    if (replicas_ > 0) return replicas_;
    if (const std::int64_t gpus = measure::visible_gpus(); gpus > 0) return gpus;
    throw Failure(ExitCode::usage, "--strategy dp on a machine without a GPU needs the number of replicas",
                  "--replicas N", "give --replicas");
  }

  // The scenario at this world size. Its own `workers` and `strategies` apply to `ddpprof run` only.
  scenario::ReadResult read_for(Context& context, std::int64_t workers) const {
    scenario::ReadResult result = read_scenario(context, scenario_file_, overrides_);
    if (result.scenario.has_command())
      throw Failure(ExitCode::usage, scenario_file_ + " has a command, which is not a rank of ddpprof",
                    "a scenario with workload.model", "start it with 'ddpprof run' or 'ddpprof record'");
    std::vector<std::string> overrides = overrides_;
    overrides.push_back(fmt::format("workers=[{}]", workers));
    overrides.push_back(fmt::format("strategies=[{}]", strategy_));
    const std::string source = result.source;
    result = scenario::read_file(scenario_file_, overrides);
    result.source = source;
    for (const scenario::Problem& problem : result.problems) context.messages << problem.text() << '\n';
    if (!result.problems.empty())
      throw Failure(ExitCode::usage, fmt::format("{} does not fit {} workers", scenario_file_, workers), "",
                    "docs/reference/scenario.md describes the conditions");
    scenario::resolve_paths(result.scenario, scenario_file_, overrides);
    return result;
  }

  nlohmann::json described(const Start& start, std::int64_t workers, const std::string& source) const {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return {{"format", 1},
            {"program_version", DDPPROF_VERSION},
            {"rank", start.rank},
            {"world_size", start.world_size},
            {"local_rank", start.local_rank},
            {"workers", workers},
            {"mode", bench_comm_ ? "bench-comm" : "train"},
            {"strategy", strategy_},
            {"trained_with", start.starter == Starter::none && strategy_ == "ddp" ? "none" : strategy_},
            {"started_by", launcher::to_string(start.starter)},
            {"attempt", start.attempt},
            {"agent", launcher::torchrun_agent()},
            {"job", start.run_id},
            {"meeting", ranks::meeting_place(start)},
            {"host", host::host_name()},
            {"pid", getpid()},
            {"started_utc_ns", std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()},
            {"scenario_file", fs::path(scenario_file_).filename().string()},
            {"scenario_source", source}};
  }

  void say_what(Context& context, const Start& start, const scenario::Scenario& scenario) const {
    std::string text = "ddpprof worker: " + launcher::describe(start);
    if (strategy_ == "dp") {
      text += ", DataParallel";
    } else if (start.starter == Starter::none) {
      text +=
          ": neither RANK and WORLD_SIZE nor Slurm's or Open MPI's variables are set; trained without DDP (no "
          "process group, no Reducer)";
    } else if (start.world_size > 1 && !start.store_elsewhere) {
      text += fmt::format(", meeting at {}:{}{}", start.master_address, start.master_port,
                          start.master_source.empty() ? "" : " (" + start.master_source + ")");
    }
    text += fmt::format("; {} -> {}\n", bench_comm_ ? "all-reduces" : scenario.name, out_);
    if (start.rank == 0) text += fmt::format("ddpprof worker: afterwards: ddpprof import {} --out FILE.db\n", out_);
    context.messages << text;  // in one write: ranks share the stream
  }

  [[noreturn]] void become_worker(Context& context, const Start& start, std::int64_t workers,
                                  const scenario::Scenario& scenario, const measure::Installation& installation,
                                  const ranks::RankFiles& files, const std::optional<launcher::Token>& token) const {
    std::vector<std::string> arguments = {installation.worker.string(),
                                          "--scenario",
                                          files.scenario.string(),
                                          "--strategy",
                                          strategy_,
                                          "--mode",
                                          bench_comm_ ? "bench-comm" : "train",
                                          "--result",
                                          files.result.string(),
                                          "--run-file",
                                          files.run.string(),
                                          "--rendezvous-timeout",
                                          fmt::format("{}", timeout_s_)};
    if (strategy_ == "dp") {
      arguments.insert(arguments.end(), {"--replicas", std::to_string(workers)});
    } else if (start.starter == Starter::none) {
      arguments.emplace_back("--without-ddp");
    }
    if (!context.quiet) arguments.emplace_back("--closing-line");
    if (gather_ && start.world_size > 1)
      arguments.insert(arguments.end(), {"--gather", fs::absolute(files.folder).string()});
    if (gather_ && overwrite_) arguments.emplace_back("--overwrite");
    if (start.several_hosts)
      arguments.emplace_back("--several-hosts");  // from Slurm's variables, which the variables below replace
    if (!listen_.empty()) arguments.insert(arguments.end(), {"--listen", listen_});
    if (token) arguments.insert(arguments.end(), {"--token-pipe", std::to_string(token->to_pipe())});

    std::map<std::string, std::string> environment = {{"RANK", std::to_string(start.rank)},
                                                      {"WORLD_SIZE", std::to_string(start.world_size)},
                                                      {"LOCAL_RANK", std::to_string(start.local_rank)},
                                                      {"MASTER_ADDR", start.master_address}};
    if (start.local_world_size > 0) environment["LOCAL_WORLD_SIZE"] = std::to_string(start.local_world_size);
    // The variables above look like a start by hand, so the job's name is passed on separately.
    if (!start.run_id.empty()) environment[launcher::run_id_variable] = start.run_id;
    if (start.master_port > 0) environment["MASTER_PORT"] = std::to_string(start.master_port);
    // Absolute: a rank may be started in its own folder, and the tracer opens its shard later.
    // Not with --bench-comm: the worker measures the times itself.
    if (scenario.measure.trace && !bench_comm_)
      environment.merge(launcher::tracer_environment(installation.tracer, fs::absolute(files.trace)));
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    for (const char* name : {launcher::status_file_variable, launcher::master_fd_variable}) unsetenv(name);
    // The parent is torchrun's agent, or a shell between. If it ends, this rank must end too.
    if (start.starter == Starter::torchrun) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent_)  // it ended before prctl
        throw Failure(ExitCode::failed, "torchrun's agent, which started this rank, has ended");
    }

    context.out.flush();
    context.messages.flush();
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    throw Failure(ExitCode::machine, fmt::format("cannot start {}: {}", argv[0], std::strerror(errno)));
  }

  const pid_t parent_ = getppid();
  std::string scenario_file_, out_, strategy_ = "ddp", listen_, token_file_;
  std::vector<std::string> overrides_;
  std::int64_t replicas_ = 0;
  double timeout_s_ = 120;
  bool overwrite_ = false, bench_comm_ = false, gather_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> make_worker() { return std::make_unique<Worker>(); }

}  // namespace ddpprof::cli
