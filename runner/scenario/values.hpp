// Turns YAML nodes into typed values, and typed values into YAML. Private to this folder.
#pragma once

#include <yaml-cpp/yaml.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "runner/scenario/key_table.hpp"

namespace ddpprof::scenario {

// Every value of an enum, in the order in which messages and documentation list them.
template <typename T>
inline constexpr std::array<T, 0> values_of = {};
template <>
inline constexpr std::array values_of<Model::Kind> = {
    Model::Kind::linear, Model::Kind::mlp,  Model::Kind::resnet18,    Model::Kind::resnet50,
    Model::Kind::gpt,    Model::Kind::bert, Model::Kind::recommender, Model::Kind::torchscript};
template <>
inline constexpr std::array values_of<Strategy> = {Strategy::ddp, Strategy::dp};
template <>
inline constexpr std::array values_of<BackendChoice> = {BackendChoice::automatic, BackendChoice::gloo,
                                                        BackendChoice::mpi, BackendChoice::nccl};
template <>
inline constexpr std::array values_of<DeviceChoice> = {DeviceChoice::automatic, DeviceChoice::cpu, DeviceChoice::cuda};
template <>
inline constexpr std::array values_of<OptimizerKind> = {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw};
template <>
inline constexpr std::array values_of<Precision> = {Precision::fp32, Precision::bf16};
template <>
inline constexpr std::array values_of<LossKind> = {LossKind::cross_entropy, LossKind::mse, LossKind::bce,
                                                   LossKind::model};
template <>
inline constexpr std::array values_of<Compression> = {Compression::none, Compression::fp16};
template <>
inline constexpr std::array values_of<DataSource> = {DataSource::synthetic, DataSource::mnist, DataSource::tensors};
template <>
inline constexpr std::array values_of<DataSplit> = {DataSplit::train, DataSplit::test};
template <>
inline constexpr std::array values_of<Sampling> = {Sampling::uniform, Sampling::balanced};
template <>
inline constexpr std::array values_of<Transform> = {Transform::none, Transform::augment};
template <>
inline constexpr std::array values_of<RawEvents> = {RawEvents::all, RawEvents::rank0, RawEvents::none};
template <>
inline constexpr std::array values_of<Sharing> = {Sharing::machine, Sharing::dedicated};
template <>
inline constexpr std::array values_of<DeviceSync> = {DeviceSync::every_step, DeviceSync::never};
template <>
inline constexpr std::array values_of<JobTracer> = {JobTracer::torch, JobTracer::own};
template <>
inline constexpr std::array values_of<learning_rate::Rule> = {
    learning_rate::Rule::none, learning_rate::Rule::linear, learning_rate::Rule::square_root,
    learning_rate::Rule::lars, learning_rate::Rule::lamb,   learning_rate::Rule::adascale};
template <>
inline constexpr std::array values_of<learning_rate::DecayKind> = {
    learning_rate::DecayKind::constant, learning_rate::DecayKind::step, learning_rate::DecayKind::cosine,
    learning_rate::DecayKind::polynomial};

// Returns the word for the value in a file.
template <typename T>
const char* word_of(T value) {
  if constexpr (std::is_same_v<T, learning_rate::Rule>)
    return word(value);
  else
    return to_string(value);
}

template <typename T>
std::span<const std::string_view> names_of() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> list;
    for (const T value : values_of<T>) list.emplace_back(word_of(value));
    return list;
  }();
  return names;
}

// Each returns the value. If the node is not such a value within the spec's limits, it adds a complaint and returns
// nullopt.
std::optional<std::int64_t> parse_integer(const KeySpec&, const YAML::Node&, std::vector<Complaint>&);
std::optional<double> parse_number(const KeySpec&, const YAML::Node&, std::vector<Complaint>&);
std::optional<bool> parse_boolean(const KeySpec&, const YAML::Node&, std::vector<Complaint>&);
std::optional<std::string> parse_text(const KeySpec&, const YAML::Node&, std::vector<Complaint>&);
std::optional<std::size_t> parse_choice(const KeySpec&, const YAML::Node&, std::vector<Complaint>&);  // index
std::optional<std::vector<std::int64_t>> parse_integers(const KeySpec&, const YAML::Node&, std::vector<Complaint>&);
std::optional<std::vector<double>> parse_numbers(const KeySpec&, const YAML::Node&, std::vector<Complaint>&);
std::optional<std::vector<std::string>> parse_texts(const KeySpec&, const YAML::Node&, std::vector<Complaint>&);
std::optional<std::vector<std::size_t>> parse_choices(const KeySpec&, const YAML::Node&, std::vector<Complaint>&);

std::string describe(const YAML::Node&);  // "a list", "text 'abc'", "1.5"

std::string emit_text(const std::string&);  // double-quoted
std::string emit_number(double);            // the shortest text that is read as the same number

}  // namespace ddpprof::scenario
