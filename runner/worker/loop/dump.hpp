// For tests: writes weights, batches, gradients and buckets, so that a second implementation can check a run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <nlohmann/json.hpp>

#include "runner/worker/models/network.hpp"

namespace ddpprof::worker {

// Under the folder: rank<R>.json (parameter names and shapes, batch indices per step, buckets, file names) and float32
// files, little endian, the parameters one after another in registration order: rank<R>.initial.f32,
// rank<R>.gradients<K>.f32 (after the all-reduce of step K), rank<R>.final.f32 and rank<R>.buffers.f32 (at the end).
// The batches of these steps are in separate files; rank<R>.json has their type (float32 or int64). Throws
// std::runtime_error if a file cannot be written.
class Dump {
 public:
  // Dumps batches of steps 0 to batch_steps - 1, and gradients of steps 0 to gradient_steps - 1.
  Dump(std::filesystem::path folder, int rank, std::int64_t batch_steps, std::int64_t gradient_steps);
  void initial(const Network& network);
  void batch(std::int64_t step, const std::vector<std::int64_t>& indices, const std::vector<torch::Tensor>& inputs,
             const torch::Tensor& targets);
  void gradients(std::int64_t step, const Network& network);
  void finish(const Network& network, const std::vector<std::vector<std::size_t>>& first_buckets,
              const std::vector<std::vector<std::size_t>>& rebuilt_buckets);

 private:
  nlohmann::json describe(const std::string& name, const torch::Tensor& tensor);
  std::string write(const std::string& name, const std::vector<torch::Tensor>& tensors);

  std::filesystem::path folder_;
  std::string prefix_;
  std::int64_t batch_steps_, gradient_steps_;
  nlohmann::json index_;
};

}  // namespace ddpprof::worker
