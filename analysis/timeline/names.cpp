#include "analysis/timeline/names.hpp"

#include "tracer/format/vocabulary.hpp"

namespace ddpprof::timeline {

std::string_view to_string(Category category) {
  switch (category) {
    case Category::step:
      return "step";
    case Category::compute:
      return "compute";
    case Category::input:
      return "input";
    case Category::copy:
      return "copy";
    case Category::collective:
      return "collective";
    case Category::gradient_ready:
      return "gradient ready";
    case Category::launch:
      return "launch";
    case Category::kernel:
      return "kernel";
    case Category::communication_kernel:
      return "communication kernel";
    case Category::memory_copy:
      return "memory copy";
    case Category::cuda_call:
      return "CUDA call";
    case Category::range:
      return "range";
    case Category::unfinished:
      return "unfinished";
  }
  return "range";
}

Category category_of_phase(std::string_view name) {
  namespace v = vocabulary;
  for (const char* compute : {v::forward, v::backward, v::optimizer, v::replica_forward, v::replica_backward})
    if (name == compute) return Category::compute;
  for (const char* input : {v::data_wait, v::load_batch, v::host_to_device})
    if (name == input) return Category::input;
  for (const char* copy : {v::buffers, v::replicate, v::scatter, v::gather, v::reduce})
    if (name == copy) return Category::copy;
  if (name == v::collective) return Category::collective;
  if (name == v::grad_ready) return Category::gradient_ready;
  if (name == v::collective_launch) return Category::launch;
  return Category::range;
}

std::uint32_t Names::intern(std::string_view text, Category category) {
  const auto [known, fresh] =
      numbers_.try_emplace({std::string(text), category}, static_cast<std::uint32_t>(entries_.size()));
  if (fresh) entries_.emplace_back(text, category);
  return known->second;
}

}  // namespace ddpprof::timeline
