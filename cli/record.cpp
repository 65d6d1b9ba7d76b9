// ddpprof record: runs the user's own job, unmodified, with the tracer in each of its processes. Makes a database from
// the recorded shards.
#include <fmt/format.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <ostream>

#include "analysis/import/load/inputs.hpp"
#include "cli/jobs/import_traces.hpp"
#include "cli/jobs/imported_database.hpp"
#include "cli/jobs/record_python.hpp"
#include "cli/option_values.hpp"
#include "cli/subcommand.hpp"
#include "runner/launcher/foreground.hpp"
#include "runner/launcher/rank_environment.hpp"
#include "runner/measure/error.hpp"
#include "runner/measure/installation.hpp"
#include "runner/measure/plan.hpp"
#include "runner/measure/recording_bounds.hpp"
#include "runner/measure/side_folder.hpp"
#include "tracer/format/shard_format.hpp"
#include "tracer/store/shard/shard_reader.hpp"

namespace ddpprof::cli {
namespace {

namespace fs = std::filesystem;

std::string own_boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::vector<std::string> shards_in(const fs::path& folder) {
  std::vector<std::string> shards;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".ddps" && !import::is_shard_not_begun(entry.path()))
      shards.push_back(entry.path().string());
  std::sort(shards.begin(), shards.end());
  return shards;
}

// Returns true if recording was never on in the process of this shard.
bool kept_nothing(const fs::path& shard) {
  try {
    const store::BoundsInfo bounds = store::ShardReader(shard).info().bounds;
    return bounds.asked && !bounds.opened;
  } catch (const store::ShardError&) {
    return false;
  }
}

// Returns true if the folder has nothing but the shared page of the bounds, empty shards, and a Python module's folder
// without traces.
bool holds_nothing(const fs::path& folder) {
  std::error_code error;
  if (!python_tracer::collect(Tracers::python_folder(folder)).files.empty()) return false;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().filename() != trace::control_page_name && entry.path() != Tracers::python_folder(folder) &&
        !(entry.path().extension() == ".ddps" && kept_nothing(entry.path())))
      return false;
  return true;
}

// Locks the folder while this object exists, so that another ddpprof record does not take it for an abandoned one
// before the job has written into it. A file system without locks is used without.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder)
      : descriptor_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
        others_(descriptor_ >= 0 && flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {}
  ~FolderLock() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  // Returns true if another process has the lock, or replaced the folder before this process locked it.
  bool taken(const fs::path& folder) const {
    struct stat held {
    }, now{};
    if (others_ || descriptor_ < 0) return others_;
    return fstat(descriptor_, &held) != 0 || stat(folder.c_str(), &now) != 0 || held.st_dev != now.st_dev ||
           held.st_ino != now.st_ino;
  }

 private:
  int descriptor_;
  bool others_;
};

// Returns false for a zombie too: in some containers the first process does not wait for ended ones.
bool runs(std::int64_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(") ");  // the process name before it may contain any character
  return name_end != std::string::npos && name_end + 2 < line.size() && line[name_end + 2] != 'Z' &&
         line[name_end + 2] != 'X';
}

// Returns the number of processes of this host that run and have not closed their shard in the folder.
std::size_t writing(const fs::path& folder) {
  std::size_t running = 0;
  for (const std::string& path : shards_in(folder)) try {
      const store::ShardInfo info = store::ShardReader(path).info();
      running += !info.closed && info.boot_id == own_boot_id() && runs(info.pid) ? 1 : 0;
    } catch (const store::ShardError&) {
      continue;  // the import reports it
    }
  return running;
}

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void declare_bounds(CLI::App& app, measure::RecordingOptions& given) {
  app.add_option("--delay", given.delay_s, "Start recording this many seconds after the command's start");
  app.add_option("--duration", given.duration_s, "Record for this many seconds; the job continues to its end");
  app.add_option("--steps", given.steps, "Record only steps A to B of each process: A-B, A-, -B or A");
  app.add_option("--step-range", given.step_range,
                 "With --steps: name of the NVTX ranges of steps, before their number");
  app.add_option("--toggle-signal", given.toggle_signal,
                 "Signal to ddpprof record that starts and stops recording: USR1, USR2, RTMIN+N");
  app.add_flag("--paused", given.paused, "With --toggle-signal: record nothing until the first signal");
}

