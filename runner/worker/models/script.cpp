#include "runner/worker/models/script.hpp"
#include "runner/scenario/data_files.hpp"

#include <torch/csrc/jit/runtime/graph_executor.h>

#include <filesystem>
#include <stdexcept>
#include <unordered_set>

namespace ddpprof::worker {

using scenario::DataError;

namespace {

// Returns the reason in a LibTorch message, without stack traces. The interpreter puts the reason last, other parts of
// LibTorch put it first.
std::string reason(const std::string& message) {
  const std::size_t last = message.rfind("RuntimeError: ");
  const std::string text = last == std::string::npos ? message : message.substr(last);
  return text.substr(0, text.find('\n'));
}

torch::jit::Module read_module(const std::string& file) {
  if (!std::filesystem::is_regular_file(file))
    throw DataError("workload.model.file: " + file +
                    ": no such file; expected what torch.jit.script(model).save(...) wrote");
  try {
    return torch::jit::load(file, torch::kCPU);
  } catch (const c10::Error& error) {
    throw DataError("workload.model.file: " + file +
                    ": not a TorchScript module (a state_dict or a pickled model cannot be used; write the file with "
                    "torch.jit.script(model).save(...)): " +
                    reason(error.what_without_backtrace()));
  }
}

// Returns the module that has the last part of a dotted name. Makes missing modules.
std::pair<std::shared_ptr<torch::nn::Module>, std::string> place(std::shared_ptr<torch::nn::Module> module,
                                                                 const std::string& name) {
  std::size_t begin = 0;
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', begin)) {
    const std::string child = name.substr(begin, dot - begin);
    const auto children = module->named_children();
    module = children.contains(child) ? children[child]
                                      : module->register_module(child, std::make_shared<torch::nn::Module>());
    begin = dot + 1;
  }
  return {std::move(module), name.substr(begin)};
}

}  // namespace

ScriptNetwork::ScriptNetwork(scenario::Model model) : ScriptNetwork(model, read_module(model.file)) {}

ScriptNetwork::ScriptNetwork(scenario::Model model, torch::jit::Module module)
    : Network(std::move(model)), module_(std::move(module)) {
  adopt();
}

void ScriptNetwork::adopt() {
  // The root cannot be shared here, since it is still under construction. So its own tensors are registered directly.
  const auto at = [this](const std::string& name, const auto& add) {
    const std::size_t dot = name.find('.');
    if (dot == std::string::npos) return add(static_cast<torch::nn::Module&>(*this), name);
    const std::string child = name.substr(0, dot);
    const auto children = named_children();
    auto first = children.contains(child) ? children[child] : register_module(child, std::make_shared<Module>());
    const auto [module, last] = place(std::move(first), name.substr(dot + 1));
    add(*module, last);
  };
  std::int64_t trainable = 0;
  std::unordered_set<const c10::TensorImpl*> seen;  // a tied weight counts once, under its first name, as in Python
  for (const auto& item : module_.named_parameters()) {
    if (!seen.insert(item.value.unsafeGetTensorImpl()).second) continue;
    at(item.name, [&](torch::nn::Module& module, const std::string& name) {
      module.register_parameter(name, item.value, item.value.requires_grad());
    });
    if (item.value.requires_grad()) ++trainable;
  }
  for (const auto& item : module_.named_buffers())
    at(item.name,
       [&](torch::nn::Module& module, const std::string& name) { module.register_buffer(name, item.value); });
  if (trainable == 0)
    throw DataError("workload.model.file: " + model().file +
                    " has no parameter that requires a gradient (torch.jit.freeze folds them into constants; "
                    "export the module as it trains)");
}

torch::Tensor ScriptNetwork::forward(const std::vector<torch::Tensor>& inputs) {
  std::vector<c10::IValue> arguments(inputs.begin(), inputs.end());
  c10::IValue output;
  const torch::jit::GraphOptimizerEnabledGuard no_fusion(
      false);  // applies only to this thread; replicas have their own threads
  try {
    output = module_.forward(std::move(arguments));
  } catch (const std::exception& error) {  // c10::Error, or the interpreter's own around what an operator threw
    throw std::runtime_error("workload.model.file: " + model().file +
                             ": forward() failed on workload.model.inputs: " + reason(error.what()));
  }
  if (output.isTuple() && !output.toTupleRef().elements().empty()) output = output.toTupleRef().elements()[0];
  if (!output.isTensor())
    throw std::runtime_error("workload.model.file: " + model().file + ": forward() returns " + output.tagKind() +
                             "; expected a tensor, or a tuple whose first entry is one");
  return output.toTensor();
}

void ScriptNetwork::train(bool on) {
  Network::train(on);
  module_.train(on);
}

Network::State ScriptNetwork::state() const {
  State state;
  for (const auto& item : module_.named_parameters()) state.emplace_back(item.name, item.value.detach());
  for (const auto& item : module_.named_buffers()) state.emplace_back(item.name, item.value.detach());
  return state;
}

std::shared_ptr<Network> ScriptNetwork::blank() const {
  auto copy = module_.deepcopy();  // deepcopy() does not keep requires_grad
  std::vector<bool> trainable;
  for (const auto& parameter : module_.parameters()) trainable.push_back(parameter.requires_grad());
  std::size_t index = 0;
  for (const auto& parameter : copy.parameters()) parameter.set_requires_grad(trainable[index++]);
  return std::shared_ptr<Network>(new ScriptNetwork(model(), std::move(copy)));
}

}  // namespace ddpprof::worker
