// Finds what nccl-tests printed in a line of a log: launchers, log collectors and other programs add text before it.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace ddpprof::fit {

// Returns the words of a text. Blanks, tabs and carriage returns separate words.
std::vector<std::string_view> words_of(std::string_view text);

// Returns the number that the whole word is, or nothing.
template <class T>
std::optional<T> number_of(std::string_view word) {
  T value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

// Returns true for an element type as nccl-tests prints it: "float", "bfloat16", "f8e4m3", …
bool is_nccl_type(std::string_view word);

// Returns the part of a line that nccl-tests printed: from the '#' of a heading, or from the size of a row. If the line
// has neither, returns the line without its prefixes. These prefixes are known, in any order and number:
// "[1,0]<stdout>:" and other tags of Open MPI, "0: " (srun -l), "host: ", "host:rank ", "[pod/name/container] "
// (kubectl), timestamps (RFC 3339, or date and time). Colours are removed. If a carriage return overwrote the line, the
// last text is used.
std::string nccl_content(std::string_view line);

// Returns true if the line has a heading or a row of nccl-tests.
bool is_nccl_line(std::string_view line);

}  // namespace ddpprof::fit
