// Prints docs/reference/scenario.md, made from the table of keys.
#include <cstdio>
#include <string>

#include "runner/scenario/keys.hpp"

int main() {
  const std::string text = ddpprof::scenario::scenario_markdown();
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() ? 0 : 1;
}
