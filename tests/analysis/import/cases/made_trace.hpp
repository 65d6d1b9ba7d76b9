// A data parallel step with known intervals, in variants of how profilers record it.
//
// Each step lasts 4000 us. Its device computes from 100 to 1100 us and all-reduces 65536 floats from 900 to 1900 us:
// compute 1000, communication 1000, overlapped 200, exposed 800.
#pragma once

#include <string>
#include <tuple>

#include "tests/analysis/import/kineto/trace_text.hpp"

namespace ddpprof::import {

struct MadeTrace {
  int pid = 100, device = 0, steps = 3, first_step = 0;
  std::int64_t at_us = 1'000'000'000;
  bool calls = true;                  // c10d::allreduce_ and record_param_comms
  bool launches = true;               // the host's launches
  bool launch_ids = true;             // External id of launches
  bool ids_are_correlations = false;  // External id of launches and kernels, as older versions of Kineto write it
  bool kernels = true, compute_kernels = true;
  std::string kernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL", kernel_arguments;
  std::string runtime = "cuda_runtime", launch = "cudaLaunchKernel";
  std::string group = R"("Group size": 2, "Process Group Name": "0", "Process Group Ranks": "[0, 1]")";
  std::string distributed = R"("distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2})";
  std::string devices = R"("deviceProperties": [{"id": 0, "name": "NVIDIA A100"}])";

  static constexpr std::int64_t communication_ns = 1'000'000, overlapped_ns = 200'000, exposed_ns = 800'000;

  TraceText trace() const {
    TraceText trace;
    trace.before = {R"("schemaVersion": 1)", devices};
    if (!distributed.empty()) trace.before.push_back(distributed);
    const std::string process = std::to_string(pid), thread = process;
    for (int step = 0; step < steps; ++step) {
      const auto at = [&](std::int64_t us) { return std::to_string(at_us + 4000 * step + us); };
      const auto id = [&](int which) { return "\"External id\": " + std::to_string(10 * step + which); };
      const auto correlation = [&](int which) {
        return "\"correlation\": " + std::to_string(1000 + 10 * step + which);
      };
      const auto external = [&](int which) {
        return "\"External id\": " + std::to_string(1000 + 10 * step + which) + ", ";
      };
      const auto host = [&](const char* category, const std::string& name, std::int64_t us, const char* lasts,
                            const std::string& arguments) {
        trace.events.push_back(complete_event(category, name, at(us), lasts, process, thread, arguments));
      };
      host("user_annotation", "ProfilerStep#" + std::to_string(first_step + step), 0, "3990", id(0));
      host("cpu_op", "aten::linear", 10, "50",
           id(1) + R"(, "Input Dims": [[32, 256], [256, 256], []], "Input type": ["float", "float", ""])");
      host("cpu_op", "AddmmBackward0", 210, "90", id(2));
      host("cpu_op", "torch::autograd::AccumulateGrad", 310, "40",
           id(3) + R"(, "Input Dims": [[256, 256]], "Input type": ["float"])");
      if (calls) {
        host("cpu_op", "c10d::allreduce_", 360, "60",
             id(4) + R"(, "Input Dims": [[[65536]]], "Input type": [["float"]])");
        host("cpu_op", "record_param_comms", 370, "40",
             id(5) +
                 R"(, "Collective name": "allreduce", "In msg nelems": 65536, "Out msg nelems": 65536, )"
                 R"("dtype": "Float", )" +
                 group);
      }
      host("user_annotation", "Optimizer.step#SGD.step", 600, "100", id(6));
      if (launches) {
        for (const auto& [which, operation, us] : {std::tuple{1, 1, 20}, {2, 5, 380}})
          host(runtime.c_str(), launch, us, "5",
               (ids_are_correlations ? external(which)
                : launch_ids         ? id(operation) + ", "
                                     : "") +
                   correlation(which));
      }
      const std::string on = "\"device\": " + std::to_string(device) + ", \"stream\": ";
      const auto kernel_event = [&](const std::string& name, std::int64_t us, const char* lasts, const char* stream,
                                    const std::string& arguments) {
        trace.events.push_back(complete_event("kernel", name, at(us), lasts, std::to_string(device), stream,
                                              on + stream + ", " + arguments));
      };
      const auto ids = [&](int which) { return (ids_are_correlations ? external(which) : "") + correlation(which); };
      if (kernels && compute_kernels) kernel_event("sgemm", 100, "1000", "7", ids(1));
      if (kernels)
        kernel_event(kernel, 900, "1000", "20", ids(2) + (kernel_arguments.empty() ? "" : ", " + kernel_arguments));
    }
    return trace;
  }
  std::string text() const { return trace().text(); }
};

