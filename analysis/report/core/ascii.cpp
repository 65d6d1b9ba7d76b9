#include "analysis/report/core/ascii.hpp"

#include <array>
#include <utility>

namespace ddpprof::report {

std::string ascii_text(std::string_view utf8) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 36> known{{
      {"µ", "u"},   {"μ", "u"},     {"×", "x"},      {"–", "-"},     {"—", "-"},     {"−", "-"},
      {"±", "+-"},  {"·", "*"},     {"…", "..."},    {"“", "\""},    {"”", "\""},    {"‘", "'"},
      {"’", "'"},   {"≤", "<="},    {"≥", ">="},     {"≈", "~"},     {"→", "->"},    {"√", "sqrt "},
      {"²", "^2"},  {"∞", "inf"},   {"α", "alpha"},  {"β", "beta"},  {"γ", "gamma"}, {"δ", "delta"},
      {"ε", "eps"}, {"κ", "kappa"}, {"λ", "lambda"}, {"σ", "sigma"}, {"Σ", "Sigma"}, {"φ", "phi"},
      {"₁", "1"},   {"₂", "2"},     {"●", "o"},      {"│", "|"},     {"∩", "and"},   {"∪", "or"},
  }};
  std::string text;
  while (!utf8.empty()) {
    if (static_cast<unsigned char>(utf8.front()) < 0x80) {
      text += utf8.front();
      utf8.remove_prefix(1);
      continue;
    }
    std::size_t length = 1;
    while (length < utf8.size() && (static_cast<unsigned char>(utf8[length]) & 0xC0U) == 0x80U) ++length;
    std::string_view replacement = "?";
    for (const auto& [character, ascii] : known)
      if (utf8.substr(0, length) == character) replacement = ascii;
    text += replacement;
    utf8.remove_prefix(length);
  }
  return text;
}

}  // namespace ddpprof::report