class Record : public Subcommand {
 public:
  std::string_view name() const override { return "record"; }
  std::string_view summary() const override { return "Run your own job, unmodified, and record its processes"; }
  std::vector<std::string_view> examples() const override {
    return {"ddpprof record --out job.db -- torchrun --nproc-per-node 2 train.py",
            "ddpprof record --append job.db -- torchrun --nproc-per-node 4 train.py"};
  }

  void declare(CLI::App& app) override {
    app.add_option("command", command_,
                   "Command to run, after --: ddpprof record -- torchrun --nproc-per-node 4 train.py")
        ->required();
    CLI::Option* out =
        app.add_option("--out", out_, "Database to write (default: the command's name)")->type_name("PATH");
    app.add_option("--append", append_, "Database to which the measurement is added, instead of --out")
        ->type_name("PATH")
        ->excludes(out);
    app.add_flag("--overwrite", overwrite_, "Replace the database if it exists");
    with_words(app.add_option("--tracer", tracer_, tracer_help), {"auto", "native", "torch", "both"})
        ->type_name("TRACER")
        ->capture_default_str();
    with_words(app.add_option("--format", format_, format_help), formats)->type_name("FORMAT")->capture_default_str();
    app.add_flag(full_names, full_, full_help);
    app.add_option("--batch-per-worker", batch_per_worker_, "Samples per rank and micro-batch")->check(from_one);
    app.add_option("--param-bytes", parameter_bytes_,
                   "Bytes of all gradients, if the recorded collectives have no message sizes")
        ->check(from_one);
    app.add_option("--nodes", nodes_, "Number of hosts (default: the hosts that the recordings name)")->check(from_one);
    app.add_option("--model", model_, "Name of the model (default: the database's)");
    app.add_option("--max-mb", max_mb_, "Limit of recorded MiB per process (default 1024)")
        ->check(CLI::Range(std::int64_t{1}, static_cast<std::int64_t>(trace::largest_cap_mib)));
    declare_bounds(app, given_);
    app.add_option("--noise-scale", noise_steps_, noise_scale_help)
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
    app.add_flag("--keep-shards", keep_shards_, "Keep the recorded shards in FILE.db.recording");
    app.add_flag("--no-raw", no_raw_,
                 "Leave out single events: the database is smaller, and its timeline does not show them");
  }

  std::vector<std::string>* verbatim() override { return &command_; }

  // After the job has run, returns its exit code, even if no database can be made.
  ExitCode run(Context& context) override {
    const report::Format format = checked_format(format_);
    const measure::RecordingBounds bounds = measure::checked_bounds(given_);
    const Tracers tracers(tracer_, given_, bounds, noise_steps_);
    const fs::path tracer = measure::find_tracer();
    if (!append_.empty()) out_ = append_;
    if (out_.empty()) out_ = fs::path(command_.front()).stem().string() + ".db";
    std::optional<FolderLock> held;
    const fs::path shards = prepare(held);
    for (const char* name : {"NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH"})
      if (const char* other = std::getenv(name); other != nullptr && *other != '\0' && !context.quiet)
        context.messages << "ddpprof record: " << name << " is " << other
                         << ": ddpprof's tracer replaces it for the job\n";
    if (const auto plugin = launcher::other_nccl_plugin(tracer); plugin && !context.quiet)
      context.messages
          << "ddpprof record: NCCL_PROFILER_PLUGIN is " << *plugin
          << " and is not replaced: NCCL's algorithms and protocols are not recorded; unset it to record them\n";
    context.messages.flush();  // before the job prints anything
    const launcher::ForegroundEnd end = run_job(bounds, environment(tracers, tracer, shards), tracers, shards, context);
    std::signal(
        SIGPIPE,
        SIG_IGN);  // the reader of a pipe may have ended with the job; the job's exit code must still be returned
    if (end.start_error != 0) {
      std::error_code ignored;
      fs::remove_all(shards, ignored);
      context.messages << fmt::format("ddpprof record: {} cannot be started: {}\n", command_.front(),
                                      std::strerror(end.start_error));
      return static_cast<ExitCode>(end.shell_code());
    }
    if (!context.quiet && end.signal)
      context.messages << fmt::format("ddpprof record: the job was ended by signal {}\n", *end.signal);
    bool made = false;
    try {
      made = keep(shards, tracers, format, context);
    } catch (const UserError& error) {
      context.messages << "ddpprof record: " << error.text() << '\n';
    } catch (const std::exception& error) {
      context.messages << "ddpprof record: cannot make the database or its report: " << error.what() << '\n';
    }
    std::error_code ignored;
    const std::size_t running = writing(shards);
    if (running > 0)
      context.messages << fmt::format(
          "ddpprof record: {} process{} of the job still run{}: their events from now on are "
          "not in the database\n",
          running, running == 1 ? "" : "es", running == 1 ? "s" : "");
    if (running == 0 && ((made && !keep_shards_) || holds_nothing(shards)))
      fs::remove_all(shards, ignored);
    else if (!made || !context.quiet)
      context.messages << "ddpprof record: the recorded shards are in " << shards.string()
                       << (made ? "" : "; 'ddpprof import' reads them") << '\n';
    return static_cast<ExitCode>(end.shell_code());
  }