// A job on CPUs whose all-reduces of 2000 us are executed by a thread of Gloo. Each step lasts 10 ms.
struct MadeGloo {
  enum class When { in_a_hook, in_a_function, after_backward, beside_backward } when = When::after_backward;
  int steps = 3;
  bool closure = false;  // Optimizer.step(closure): forward and backward run inside of the optimizer's step
  bool copies = false;   // beside_backward: the backward's thread copies a bucket while it waits for the last one

  std::string text() const {
    TraceText trace;
    trace.before = {R"("distributedInfo": {"backend": "gloo", "rank": 0, "world_size": 2})"};
    int ids = 0;
    for (int step = 0; step < steps; ++step) {
      const auto event = [&](const char* category, const char* name, std::int64_t us, std::int64_t lasts_us,
                             const char* tid, const std::string& arguments = "") {
        trace.events.push_back(complete_event(
            category, name, std::to_string(1'000'000'000 + 10'000 * step + us), std::to_string(lasts_us), "100", tid,
            "\"External id\": " + std::to_string(++ids) + (arguments.empty() ? "" : ", " + arguments)));
      };
      const std::string shape = R"("Input Dims": [[256, 256]], "Input type": ["float"])";
      const std::string message = R"("Input Dims": [[65536]], "Input type": ["float"])";
      event("user_annotation", ("ProfilerStep#" + std::to_string(step)).c_str(), 0, 9990, "100");
      event("cpu_op", "aten::linear", 100, 800, "100",
            R"("Input Dims": [[32, 256], [256, 256], []], "Input type": ["float", "float", ""])");
      const bool function = when == When::in_a_function, hook = when == When::in_a_hook || function;
      // The engine's record lasts until its hook returns.
      event("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 1000, 1000, "200");
      event("cpu_op", "AddmmBackward0", 1000, 1000, "200");
      event("cpu_op", "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 2000, hook ? 2500 : 100,
            "200");
      event("cpu_op", "torch::autograd::AccumulateGrad", 2000, hook && !function ? 2450 : 50, "200", shape);
      if (function) {  // an autograd function written in Python, which computes, reduces and waits
        event("cpu_op", "RowParallelLinearBackward", 2060, 2400, "200");
        event("cpu_op", "aten::mm", 2065, 30, "200");
        event("cpu_op", "aten::div_", 4150, 50, "300");  // by Gloo's thread, inside of its all-reduce
      }
      const std::int64_t called_us = when == When::after_backward ? 5600 : 2100;
      event("cpu_op", "c10d::allreduce_", called_us, 50, when == When::after_backward ? "100" : "200", message);
      event("user_annotation", "gloo:all_reduce", called_us + 100, 2000, "300", message);
      event("cpu_op", "AddmmBackward0", hook ? 4500 : 2500, hook ? 1000 : 3000, "200");
      if (when == When::beside_backward) {  // DDP launches its last bucket at the end of the backward
        event("cpu_op", "torch::autograd::AccumulateGrad", 5510, 30, "200", shape);
        event("cpu_op", "c10d::allreduce_", 5550, 40, "200", message);
        event("user_annotation", "gloo:all_reduce", 5600, 300, "300", message);
        if (copies) event("cpu_op", "aten::copy_", 5650, 50, "200");
      }
      if (closure) {
        event("user_annotation", "DistributedDataParallel.forward", 90, 820, "100");
        event("user_annotation", "Optimizer.step#SGD.step", 50, 8950, "100");
      } else {
        event("user_annotation", "Optimizer.step#SGD.step", 8500, 500, "100");
      }
      event("cpu_op", "aten::add_", 8510, 480, "100");
    }
    return trace.text();
  }
};

}  // namespace ddpprof::import
