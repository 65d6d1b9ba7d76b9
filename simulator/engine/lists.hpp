// The inverse of a graph's references: for each owner, the tasks that name it. Internal to the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "simulator/engine/graph.hpp"

namespace ddpprof::engine {

using Index = std::size_t;

inline Index at(std::int32_t number) { return static_cast<Index>(number); }

// For each owner, the tasks that name it, in the order of the tasks.
struct Lists {
  std::vector<std::uint32_t> begin;  // owners + 1
  std::vector<Task> tasks;
  std::span<const Task> of(Index owner) const {
    return std::span(tasks).subspan(begin[owner], begin[owner + 1] - begin[owner]);
  }
};

template <class NamesOf>
Lists invert(Index owners, Index tasks, NamesOf names_of) {
  Lists lists;
  lists.begin.assign(owners + 1, 0);
  for (Index task = 0; task < tasks; ++task)
    for (const std::int32_t name : names_of(static_cast<Task>(task))) ++lists.begin[at(name) + 1];
  for (Index owner = 0; owner < owners; ++owner) lists.begin[owner + 1] += lists.begin[owner];
  lists.tasks.resize(lists.begin[owners]);
  std::vector<std::uint32_t> next(lists.begin.begin(), lists.begin.end() - 1);
  for (Index task = 0; task < tasks; ++task)
    for (const std::int32_t name : names_of(static_cast<Task>(task)))
      lists.tasks[next[at(name)]++] = static_cast<Task>(task);
  return lists;
}

}  // namespace ddpprof::engine
