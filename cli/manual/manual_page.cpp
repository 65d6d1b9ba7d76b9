#include "cli/manual/manual_page.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string_view>
#include <vector>

namespace ddpprof::cli {
namespace {

// Returns the code point of the UTF-8 sequence at `text[at]` and moves `at` to its last byte. Text of this program is
// valid UTF-8.
std::uint32_t code_point(std::string_view text, std::size_t& at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
  std::uint32_t point = lead & (0x3Fu >> more);
  for (int i = 0; i < more && at + 1 < text.size(); ++i)
    point = point << 6 | (static_cast<unsigned char>(text[++at]) & 0x3Fu);
  return point;
}

// Text for groff, which gives a meaning to backslashes, hyphens, quotes and characters beyond ASCII.
std::string roff(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (static_cast<unsigned char>(c) >= 0x80)
      result += fmt::format("\\[u{:04X}]", code_point(text, i));
    else if (c == '\\')
      result += "\\[rs]";
    else if (c == '-')
      result += "\\-";
    else if (c == '\'')
      result += "\\[aq]";
    else if (c == '"')
      result += "\\[dq]";
    else if (c == '`')
      result += "\\[ga]";
    else if (c == '^')
      result += "\\[ha]";
    else if (c == '~')
      result += "\\[ti]";
    else if (c == ',')
      result += ",\\:";  // a long list may be broken here
    else
      result += c;
  }
  return result;
}

// One line of text: a dot at its begin would be a request.
std::string roff_line(std::string_view text) {
  const std::string line = roff(text);
  return (line.starts_with(".") ? "\\&" : "") + line + "\n";
}

// Returns true for a line "word: text" of a list in an option's help.
bool is_entry(std::string_view line) {
  const std::size_t colon = line.find(": ");
  return colon != std::string_view::npos && colon > 0 && std::ranges::all_of(line.substr(0, colon), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
         });
}

// An option's help: its lines are one paragraph, except for the entries of a list.
std::string paragraphs(std::string_view text) {
  std::string result;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    if (begin > 0 && is_entry(line)) result += ".br\n";
    if (!line.empty()) result += roff_line(line);
    begin = end + 1;
  }
  return result;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

std::string entry(const OptionHelp& option, bool is_argument) {
  std::string tag;
  for (const std::string& name : option.names)
    tag += (tag.empty() ? "" : ", ") + (is_argument ? italic(name) : bold(name));
  if (!is_argument && !option.value.empty()) tag += " " + italic(option.value);
  std::string text = ".TP\n" + tag + "\n" + paragraphs(option.text);
  std::vector<std::string> facts;
  if (option.required && !is_argument) facts.emplace_back("required");
  if (!option.range.empty()) facts.push_back(option.range);
  if (!option.default_value.empty()) facts.push_back("default: " + option.default_value);
  for (std::size_t i = 0; i < facts.size(); ++i)
    text += roff_line((i == 0 ? "(" : "") + facts[i] + (i + 1 < facts.size() ? ";" : ")"));
  return text;
}

std::string title(const Help& help, const std::string& name, const std::string& summary) {
  std::string upper = name;
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return fmt::format(".TH \"{}\" \"1\" \"\" \"{}\" \"User Commands\"\n.ad l\n.SH NAME\n{} \\- {}\n", roff(upper),
                     roff(help.version), roff(name), roff(summary));
}

std::string exit_status(const Help& help) {
  std::string text = ".SH EXIT STATUS\n.nf\n";
  for (std::size_t begin = 0; begin < help.exit_codes.size();) {
    const std::size_t end = std::min(help.exit_codes.find('\n', begin), help.exit_codes.size());
    text += roff_line(std::string_view(help.exit_codes).substr(begin, end - begin));
    begin = end + 1;
  }
  return text + ".fi\n";
}

std::string options_section(const std::vector<OptionHelp>& options) {
  std::string text = ".SH OPTIONS\n";
  for (const OptionHelp& option : options) text += entry(option, false);
  return text;
}

}  // namespace

std::string manual_page(const Help& help) {
  std::string page = title(help, "ddpprof", help.summary);
  page += ".SH SYNOPSIS\n" + bold("ddpprof") + " " + italic("SUBCOMMAND") + " [" + italic("OPTIONS") + "]\n";
  page += ".SH SUBCOMMANDS\n";
  for (const CommandHelp& command : help.commands)
    page += ".TP\n" + bold("ddpprof-" + command.name) + "(1)\n" + roff_line(command.summary);
  page += options_section(help.options) + exit_status(help);
  return page;
}

std::string manual_page(const Help& help, const CommandHelp& command) {
  std::string page = title(help, "ddpprof-" + command.name, command.summary);
  page += ".SH SYNOPSIS\n" + bold("ddpprof " + command.name) + " [" + italic("OPTIONS") + "]";
  for (const OptionHelp& argument : command.arguments) {
    const std::string name = italic(argument.names.front()) + (argument.repeatable ? "\\ ..." : "");
    page += argument.required ? " " + name : " [" + name + "]";
  }
  page += "\n";
  if (command.takes_command)
    page += ".br\n" + bold("ddpprof " + command.name) + " [" + italic("OPTIONS") + "] " + bold("--") + " " +
            italic("COMMAND") + " [" + italic("ARGUMENT") + "]\\ ...\n";
  if (!command.arguments.empty()) {
    page += ".SH ARGUMENTS\n";
    for (const OptionHelp& argument : command.arguments) page += entry(argument, true);
  }
  page += options_section(command.options) + exit_status(help);
  page += ".SH EXAMPLES\n.nf\n";
  for (const std::string& example : command.examples) page += roff_line(example);
  page += ".fi\n.SH SEE ALSO\n" + bold("ddpprof") + "(1)\n";
  return page;
}

}  // namespace ddpprof::cli
