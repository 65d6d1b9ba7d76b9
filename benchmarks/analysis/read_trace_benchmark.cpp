// Speed of converting a trace's text to events, from memory and on one core: framing and parsing (goal 300 MB/s), and
// the additional cost of their meaning. The file is DDPPROF_BENCHMARK_TRACE, unpacked once; without it a file is
// generated.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "analysis/import/bytes/byte_source.hpp"
#include "analysis/import/json/trace_reader.hpp"
#include "analysis/import/kineto/kineto_reader.hpp"

namespace {

using namespace ddpprof::import;

std::string unpacked(const char* path) {
  const auto source = open_bytes(path);
  std::string text;
  std::size_t held = 0;
  do {
    text.resize(held + (std::size_t{16} << 20));
    const std::size_t got = source->read(std::as_writable_bytes(std::span(text).subspan(held)));
    if (got == 0) break;
    held += got;
  } while (true);
  text.resize(held);
  return text;
}

std::string made_up() {
  std::string text = "{\"traceEvents\": [\n";
  for (std::int64_t i = 0; text.size() < (std::size_t{64} << 20); ++i) {
    const std::string id = std::to_string(i), ts = std::to_string(1'700'000'000'000'000 + 7 * i);
    text += "  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::op_" + std::to_string(i % 60) +
            "\", \"pid\": 4242, \"tid\": 4242,\n    \"ts\": " + ts + ".125, \"dur\": 5.250,\n    \"args\": {\n" +
            "      \"External id\": " + id + "\n    }\n  },\n" +
            "  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void kernel_" + std::to_string(i % 30) +
            "<float>(float*, int)\", \"pid\": 0, \"tid\": 7,\n    \"ts\": " + ts + ".500, \"dur\": 3.125,\n" +
            "    \"args\": {\n      \"External id\": " + id + ", \"device\": 0, \"context\": 1, \"stream\": 7, " +
            "\"correlation\": " + id + ", \"registers per thread\": 40, \"grid\": [512, 1, 1], " +
            "\"block\": [256, 1, 1]\n    }\n  },\n";
  }
  text.resize(text.size() - 2);
  return text + "\n]}\n";
}

const std::string& trace() {
  static const std::string text = [] {
    const char* path = std::getenv("DDPPROF_BENCHMARK_TRACE");
    return path ? unpacked(path) : made_up();
  }();
  return text;
}

ReadBytes from_memory(std::size_t& at) {
  return [&at](std::span<char> into) {
    const std::size_t bytes = std::min(into.size(), trace().size() - at);
    std::memcpy(into.data(), trace().data() + at, bytes);
    at += bytes;
    return bytes;
  };
}

struct Count : TraceVisitor {
  void event(const Event&, std::uint64_t) override { ++events; }
  void member(std::string_view, std::string_view, std::uint64_t) override {}
  void damage(std::uint64_t, std::string_view) override { ++damaged; }
  std::int64_t events = 0, damaged = 0;
};

void finish(benchmark::State& state, std::int64_t events) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(trace().size()));
  state.counters["MB/s"] = benchmark::Counter(
      static_cast<double>(trace().size()) * static_cast<double>(state.iterations()) / 1e6, benchmark::Counter::kIsRate);
  state.counters["events/s"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}

void parse(benchmark::State& state) {
  trace();
  std::int64_t events = 0;
  for (auto _ : state) {
    std::size_t at = 0;
    Count count;
    const TraceTally tally = read_trace(from_memory(at), count);
    if (!tally.complete || count.events == 0 || count.damaged != 0) return state.SkipWithError("not a sound trace");
    events += count.events;
  }
  finish(state, events);
}

void parse_and_understand(benchmark::State& state) {
  trace();
  std::int64_t events = 0;
  for (auto _ : state) {
    std::size_t at = 0;
    RankTrace rank{SortOptions{}};
    RawCollector raw(rank.names, nullptr, 0);
    KinetoReader reader(rank, raw);
    events += read_trace(from_memory(at), reader).events;
    reader.finish();
    if (reader.taken() == 0) return state.SkipWithError("no event was taken");
  }
  finish(state, events);
}

BENCHMARK(parse)->Unit(benchmark::kMillisecond);
BENCHMARK(parse_and_understand)->Unit(benchmark::kMillisecond);

}  // namespace
