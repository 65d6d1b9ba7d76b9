// One event of a Chrome export of ours, with any of its arguments; what they mean is chrome_rows'.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace ddpprof::import {

// Views are valid until the next event is read.
struct ChromeEvent {
  struct Argument {
    std::string_view key;
    std::string_view json;  // as written
    bool quoted = false;
    std::string_view text;  // of a text, escapes undone
  };

  char phase = 0;
  std::string_view name, category;
  std::optional<std::int64_t> pid, tid;
  std::optional<std::int64_t> start_ns, duration_ns;
  std::string_view id;  // of an asynchronous event
  std::string_view arguments_json;
  std::vector<Argument> arguments;

  const Argument* find(std::string_view key) const;
};

class ChromeEventParser {
 public:
  ChromeEventParser();
  ~ChromeEventParser();
  ChromeEventParser(const ChromeEventParser&) = delete;
  ChromeEventParser& operator=(const ChromeEventParser&) = delete;

  // `text`: from { to }, followed by event_padding_bytes readable ones, the first of them 0. False: no JSON object, or
  // a time, pid or tid that is no number.
  bool parse(std::string_view text, ChromeEvent& event);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ddpprof::import
