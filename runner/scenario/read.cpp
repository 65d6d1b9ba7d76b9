#include "runner/scenario/read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <fstream>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "runner/scenario/checks.hpp"
#include "runner/scenario/suggest.hpp"
#include "runner/scenario/tree.hpp"

namespace ddpprof::scenario {
namespace {

constexpr std::uintmax_t largest_file_bytes = 1 << 20;

using Keys = std::set<std::string, std::less<>>;

// Returns the offset of the first byte that is NUL or not valid UTF-8, or npos.
std::size_t first_binary_byte(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    std::size_t length = 1;
    if (byte == 0) return i;
    if (byte >= 0x80) {
      if (byte >= 0xC2 && byte <= 0xDF)
        length = 2;
      else if (byte >= 0xE0 && byte <= 0xEF)
        length = 3;
      else if (byte >= 0xF0 && byte <= 0xF4)
        length = 4;
      else
        return i;
    }
    if (i + length > text.size()) return i;
    for (std::size_t k = 1; k < length; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return i;
    }
    i += length;
  }
  return std::string_view::npos;
}

YAML::Mark mark_at(std::string_view text, std::size_t offset) {
  YAML::Mark mark;
  mark.line = mark.column = 0;
  for (std::size_t i = 0; i < offset; ++i) {
    if (text[i] == '\n') {
      ++mark.line;
      mark.column = 0;
    } else {
      ++mark.column;
    }
  }
  return mark;
}

void apply_override(const Source& source, Tree& tree) {
  const std::string_view text = std::string_view(source.label).substr(std::strlen("--set "));
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return tree.complain(source, YAML::Mark::null_mark(), "", "expected KEY=VALUE, e.g. --set measure.steps=50");
  }
  const std::string_view key = text.substr(0, equals);
  if (first_binary_byte(text) != std::string_view::npos) {
    return tree.complain(source, YAML::Mark::null_mark(), key, "expected text in UTF-8");
  }
  YAML::Node value;
  if (load_yaml(source, value, tree, key)) tree.add_override(source, key, value);
}

void assign_values(Draft& draft, Tree& tree, Keys& broken) {
  for (const KeySpec& spec : key_specs()) {
    const Value* value = tree.find(spec.key);
    if (value == nullptr) continue;
    if (!value->node.IsDefined()) {  // already reported
      broken.emplace(spec.key);
      continue;
    }
    std::vector<Complaint> complaints;
    spec.assign(spec, value->node, draft, complaints);
    for (Complaint& complaint : complaints)
      tree.complain(*value, complaint.mark, spec.key, std::move(complaint.message));
    if (!complaints.empty()) broken.emplace(spec.key);
  }
}

std::string why_not(const KeySpec& spec, bool command, Model::Kind kind) {
  if (command) return "applies only to models that ddpprof trains; with 'workload.command' leave it out";
  if (spec.form == Form::command) return "applies only to 'workload.command'; without a command leave it out";
  return fmt::format("applies only to {}; with 'kind: {}' leave it out", kinds_text(spec.model_kinds), to_string(kind));
}

void check_required(const Draft& draft, Tree& tree, Keys& broken) {
  const bool kind_known = tree.find("workload.model.kind") != nullptr && !broken.contains("workload.model.kind");
  const Model::Kind kind = draft.scenario.workload.model.kind;
  const bool command = tree.find("workload.command") != nullptr;
  for (const KeySpec& spec : key_specs()) {
    const bool given = tree.find(spec.key) != nullptr;
    if (spec.model_kinds != 0 && !kind_known && !command) continue;
    if (!belongs_to(spec, command, kind)) {
      if (given) tree.complain_at({spec.key}, why_not(spec, command, kind));
    } else if (spec.required && !given && !broken.contains(spec.key)) {
      tree.complain_at({spec.key}, fmt::format("missing; expected {}", allowed_text(spec)));
      broken.emplace(spec.key);
    }
  }
}