 private:
  // Makes the folder of the shards. Problems with --out are found before the job runs.
  fs::path prepare(std::optional<FolderLock>& held) const {
    std::error_code error;
    if (!append_.empty()) {
      if (overwrite_)
        throw Failure(ExitCode::usage, "--append keeps the database, and --overwrite replaces it", "one of them");
      check_appendable(out_);
    } else if (!overwrite_ && fs::exists(out_, error))
      throw Failure(ExitCode::usage, out_ + " exists", "a new file", "give --overwrite, or another file with --out");
    if (fs::exists(out_, error) && import::kind_of(out_) != import::FileKind::ours)
      throw Failure(ExitCode::usage, out_ + " is not a database of ddpprof and is not replaced", "",
                    "give another --out");
    const fs::path out = fs::absolute(out_);
    if (!fs::is_directory(out.parent_path(), error))
      throw Failure(ExitCode::usage, out.parent_path().string() + " is not a folder", "an existing folder for --out",
                    "make it first");
    measure::SideFolder{measure::side_folder(out)};  // throws if it may not be replaced or is in use
    const fs::path shards = shard_folder();
    const auto refuse_taken = [&] {
      if (held.emplace(shards).taken(shards))
        throw Failure(ExitCode::usage, shards.string() + " is in use by another ddpprof record", "",
                      "give another --out, or wait until it ends");
    };
    if (fs::is_directory(shards, error)) refuse_taken();
    // The folder of an ended ddpprof record is removed with --overwrite, or if it has no events.
    if (fs::is_directory(shards, error) && (overwrite_ || holds_nothing(shards)) && writing(shards) == 0)
      fs::remove_all(shards, error);
    if (!fs::create_directory(shards, error))
      throw Failure(
          error ? ExitCode::failed : ExitCode::usage,
          error ? "cannot make the folder " + shards.string() + ": " + error.message()
                : shards.string() + " exists: it has shards of another ddpprof record, whose job may still write",
          "",
          error ? "check whether the disk is full or the folder is read-only, or give --out in another folder"
                : "'ddpprof import' reads its shards; --overwrite removes it if no process writes");
    refuse_taken();
    return shards;
  }

  fs::path shard_folder() const { return fs::absolute(out_).string() + ".recording"; }

  std::map<std::string, std::string> environment(const Tracers& tracers, const fs::path& tracer,
                                                 const fs::path& shards) const {
    std::map<std::string, std::string> variables = tracers.environment(shards);
    if (tracers.native()) variables.merge(launcher::tracer_environment(tracer, shards));
    if (max_mb_) variables["DDPPROF_TRACE_MAX_MB"] = std::to_string(*max_mb_);
    return variables;
  }

