#include "runner/job/trace_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <system_error>
#include <utility>

#include "analysis/import/load/inputs.hpp"
#include "analysis/import/load/read_rank.hpp"

namespace ddpprof::job {
namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds unchanged_for{3};

std::vector<fs::path> traces_in(const fs::path& folder) {
  try {
    return import::expand_inputs({folder.string()});
  } catch (const import::ImportError&) {  // no trace yet
    return {};
  }
}

// Sizes of the files, and since when they are what they are.
struct Watched {
  std::map<fs::path, std::uintmax_t> sizes;
  SteadyClock::time_point since = SteadyClock::now();
};

}  // namespace

TraceSource own_traces() {
  TraceSource source;
  source.environment = [](const fs::path& folder) {
    return std::map<std::string, std::string>{{"DDPPROF_TRACE_DIR", folder.string()}};
  };
  source.complete = [watched = std::make_shared<Watched>()](const fs::path& folder, std::int64_t ranks) {
    std::map<fs::path, std::uintmax_t> sizes;
    for (const fs::path& file : traces_in(folder)) {
      std::error_code error;
      if (const std::uintmax_t size = fs::file_size(file, error); !error) sizes[file] = size;
    }
    if (sizes != watched->sizes) {
      watched->sizes = std::move(sizes);
      watched->since = SteadyClock::now();
    }
    return static_cast<std::int64_t>(watched->sizes.size()) >= ranks &&
           std::ranges::all_of(watched->sizes, [](const auto& file) { return file.second > 0; }) &&
           SteadyClock::now() - watched->since >= unchanged_for;
  };
  source.collect = [](const fs::path& folder, std::vector<std::string>& notes) {
    std::vector<fs::path> files = traces_in(folder);
    if (files.empty())
      notes.emplace_back(
          "the job wrote no trace to the folder that its variable DDPPROF_TRACE_DIR names "
          "(prof.export_chrome_trace(f\"{folder}/rank{rank}.json.gz\"))");
    return files;
  };
  return source;
}

TraceSource injected_traces(const fs::path& module_folder, const python_tracer::StepWindow& window,
                            std::int64_t noise_steps) {
  const auto python_folder = [](const fs::path& folder) { return folder / "python"; };
  const auto own_folder = [](const fs::path& folder) { return folder / "own"; };
  const TraceSource own = own_traces();
  TraceSource source;
  source.environment = [=](const fs::path& folder) {
    fs::create_directories(python_folder(folder));
    fs::create_directories(own_folder(folder));
    std::map<std::string, std::string> variables =
        python_tracer::environment(
            {module_folder, python_folder(folder), window, python_tracer::Mode::always, noise_steps});
    variables.merge(own.environment(own_folder(folder)));
    return variables;
  };
  source.complete = [=](const fs::path& folder, std::int64_t ranks) {
    return static_cast<std::int64_t>(python_tracer::collect(python_folder(folder)).files.size()) >= ranks ||
           own.complete(own_folder(folder), ranks);
  };
  source.collect = [=](const fs::path& folder, std::vector<std::string>& notes) {
    std::vector<std::string> ignored;
    std::vector<fs::path> files = own.collect(own_folder(folder), ignored);
    python_tracer::Traces traces = python_tracer::collect(python_folder(folder));
    if (!files.empty() && files.size() >= traces.files.size()) return files;
    if (!files.empty())
      notes.push_back(fmt::format("the job wrote traces of {} of {} ranks itself; those of ddpprof's module are used",
                                  files.size(), traces.files.size()));
    notes.insert(notes.end(), traces.notes.begin(), traces.notes.end());
    if (!traces.nothing.empty()) notes.push_back(traces.nothing);
    return std::move(traces.files);
  };
  return source;
}

}  // namespace ddpprof::job