ReadResult read_sources(const Source& file, std::span<const std::string> overrides) {
  ReadResult result;
  result.source = file.text;
  Tree tree;
  const std::size_t binary = first_binary_byte(file.text);
  if (binary != std::string_view::npos) {
    tree.complain(file, mark_at(file.text, binary), "", "not a text file in UTF-8; expected a scenario in YAML");
    result.problems = tree.take_problems();
    return result;
  }
  if (file.text.size() > largest_file_bytes) {
    tree.complain(file, YAML::Mark::null_mark(), "",
                  fmt::format("{} bytes; expected a scenario of at most {}", file.text.size(), largest_file_bytes));
    result.problems = tree.take_problems();
    return result;
  }
  tree.add_file(file);
  std::deque<Source> sources;  // stable addresses
  for (const std::string& text : overrides) {
    const std::size_t equals = text.find('=');
    sources.push_back({.label = "--set " + text,
                       .text = equals == std::string::npos ? "" : text.substr(equals + 1),
                       .override_ = true});
    apply_override(sources.back(), tree);
  }
  Draft draft;
  Keys broken;
  if (tree.whole()) {
    for (const KeySpec& spec : key_specs()) {
      for (const std::string& group : tree.rejected_groups()) {
        if (spec.key.starts_with(group + ".")) broken.emplace(spec.key);
      }
    }
    assign_values(draft, tree, broken);
    check_required(draft, tree, broken);
    if (draft.linear_in && draft.linear_out)
      draft.scenario.workload.model.widths = {*draft.linear_in, *draft.linear_out};
    check_whole(draft.scenario, broken, tree);
  }
  result.scenario = std::move(draft.scenario);
  result.problems = tree.take_problems();
  return result;
}

// Returns a scenario file in the same folder with a similar name, or "".
std::string similar_file(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  std::set<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator() && names.size() < 1000; entry.increment(error)) {
    const std::string extension = entry->path().extension().string();
    if (extension == ".yaml" || extension == ".yml") names.insert(entry->path().filename().string());
  }
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view near = nearest(path.filename().string(), candidates);
  return near.empty() ? "" : (path.parent_path() / near).string();
}

}  // namespace

std::string Problem::text() const {
  std::string place = file;
  if (line > 0) place += fmt::format(":{}:{}", line, column);
  if (!key.empty()) place += (place.empty() ? "" : ": ") + key;
  return place.empty() ? message : place + ": " + message;
}

ReadResult read_text(const std::string& text, const std::string& file, std::span<const std::string> overrides) {
  return read_sources({.label = file, .text = text}, overrides);
}

ReadResult read_file(const std::filesystem::path& path, std::span<const std::string> overrides) {
  const auto refuse = [&](std::string message) {
    ReadResult result;
    result.problems.push_back(
        {.file = path.string(), .line = 0, .column = 0, .key = "", .message = std::move(message)});
    return result;
  };
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    const std::string near = similar_file(path);
    return refuse("no such file" + (near.empty() ? "; expected a scenario in YAML" : "; did you mean '" + near + "'?"));
  }
  if (error) return refuse("cannot be read: " + error.message());
  if (status.type() == std::filesystem::file_type::directory) {
    return refuse("is a folder; expected a scenario file in YAML");
  }
  // Reading a pipe or a device could block forever.
  if (status.type() != std::filesystem::file_type::regular)
    return refuse("is not a regular file; expected a scenario file");
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) return refuse("cannot be read: " + error.message());
  if (size > largest_file_bytes) {
    return refuse(fmt::format("{} bytes; expected a scenario of at most {}", size, largest_file_bytes));
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) return refuse(fmt::format("cannot be read: {}", std::strerror(errno)));
  std::string text(static_cast<std::size_t>(size), '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.gcount() != static_cast<std::streamsize>(text.size())) return refuse("cannot be read to its end");
  return read_text(text, path.string(), overrides);
}

void resolve_paths(Scenario& scenario, const std::filesystem::path& file, std::span<const std::string> overrides) {
  const auto overridden = [&](std::string_view key) {
    return std::ranges::any_of(overrides, [&](const std::string& one) {
      const std::string_view set = std::string_view(one).substr(0, one.find('='));
      return key == set || (key.starts_with(set) && key[set.size()] == '.');
    });
  };
  for (const auto& [key, path] :
       {std::pair<std::string_view, std::string*>{"workload.data.path", &scenario.workload.data.path},
        {"workload.model.file", &scenario.workload.model.file},
        {"checkpoint.folder", &scenario.checkpoint.folder},
        {"checkpoint.resume", &scenario.checkpoint.resume},
        {"output.database", &scenario.output.database},
        {"output.csv", &scenario.output.csv},
        {"output.chrome", &scenario.output.chrome}})
    if (!path->empty() && !overridden(key)) *path = (file.parent_path() / *path).string();
}

}  // namespace ddpprof::scenario
