// A property of interned names that is computed once for each name: traces have few names and many events.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace ddpprof::import {

class NameProperty {
 public:
  explicit NameProperty(bool (*test)(std::string_view name)) : test_(test) {}

  // `number`: the name's number in RankTrace::names.
  bool of(std::uint32_t number, std::string_view name) {
    if (number >= known_.size()) known_.resize(number + std::size_t{1}, State::unknown);
    State& state = known_[number];
    if (state == State::unknown) state = test_(name) ? State::yes : State::no;
    return state == State::yes;
  }

 private:
  enum class State : unsigned char { unknown, yes, no };

  bool (*test_)(std::string_view);
  std::vector<State> known_;
};

}  // namespace ddpprof::import
