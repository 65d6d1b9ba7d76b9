#include "analysis/import/files/input_files.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/import/load/inputs.hpp"
#include "analysis/import/tables/text_file.hpp"

namespace ddpprof::import {
namespace {

using Cause = UnusableInput::Cause;

// Returns true if the file may be a log although it starts as JSON does: a log with tags ("[1,0]<stdout>:",
// "[pod/launcher] "), because the elements of a trace's array are objects; or the JSON file of nccl-tests.
bool may_be_log(const std::filesystem::path& file) {
  std::ifstream text(file, std::ios::binary);
  char first = 0, second = 0;
  if (!(text >> first >> second)) return false;
  return first == '{' ? second == '"' : first == '[' && second != '{' && second != ']';
}

// Returns true for the files of Docker's logging driver json-file: {"log":"a line\n","stream":"stdout",…} per line.
bool is_container_log(const std::filesystem::path& file) {
  constexpr std::string_view begins = "{\"log\":\"";
  std::string head(begins.size(), '\0');
  std::ifstream(file, std::ios::binary).read(head.data(), static_cast<std::streamsize>(head.size()));
  return head == begins;
}

// Throws UnusableInput if the file cannot be imported.
void add_input(const std::filesystem::path& file, InputFiles& files) {
  const std::string name = file.string();
  switch (kind_of(file)) {
    case FileKind::json:
      if (is_container_log(file))
        throw UnusableInput(Cause::content,
                            name + " is a container's log as Docker stores it, with each line inside of a JSON object",
                            "the lines themselves",
                            "write them with 'docker logs CONTAINER > run.log' or 'jq -j .log " + name + " > run.log'");
      (may_be_log(file) && text_kind(file) == TextKind::nccl_log ? files.logs : files.traces).push_back(file);
      break;
    case FileKind::sqlite:
    case FileKind::shard:
      files.traces.push_back(file);
      break;
    case FileKind::ours:
      throw UnusableInput(Cause::choice, name + " is already a database of ddpprof", "another profiler's file",
                          "open it with 'ddpprof report'");
    case FileKind::text:
      switch (text_kind(file)) {
        case TextKind::step_table:
          files.tables.push_back(file);
          break;
        case TextKind::nccl_log:
          files.logs.push_back(file);
          break;
        case TextKind::neither:
          throw UnusableInput(Cause::content, name + ": the format is unknown",
                              "a PyTorch profiler's JSON, plain, gzip or zstd, Nsight Systems' SQLite export, a CSV "
                              "table of step times, or the output of nccl-tests' all_reduce_perf");
      }
      break;
    case FileKind::unreadable:
      if (!std::filesystem::exists(file))
        throw UnusableInput(Cause::choice, name + ": no such file or folder",
                            "traces, or folders that ddpprof worker wrote", "correct the name");
      throw UnusableInput(Cause::choice, name + " cannot be read", "a readable file, not a pipe",
                          "write a pipe's output to a file first");
  }
}

// A table of step times cannot be combined with other inputs: it has no parts of steps.
void check_table_alone(const InputFiles& files) {
  if (files.tables.size() > 1)
    throw UnusableInput(
        Cause::choice, files.tables[0].string() + " and " + files.tables[1].string() + " are both tables of step times",
        "one table", "put the rows into one file");
  if (files.tables.empty() || (files.traces.empty() && files.logs.empty())) return;
  throw UnusableInput(Cause::choice,
                      files.tables[0].string() + " is a table of step times, and " +
                          (files.traces.empty() ? files.logs : files.traces)[0].string() + " is not",
                      "a table alone, or traces and logs", "import them into two databases");
}

}  // namespace

InputFiles sort_inputs(const std::vector<std::string>& names) {
  InputFiles files;
  for (const std::filesystem::path& file : expand_inputs(names)) {
    try {
      add_input(file, files);
    } catch (const UnusableInput& unusable) {
      if (std::ranges::find(names, file.string()) != names.end()) throw;
      files.left_out.push_back(unusable.text());
    }
  }
  if (!files.left_out.empty() && files.traces.empty() && files.tables.empty() && files.logs.empty())
    throw UnusableInput(Cause::content, files.left_out.front(), "a trace, a table or a log", "name other files");
  check_table_alone(files);
  return files;
}

}  // namespace ddpprof::import
