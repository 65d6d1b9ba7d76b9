#include "runner/worker/checkpoint/optimizer_state.hpp"

#include <stdexcept>
#include <tuple>

#include "runner/worker/checkpoint/dictionary.hpp"

namespace ddpprof::worker {
namespace {

c10::impl::GenericDict tensors_of(const torch::optim::SGDParamState& state) {
  auto tensors = text_dictionary();
  tensors.insert("momentum_buffer", state.momentum_buffer());
  return tensors;
}

template <typename AdamState>
c10::impl::GenericDict adam_tensors(const AdamState& state) {
  auto tensors = text_dictionary();
  tensors.insert("step", torch::tensor(static_cast<float>(state.step())));  // Python counts in a float32 tensor
  tensors.insert("exp_avg", state.exp_avg());
  tensors.insert("exp_avg_sq", state.exp_avg_sq());
  return tensors;
}

c10::impl::GenericDict tensors_of(const torch::optim::AdamParamState& state) { return adam_tensors(state); }
c10::impl::GenericDict tensors_of(const torch::optim::AdamWParamState& state) { return adam_tensors(state); }

// A tensor like the parameter, with the values of the file.
torch::Tensor state_tensor(const c10::impl::GenericDict& tensors, const std::string& key,
                           const torch::Tensor& parameter) {
  auto own = torch::empty_like(parameter, torch::TensorOptions().requires_grad(false));
  copy_into(own, tensor_entry(tensors, key), key);
  return own;
}

void fill(torch::optim::SGDParamState& state, const c10::impl::GenericDict& tensors, const torch::Tensor& parameter) {
  state.momentum_buffer(state_tensor(tensors, "momentum_buffer", parameter));
}

template <typename AdamState>
void fill_adam(AdamState& state, const c10::impl::GenericDict& tensors, const torch::Tensor& parameter) {
  state.step(static_cast<std::int64_t>(tensor_entry(tensors, "step").item<double>()));
  state.exp_avg(state_tensor(tensors, "exp_avg", parameter));
  state.exp_avg_sq(state_tensor(tensors, "exp_avg_sq", parameter));
}

void fill(torch::optim::AdamParamState& state, const c10::impl::GenericDict& tensors, const torch::Tensor& parameter) {
  fill_adam(state, tensors, parameter);
}
void fill(torch::optim::AdamWParamState& state, const c10::impl::GenericDict& tensors, const torch::Tensor& parameter) {
  fill_adam(state, tensors, parameter);
}

c10::impl::GenericDict options_of(const torch::optim::SGDOptions& options) {
  auto group = text_dictionary();
  group.insert("lr", options.lr());
  group.insert("momentum", options.momentum());
  group.insert("dampening", options.dampening());
  group.insert("weight_decay", options.weight_decay());
  group.insert("nesterov", options.nesterov());
  return group;
}

template <typename AdamOptions>
c10::impl::GenericDict options_of(const AdamOptions& options) {
  auto group = text_dictionary();
  group.insert("lr", options.lr());
  group.insert("betas", c10::ivalue::Tuple::create(std::get<0>(options.betas()), std::get<1>(options.betas())));
  group.insert("eps", options.eps());
  group.insert("weight_decay", options.weight_decay());
  group.insert("amsgrad", options.amsgrad());
  return group;
}

// The parts that differ between kinds of optimizer.
template <typename State, typename Options>
struct Family {
  static c10::IValue save(const torch::optim::Optimizer& optimizer) {
    auto state = index_dictionary();
    c10::impl::GenericList indices(c10::AnyType::get());
    const auto& parameters = optimizer.parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto index = static_cast<std::int64_t>(i);
      indices.emplace_back(index);
      const auto found = optimizer.state().find(parameters[i].unsafeGetTensorImpl());
      if (found != optimizer.state().end()) state.insert(index, tensors_of(static_cast<const State&>(*found->second)));
    }
    auto group = options_of(static_cast<const Options&>(optimizer.defaults()));
    group.insert("params", indices);
    c10::impl::GenericList groups(c10::AnyType::get());
    groups.emplace_back(group);
    auto whole = text_dictionary();
    whole.insert("state", state);
    whole.insert("param_groups", groups);
    return whole;
  }

  static void load(torch::optim::Optimizer& optimizer, const c10::IValue& saved) {
    const auto state = as_dictionary(entry(as_dictionary(saved, "'optimizer'"), "state"), "'optimizer.state'");
    const auto& parameters = optimizer.parameters();
    for (const auto& item : state) {
      if (!item.key().isInt() || item.key().toInt() < 0 ||
          item.key().toInt() >= static_cast<std::int64_t>(parameters.size()))
        throw std::runtime_error("its 'optimizer.state' has an entry for a parameter outside the model's " +
                                 std::to_string(parameters.size()) + " parameters");
      const auto& parameter = parameters[static_cast<std::size_t>(item.key().toInt())];
      auto own = std::make_unique<State>();
      fill(*own, as_dictionary(item.value(), "an entry of 'optimizer.state'"), parameter);
      optimizer.state()[parameter.unsafeGetTensorImpl()] = std::move(own);
    }
  }
};

using SgdFamily = Family<torch::optim::SGDParamState, torch::optim::SGDOptions>;
using AdamFamily = Family<torch::optim::AdamParamState, torch::optim::AdamOptions>;
using AdamWFamily = Family<torch::optim::AdamWParamState, torch::optim::AdamWOptions>;

}  // namespace

c10::IValue optimizer_state(const torch::optim::Optimizer& optimizer, scenario::OptimizerKind kind) {
  switch (kind) {
    case scenario::OptimizerKind::sgd:
      return SgdFamily::save(optimizer);
    case scenario::OptimizerKind::adam:
      return AdamFamily::save(optimizer);
    case scenario::OptimizerKind::adamw:
      return AdamWFamily::save(optimizer);
  }
  throw std::invalid_argument("unknown optimizer");
}

void load_optimizer_state(torch::optim::Optimizer& optimizer, scenario::OptimizerKind kind, const c10::IValue& state) {
  switch (kind) {
    case scenario::OptimizerKind::sgd:
      return SgdFamily::load(optimizer, state);
    case scenario::OptimizerKind::adam:
      return AdamFamily::load(optimizer, state);
    case scenario::OptimizerKind::adamw:
      return AdamWFamily::load(optimizer, state);
  }
  throw std::invalid_argument("unknown optimizer");
}

}  // namespace ddpprof::worker
