// Makes Python dictionaries as LibTorch values, and reads them with errors that name the key.
#pragma once

#include <string>

#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

inline auto text_dictionary() { return c10::impl::GenericDict(c10::StringType::get(), c10::AnyType::get()); }
inline auto index_dictionary() { return c10::impl::GenericDict(c10::IntType::get(), c10::AnyType::get()); }

// Each throws std::runtime_error if the entry is missing or has another type.
c10::impl::GenericDict as_dictionary(const c10::IValue& value, const std::string& name);
c10::IValue entry(const c10::impl::GenericDict& dictionary, const std::string& key);
std::int64_t integer_entry(const c10::impl::GenericDict& dictionary, const std::string& key);  // 0 or more
double number_entry(const c10::impl::GenericDict& dictionary, const std::string& key);         // finite, 0 or more
torch::Tensor tensor_entry(const c10::impl::GenericDict& dictionary, const std::string& key);
std::string text_entry(const c10::impl::GenericDict& dictionary, const std::string& key);

// Throws std::runtime_error if the shapes or the number types differ.
void copy_into(const torch::Tensor& target, const torch::Tensor& source, const std::string& name);

}  // namespace ddpprof::worker
