// Small traces in the PyTorch profiler's format with known totals, for tests that damage them.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ddpprof::import {

// A complete event. Times are in microseconds, as text; `arguments` is the content of `args`.
inline std::string complete_event(std::string_view category, std::string_view name, const std::string& start_us,
                                  const std::string& duration_us, const std::string& pid, const std::string& tid,
                                  const std::string& arguments = "") {
  return R"({"ph": "X", "cat": ")" + std::string(category) + R"(", "name": ")" + std::string(name) + R"(", "pid": )" +
         pid + R"(, "tid": )" + tid + R"(, "ts": )" + start_us + R"(, "dur": )" + duration_us + R"(, "args": {)" +
         arguments + "}}";
}

struct TraceText {
  std::vector<std::string> before, events, after;  // members before and after the events, the events between them
  std::string line_break = "\n";

  std::string text() const {
    std::string result = "{" + line_break;
    for (const std::string& member : before) result += "  " + member + "," + line_break;
    result += "  \"traceEvents\": [" + line_break;
    for (std::size_t i = 0; i < events.size(); ++i)
      result += "  " + events[i] + (i + 1 < events.size() ? "," : "") + line_break;
    result += "  ]";
    for (const std::string& member : after) result += "," + line_break + "  " + member;
    return result + line_break + "}" + line_break;
  }

  // Returns the one event that contains both texts.
  std::string& event_with(std::string_view a, std::string_view b = "") {
    for (std::string& event : events)
      if (event.find(a) != std::string::npos && event.find(b) != std::string::npos) return event;
    throw std::logic_error("no event with " + std::string(a));
  }
};

inline std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("no " + std::string(from) + " in " + text);
  return text.replace(at, from.size(), to);
}

// Content of each step of 1000 us, from 1000000 us on: four kernels "gemm" of 100 us from 100 us on, with correlations
// from 100 * step on; an all-reduce of 4000 bytes from 450 to 550 us, beside the second half of the last kernel; a copy
// of 10 us at 600.
struct Sound {
  static constexpr std::int64_t compute_ns = 400'000, communication_ns = 100'000, overlapped_ns = 50'000,
                                memory_ns = 10'000;  // per step
};

inline TraceText sound_trace(int rank, int world_size, int steps = 3) {
  TraceText trace;
  trace.before = {R"("schemaVersion": 1)",
                  R"("deviceProperties": [{"id": 0, "name": "NVIDIA A100", "totalGlobalMem": 85000000000}])",
                  R"("distributedInfo": {"backend": "nccl", "rank": )" + std::to_string(rank) + R"(, "world_size": )" +
                      std::to_string(world_size) + R"(, "pg_count": 1, "nccl_version": "2.18.5"})"};
  trace.after = {R"("traceName": "trace.json")", R"("displayTimeUnit": "ms")"};
  const auto add = [&](const std::string& event) { trace.events.push_back(event); };
  add(R"({"name": "process_name", "ph": "M", "ts": 1000000, "pid": 4711, "tid": 0, "args": {"name": "python3"}})");
  for (int step = 0; step < steps; ++step) {
    const auto at = [&](int us) { return std::to_string(1'000'000 + 1000 * step + us); };
    add(complete_event("user_annotation", "ProfilerStep#" + std::to_string(step), at(0), "1000", "4711", "4711",
                       "\"External id\": 1"));
    add(complete_event("cpu_op", "aten::linear", at(10), "60", "4711", "4711",
                       R"("External id": 2, "Input Dims": [[32, 8], [8, 8], []])"));
    add(complete_event("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", at(200), "300", "4711", "4712",
                       "\"External id\": 3"));
    for (int kernel = 0; kernel < 4; ++kernel) {
      const std::string correlation = "\"correlation\": " + std::to_string(100 * step + kernel);
      add(complete_event("cuda_runtime", "cudaLaunchKernel", at(20 + 10 * kernel), "5", "4711", "4711",
                         "\"cbid\": 211, " + correlation));
      add(complete_event("kernel", "gemm", at(100 * (kernel + 1)), "100", "0", "7",
                         R"("device": 0, "stream": 7, "grid": [2, 1, 1], "block": [128, 1, 1], )" + correlation));
    }
    const std::string reduce = "\"correlation\": " + std::to_string(100 * step + 9);
    add(complete_event("cuda_runtime", "cudaLaunchKernelExC", at(210), "5", "4711", "4712", reduce));
    add(complete_event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", at(450),
                       "100", "0", "20",
                       R"("device": 0, "stream": 20, "Collective name": "allreduce", "dtype": "Float", )"
                       R"("In msg nelems": 1000, "Out msg nelems": 1000, "Group size": 2, )"
                       R"("Process Group Name": "0", "Process Group Ranks": "[0, 1]", )" +
                           reduce));
    const std::string copy = "\"correlation\": " + std::to_string(100 * step + 10);
    add(complete_event("cuda_runtime", "cudaMemcpyAsync", at(580), "5", "4711", "4711", copy));
    add(complete_event("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", at(600), "10", "0", "7",
                       "\"device\": 0, \"stream\": 7, \"bytes\": 4, " + copy));
    add(complete_event("cuda_runtime", "cudaDeviceSynchronize", at(900), "90", "4711", "4711"));
  }
  return trace;
}

}  // namespace ddpprof::import
