#include "runner/worker/checkpoint/dictionary.hpp"

#include <cmath>
#include <stdexcept>

namespace ddpprof::worker {

c10::impl::GenericDict as_dictionary(const c10::IValue& value, const std::string& name) {
  if (!value.isGenericDict()) throw std::runtime_error(name + " is a " + value.tagKind() + ", expected a dictionary");
  return value.toGenericDict();
}

c10::IValue entry(const c10::impl::GenericDict& dictionary, const std::string& key) {
  const auto found = dictionary.find(key);
  if (found == dictionary.end()) throw std::runtime_error("it holds no '" + key + "'");
  return found->value();
}

std::int64_t integer_entry(const c10::impl::GenericDict& dictionary, const std::string& key) {
  const auto value = entry(dictionary, key);
  if (!value.isInt() || value.toInt() < 0) throw std::runtime_error("its '" + key + "' is not an integer of 0 or more");
  return value.toInt();
}

double number_entry(const c10::impl::GenericDict& dictionary, const std::string& key) {
  const auto value = entry(dictionary, key);
  if (!value.isDouble() || !(value.toDouble() >= 0.0) || !std::isfinite(value.toDouble()))
    throw std::runtime_error("its '" + key + "' is not a number of 0 or more");
  return value.toDouble();
}

torch::Tensor tensor_entry(const c10::impl::GenericDict& dictionary, const std::string& key) {
  const auto value = entry(dictionary, key);
  if (!value.isTensor()) throw std::runtime_error("its '" + key + "' is a " + value.tagKind() + ", expected a tensor");
  return value.toTensor();
}

std::string text_entry(const c10::impl::GenericDict& dictionary, const std::string& key) {
  const auto value = entry(dictionary, key);
  if (!value.isString()) throw std::runtime_error("its '" + key + "' is a " + value.tagKind() + ", expected text");
  return value.toStringRef();
}

void copy_into(const torch::Tensor& target, const torch::Tensor& source, const std::string& name) {
  if (target.sizes() != source.sizes() || target.scalar_type() != source.scalar_type())
    throw std::runtime_error("its '" + name + "' is " + c10::toString(source.scalar_type()) + " of shape " +
                             c10::str(source.sizes()) + ", the model has " + c10::toString(target.scalar_type()) +
                             " of shape " + c10::str(target.sizes()));
  const torch::NoGradGuard no_grad;
  target.copy_(source);
}

}  // namespace ddpprof::worker
