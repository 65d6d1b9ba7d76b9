// 20 M records of 32 bytes through the external sorter with its default bound of 64 MiB: pushing and sorting, then one
// pass; peak_MiB is the process's largest resident memory meanwhile.
#include <benchmark/benchmark.h>

#include <fstream>
#include <random>
#include <string>

#include "analysis/import/sort/external_sorter.hpp"

namespace {

constexpr std::int64_t record_count = 20'000'000;

struct Record {
  std::int64_t start_ns = 0, duration_ns = 0;
  std::uint64_t payload[2] = {};
};
struct ByStart {
  bool operator()(const Record& a, const Record& b) const { return a.start_ns < b.start_ns; }
};

enum Shape : int { in_order, shaken, streams, noise };

// `shaken`: each record up to about 50 places from its sorted place; `streams`: 16 threads' events, one thread after
// the other.
std::int64_t start_of(Shape shape, std::int64_t i, std::mt19937_64& random) {
  switch (shape) {
    case in_order:
      return i * 1000;
    case shaken:
      return i * 1000 + static_cast<std::int64_t>(random() % 50'000);
    case streams:
      return i % (record_count / 16) * 16'000 + i / (record_count / 16);
    default:
      return static_cast<std::int64_t>(random() >> 1);
  }
}

double peak_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024.0;
  return 0.0;
}

void sort(benchmark::State& state) {
  const auto shape = static_cast<Shape>(state.range(0));
  std::size_t runs = 0;
  std::ofstream("/proc/self/clear_refs") << 5;  // resets the peak
  for (auto _ : state) {
    std::mt19937_64 random(1);
    ddpprof::import::ExternalSorter<Record, ByStart> sorter;
    for (std::int64_t i = 0; i < record_count; ++i) sorter.push({start_of(shape, i, random), 1, {}});
    sorter.finish();
    std::int64_t last_ns = INT64_MIN, count = 0;
    sorter.for_each([&](const Record& record) {
      if (record.start_ns < last_ns) state.SkipWithError("not in order");
      last_ns = record.start_ns;
      ++count;
    });
    if (count != record_count) state.SkipWithError("records are missing");
    runs = sorter.runs();
  }
  state.SetItemsProcessed(state.iterations() * record_count);
  state.counters["runs"] = static_cast<double>(runs);
  state.counters["peak_MiB"] = peak_mib();
}
// The argument: 0 in order, 1 shaken, 2 streams, 3 random.
BENCHMARK(sort)->Arg(in_order)->Arg(shaken)->Arg(streams)->Arg(noise)->UseRealTime()->Unit(benchmark::kSecond);

}  // namespace
