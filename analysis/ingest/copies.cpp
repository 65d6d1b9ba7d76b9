#include "analysis/ingest/copies.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "tracer/store/shard/shard_reader.hpp"

namespace ddpprof::ingest {

std::vector<std::filesystem::path> without_copies(std::span<const std::filesystem::path> shards,
                                                  std::vector<Copy>& copies) {
  // The time of opening distinguishes the shards of a process. Process ids alone are reused, also on another host.
  using Process = std::tuple<std::string, std::string, std::int64_t, std::int64_t, std::int64_t>;
  struct Kept {
    std::size_t place = 0;  // index in `kept`
    bool closed = false;
    std::uint64_t chunks = 0;
  };
  std::map<Process, Kept> seen;
  std::vector<std::filesystem::path> kept;
  for (const std::filesystem::path& path : shards) {
    try {
      const store::ShardInfo info = store::ShardReader(path).info();
      if (info.opened_monotonic_ns <= 0 && info.opened_realtime_ns <= 0) {  // its process cannot be identified
        kept.push_back(path);
        continue;
      }
      const Process process{info.boot_id, info.host, info.pid, info.opened_monotonic_ns, info.opened_realtime_ns};
      const auto [found, fresh] = seen.try_emplace(process, Kept{kept.size(), info.closed, info.chunks_used});
      if (!fresh) {
        Kept& other = found->second;
        // One of the two may have been copied while its process was still writing.
        if (std::tuple(info.closed, info.chunks_used) > std::tuple(other.closed, other.chunks)) {
          copies.push_back({kept[other.place], path});
          kept[other.place] = path;
          other.closed = info.closed;
          other.chunks = info.chunks_used;
        } else {
          copies.push_back({path, kept[other.place]});
        }
        continue;
      }
    } catch (const store::ShardError&) {
    }
    kept.push_back(path);
  }
  return kept;
}

}  // namespace ddpprof::ingest
