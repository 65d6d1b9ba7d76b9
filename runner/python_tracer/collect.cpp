#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "runner/python_tracer/python_tracer.hpp"

namespace ddpprof::python_tracer {
namespace {

using nlohmann::json;

// One process in python-HOST.jsonl.
struct Process {
  std::string rank;  // its variable RANK; empty: none
  bool torch = false, tracing = false, traced = false, native = false;
  std::vector<std::string> problems;
  std::optional<std::int64_t> steps;  // it ended after this many steps, before its window was complete
};

struct Trace {
  std::filesystem::path file;
  std::int64_t rank = 0, attempt = 0;
};

struct Lines {
  std::map<std::pair<std::string, std::int64_t>, Process> processes;  // by file (one per host) and process id
  std::vector<Trace> traces;                                          // in the order in which they were written
};

template <typename T>
T value_or(const json& object, const char* key, T otherwise) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return otherwise;
  if constexpr (std::is_same_v<T, std::string>)
    return found->is_string() ? found->get<std::string>() : otherwise;
  else
    return found->is_number_integer() ? found->get<T>() : otherwise;
}

void read_file(const std::filesystem::path& path, Lines& lines) {
  const std::filesystem::path folder = path.parent_path();
  std::ifstream file(path);
  for (std::string text; std::getline(file, text);) {
    const json line = json::parse(text, nullptr, false);
    if (!line.is_object()) continue;  // a line of a full disk
    Process& process = lines.processes[{path.filename().string(), value_or<std::int64_t>(line, "pid", 0)}];
    if (const auto rank = value_or<std::string>(line, "rank", ""); !rank.empty()) process.rank = rank;
    const auto event = value_or<std::string>(line, "event", "");
    if (event == "torch") process.torch = true;
    if (event == "tracing") process.tracing = true;
    if (event == "native") process.native = true;
    if (event == "problem") process.problems.push_back(value_or<std::string>(line, "reason", "unknown"));
    if (event == "ended") process.steps = value_or<std::int64_t>(line, "steps", 0);
    if (event == "traced") {
      process.traced = true;
      // Only a name: the job must not make ddpprof read another folder.
      const std::filesystem::path name = std::filesystem::path(value_or<std::string>(line, "file", "")).filename();
      lines.traces.push_back(
          {folder / name, value_or<std::int64_t>(line, "rank_number", 0), value_or<std::int64_t>(line, "attempt", 0)});
    }
  }
}

Lines read_lines(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with("python") && name.ends_with(".jsonl")) files.push_back(entry->path());
  }
  std::ranges::sort(files);
  Lines lines;
  for (const std::filesystem::path& file : files) read_file(file, lines);
  return lines;
}

std::string name_of(const std::pair<std::string, std::int64_t>& place, const Process& process) {
  return process.rank.empty() ? fmt::format("process {}", place.second) : "rank " + process.rank;
}

// The last trace of each rank in the attempt that has the most ranks; ties go to the later attempt.
std::vector<std::filesystem::path> last_of_ranks(const std::vector<Trace>& traces, std::vector<std::string>& notes) {
  std::map<std::int64_t, std::map<std::int64_t, std::filesystem::path>> attempts;
  for (const Trace& trace : traces) attempts[trace.attempt][trace.rank] = trace.file;
  std::map<std::int64_t, std::filesystem::path> chosen;
  for (const auto& [attempt, ranks] : attempts)
    if (ranks.size() >= chosen.size()) chosen = ranks;
  std::vector<std::filesystem::path> files;
  for (const auto& [rank, file] : chosen) files.push_back(file);
  if (files.size() < traces.size())
    notes.push_back(fmt::format("{} earlier trace{} of the same ranks {} left out: the job trained several times",
                                traces.size() - files.size(), traces.size() - files.size() == 1 ? "" : "s",
                                traces.size() - files.size() == 1 ? "is" : "are"));
  return files;
}

// Problems of processes, each reason once with all its processes.
void add_problems(const Lines& lines, std::vector<std::string>& notes) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_reason;
  const auto add = [&](const std::string& reason, const std::string& who) {
    auto found = std::find_if(by_reason.begin(), by_reason.end(), [&](const auto& one) { return one.first == reason; });
    if (found == by_reason.end()) found = by_reason.insert(by_reason.end(), {reason, {}});
    found->second.push_back(who);
  };
  for (const auto& [place, process] : lines.processes) {
    for (const std::string& reason : process.problems) add(reason, name_of(place, process));
    if (process.tracing && !process.traced && process.problems.empty())
      add("it ended during its traced steps (a signal or os._exit), so there is no trace of it",
          name_of(place, process));
  }
  for (const auto& [reason, who] : by_reason) notes.push_back(fmt::format("{}: {}", fmt::join(who, ", "), reason));
}

// For a job without any trace.
std::string why_nothing(const Lines& lines) {
  if (lines.processes.empty())
    return "no Python process of the job loaded ddpprof's module. It cannot be loaded by python -S, -I or -E, by "
           "frozen "
           "programs, and if the job replaces PYTHONPATH (extend it instead: PYTHONPATH=src:$PYTHONPATH)";
  bool torch = false;
  std::optional<std::int64_t> steps;
  for (const auto& [place, process] : lines.processes) {
    if (process.native)
      return fmt::format("{} used CUDA or NVTX and is left to the native tracer; --tracer torch traces it",
                         name_of(place, process));
    torch = torch || process.torch;
    if (process.steps) steps = std::max(steps.value_or(0), *process.steps);
  }
  if (!torch)
    return fmt::format(
        "none of {} Python process{} with ddpprof's module imported torch. If the job starts Python with -S, -I or -E, "
        "or replaces PYTHONPATH, the module cannot be loaded there",
        lines.processes.size(), lines.processes.size() == 1 ? "" : "es");
  if (steps.value_or(0) > 0)
    return fmt::format(
        "the training ended after {} step{}, before the traced steps began; give --steps with steps "
        "that the job reaches",
        *steps, *steps == 1 ? "" : "s");
  return "torch was imported, but no process that ended regularly made an optimizer step. If the job was ended before "
         "its traced steps, give earlier --steps or more time";
}

}  // namespace

Traces collect(const std::filesystem::path& output_folder) {
  Traces found;
  Lines lines = read_lines(output_folder);
  std::erase_if(lines.traces, [](const Trace& trace) {
    std::error_code error;
    return !std::filesystem::is_regular_file(trace.file, error);
  });
  found.files = last_of_ranks(lines.traces, found.notes);
  add_problems(lines, found.notes);
  if (found.files.empty()) found.nothing = why_nothing(lines);
  for (const auto& [place, process] : lines.processes) found.native += process.native ? 1 : 0;
  return found;
}

}  // namespace ddpprof::python_tracer