  launcher::ForegroundEnd run_job(const measure::RecordingBounds& bounds,
                                  const std::map<std::string, std::string>& variables, const Tracers& tracers,
                                  const fs::path& shards, Context& context) const {
    // A signal that arrives after the end of the job must not end this process before the database is made.
    const auto ended = [&] {
      for (const int late : {SIGUSR1, SIGUSR2, bounds.toggle_signal})
        if (late != 0) std::signal(late, SIG_IGN);
    };
    if (!given_.any() || !tracers.native()) return launcher::run_foreground(command_, variables, {0, {}, ended});
    std::optional<measure::ControlPageFile> page;
    try {
      page.emplace(shards, bounds);
    } catch (const measure::CannotWrite&) {
      std::error_code ignored;
      fs::remove_all(shards, ignored);
      throw;
    }
    const auto toggle = [&] {
      const std::optional<bool> on = page->toggle(now_ns());
      if (!on)
        context.messages << "ddpprof record: recording was started and stopped too often: the signal is ignored\n";
      else if (!context.quiet)
        context.messages << (*on ? "ddpprof record: recording is on\n" : "ddpprof record: recording is off\n");
      context.messages.flush();
    };
    page->start(now_ns());
    return launcher::run_foreground(command_, variables, {bounds.toggle_signal, toggle, ended});
  }

  // Returns true if a database was made.
  bool keep(const fs::path& shards, const Tracers& tracers, report::Format format, Context& context) const {
    TraceImport request;
    request.inputs = inputs(shards, tracers, context);
    request.database = out_;
    request.overwrite = overwrite_;
    request.append = !append_.empty();
    request.keep_raw = !no_raw_;
    request.subcommand = "record";
    request.batch_per_worker = batch_per_worker_;
    request.parameter_bytes = parameter_bytes_;
    request.nodes = nodes_;
    request.cores = measure::available_cores();
    request.model = model_.empty() && append_.empty() ? fs::path(out_).stem().string() : model_;
    request.format = format;
    // Standard output belongs to the job, so the report goes to standard error.
    Context beside{.out = context.messages, .messages = context.messages, .quiet = context.quiet, .full = full_};
    beside.program = context.program;
    import_trace_files(request, beside);
    return true;
  }

  // Returns the traces of torch.profiler if there are any, otherwise the shards. Throws Failure if there is neither.
  std::vector<std::string> inputs(const fs::path& shards, const Tracers& tracers, Context& context) const {
    std::vector<std::string> native = shards_in(shards);
    if (!tracers.torch()) {
      if (native.empty())
        throw Failure(
            ExitCode::data, "nothing was recorded: no process of the job used NVTX or a GPU",
            "NVTX ranges (nvtx.push_range, torch.cuda.nvtx) or CUDA",
            "no database was made; " +
                (tracers.left_out().empty() ? "--tracer torch records a Python job without them" : tracers.left_out()));
      return native;
    }
    const python_tracer::Traces traces = python_tracer::collect(Tracers::python_folder(shards));
    for (const std::string& note : traces.notes) context.messages << "ddpprof record: torch.profiler: " << note << '\n';
    std::vector<std::string> torch;
    for (const fs::path& file : traces.files) torch.push_back(file.string());
    if (tracer_ == "auto" && !torch.empty() && traces.native > 0 && !native.empty()) {
      context.messages << fmt::format(
          "ddpprof record: {} process{} used CUDA or NVTX: the native tracer's recording is used, and the {} "
          "trace{} of torch.profiler {} not; --tracer torch uses {}\n",
          traces.native, traces.native == 1 ? "" : "es", torch.size(), torch.size() == 1 ? "" : "s",
          torch.size() == 1 ? "is" : "are", torch.size() == 1 ? "it" : "them");
      return native;
    }
    if (!torch.empty()) return torch;
    if (native.empty())
      throw Failure(ExitCode::data,
                    fmt::format("nothing was recorded: no process of the job used NVTX or a GPU, and torch.profiler "
                                "traced no training: {}",
                                traces.nothing),
                    "a training in Python with optimizer steps of torch, NVTX ranges, or CUDA", "no database was made");
    if (tracer_ != "auto")
      context.messages << "ddpprof record: torch.profiler traced no training: " << traces.nothing
                       << "; the native tracer's recording is used\n";
    return native;
  }

  std::vector<std::string> command_;
  measure::RecordingOptions given_;
  std::string out_, append_, format_ = "table", model_, tracer_ = "auto";
  std::optional<std::int64_t> batch_per_worker_, parameter_bytes_, nodes_, max_mb_;
  std::int64_t noise_steps_ = 0;
  bool full_ = false, overwrite_ = false, no_raw_ = false, keep_shards_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> make_record() { return std::make_unique<Record>(); }

}  // namespace ddpprof::cli
