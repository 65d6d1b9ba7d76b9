#include "runner/worker/checkpoint/checkpoint.hpp"

#include <stdexcept>
#include <utility>

#include "runner/scenario/input_files.hpp"
#include "runner/worker/checkpoint/dictionary.hpp"
#include "runner/worker/checkpoint/optimizer_state.hpp"
#include "runner/worker/first_line.hpp"
#include "runner/worker/torch_file.hpp"

namespace ddpprof::worker {
namespace {

constexpr const char* format = "ddpprof checkpoint 1";

at::Generator random_generator() { return at::detail::getDefaultCPUGenerator(); }

}  // namespace

c10::IValue make_checkpoint(const Network& network, const torch::optim::Optimizer& optimizer,
                            scenario::OptimizerKind kind, const Progress& progress) {
  auto model = text_dictionary();
  for (const auto& [name, tensor] : network.state()) model.insert(name, tensor);
  auto whole = text_dictionary();
  whole.insert("format", format);
  whole.insert("workload", network.model().label());
  whole.insert("model", model);
  whole.insert("optimizer_kind", scenario::to_string(kind));
  whole.insert("optimizer", optimizer_state(optimizer, kind));
  whole.insert("step", progress.steps);
  whole.insert("epoch", progress.epoch);
  whole.insert("position", progress.position);
  if (progress.adascale) {
    auto adascale = text_dictionary();
    adascale.insert("steps", progress.adascale->steps);
    adascale.insert("base_steps", progress.adascale->base_steps);
    adascale.insert("base_batch", progress.adascale->base_batch);
    adascale.insert("gradient_sqr", progress.adascale->average.gradient_sqr);
    adascale.insert("trace_samples", progress.adascale->average.trace);
    whole.insert("adascale", adascale);
  }
  whole.insert("random", random_generator().get_state());
  return whole;
}

template <typename Work>
auto Checkpoint::guarded(const Work& work) const {
  try {
    return work();
  } catch (const std::exception& error) {
    throw scenario::DataError("checkpoint.resume: " + path_.string() + ": " + first_line(error.what()));
  }
}

Checkpoint::Checkpoint(std::filesystem::path path) : path_(std::move(path)) {
  guarded([&] {
    value_ = read_torch_file(path_);
    if (!value_.isGenericDict() || !value_.toGenericDict().contains("format") ||
        text_entry(value_.toGenericDict(), "format") != format)
      throw std::runtime_error(std::string("no checkpoint of this program; expected a file that checkpoint.folder got "
                                           "(") +
                               format + ")");
    const auto whole = value_.toGenericDict();
    progress_ = {integer_entry(whole, "step"), integer_entry(whole, "epoch"), integer_entry(whole, "position"),
                 std::nullopt};
    if (!whole.contains("adascale")) return;
    const auto adascale = as_dictionary(entry(whole, "adascale"), "its 'adascale'");
    progress_.adascale = {integer_entry(adascale, "steps"),
                          number_entry(adascale, "base_steps"),
                          integer_entry(adascale, "base_batch"),
                          {number_entry(adascale, "gradient_sqr"), number_entry(adascale, "trace_samples")}};
  });
}

void Checkpoint::restore(const Network& network) const {
  guarded([&] {
    const auto whole = value_.toGenericDict();
    const auto trained = text_entry(whole, "workload");
    if (trained != network.model().label())
      throw std::runtime_error("it is of the model " + trained + ", this run trains " + network.model().label());
    const auto model = as_dictionary(entry(whole, "model"), "its 'model'");
    const auto state = network.state();
    for (const auto& [name, tensor] : state) copy_into(tensor, tensor_entry(model, name), name);
    if (model.size() != state.size())
      throw std::runtime_error("its 'model' holds " + std::to_string(model.size()) + " tensors, the model has " +
                               std::to_string(state.size()));
  });
}

void Checkpoint::restore(torch::optim::Optimizer& optimizer, scenario::OptimizerKind kind) const {
  guarded([&] {
    const auto whole = value_.toGenericDict();
    const auto used = text_entry(whole, "optimizer_kind");
    if (used != scenario::to_string(kind))
      throw std::runtime_error("its optimizer is " + used + ", this run's " + scenario::to_string(kind));
    load_optimizer_state(optimizer, kind, entry(whole, "optimizer"));
  });
}

void Checkpoint::restore_random() const {
  guarded([&] {
    auto generator = random_generator();
    const std::lock_guard lock(generator.mutex());
    generator.set_state(tensor_entry(value_.toGenericDict(), "random"));
  });
}

}  // namespace ddpprof::worker
