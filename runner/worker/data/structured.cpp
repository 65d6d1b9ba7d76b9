#include "runner/worker/data/structured.hpp"

#include <algorithm>
#include <cmath>

#include "runner/scenario/tensor_spec.hpp"
#include "runner/worker/data/random_stream.hpp"
#include "runner/worker/status.hpp"

namespace ddpprof::worker {
namespace {

using scenario::TensorSpec;
using Kind = scenario::Model::Kind;

constexpr std::int64_t mask_token = 103, ignored = -100;

// Random numbers from one stream.
class Draws {
 public:
  Draws(std::uint64_t seed, StreamKind kind, std::int64_t sample)
      : seed_(random_stream(seed, kind, static_cast<std::uint64_t>(sample))) {}
  double uniform() { return static_cast<double>(random_stream(seed_, StreamKind::draw, next_++) >> 11) * 0x1p-53; }
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(random_stream(seed_, StreamKind::draw, next_++) %
                                     static_cast<std::uint64_t>(limit));
  }
  // Small numbers are much more frequent than large ones, as with words and catalogue entries.
  std::int64_t skewed(std::int64_t limit) {
    const double u = uniform();
    return std::min(limit - 1, static_cast<std::int64_t>(u * u * u * static_cast<double>(limit)));
  }
  double normal() {  // Box and Muller 1958
    const double u = std::max(uniform(), 0x1p-53);
    return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * 3.14159265358979323846 * uniform());
  }

 private:
  std::uint64_t seed_;
  std::uint64_t next_ = 0;
};

void show_life(std::int64_t sample) {
  if (sample % 4096 == 0)
    status::set(status::Activity::building_model);  // reports progress: a large data set takes long
}

torch::Tensor empty_of(const TensorSpec& spec, std::int64_t count) {
  std::vector<std::int64_t> shape{count};
  shape.insert(shape.end(), spec.shape.begin(), spec.shape.end());
  return torch::empty(shape, spec.type == TensorSpec::Type::int64 ? torch::kLong : torch::kFloat);
}

// Makes `tokens` + 1 tokens of text; nine in ten depend on the previous token.
void write_text(std::uint64_t seed, std::int64_t sample, std::int64_t vocabulary, std::vector<std::int64_t>& text) {
  Draws draws(seed, StreamKind::text, sample);
  std::int64_t token = draws.skewed(vocabulary);
  for (auto& place : text) {
    place = token;
    token = draws.uniform() < 0.9 ? (token * 5 + 7) % vocabulary : draws.skewed(vocabulary);
  }
}

StructuredSamples make_text(const scenario::Workload& workload, std::int64_t count) {
  const auto& model = workload.model;
  const bool masked = model.kind == Kind::bert;
  const std::int64_t tokens = model.tokens(), vocabulary = model.vocabulary_size();
  StructuredSamples made{{torch::empty({count, tokens}, torch::kLong)}, torch::empty({count, tokens}, torch::kLong)};
  auto* input = made.inputs.front().mutable_data_ptr<std::int64_t>();
  auto* target = made.targets.mutable_data_ptr<std::int64_t>();
  std::vector<std::int64_t> text(static_cast<std::size_t>(tokens) + 1);
  for (std::int64_t i = 0; i < count; ++i, input += tokens, target += tokens) {
    show_life(i);
    write_text(workload.data.seed, i, vocabulary, text);
    Draws mask(workload.data.seed, StreamKind::mask, i);
    const std::int64_t always =
        masked ? mask.below(tokens) : 0;  // at least one masked token, so that the loss has a term
    for (std::int64_t t = 0; t < tokens; ++t) {
      const auto place = static_cast<std::size_t>(t);
      const bool hidden = masked && (mask.uniform() < 0.15 || t == always);
      input[t] = hidden ? std::min(mask_token, vocabulary - 1) : text[place];
      target[t] = masked ? (hidden ? text[place] : ignored) : text[place + 1];
    }
  }
  return made;
}

StructuredSamples make_visits(const scenario::Workload& workload, std::int64_t count) {
  const auto& model = workload.model;
  const std::uint64_t seed = workload.data.seed;
  StructuredSamples made{{torch::empty({count, model.dense}), torch::empty({count, model.tables}, torch::kLong)},
                         torch::empty({count})};
  auto* numbers = made.inputs[0].mutable_data_ptr<float>();
  auto* rows = made.inputs[1].mutable_data_ptr<std::int64_t>();
  auto* answers = made.targets.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < count; ++i, numbers += model.dense, rows += model.tables) {
    show_life(i);
    Draws draws(seed, StreamKind::number, i);
    double taste = 0.0;
    for (std::int64_t k = 0; k < model.dense; ++k) {
      const double number = draws.normal();
      numbers[k] = static_cast<float>(number);
      taste += k % 2 == 0 ? number : -number;
    }
    for (std::int64_t k = 0; k < model.tables; ++k) {
      rows[k] = draws.skewed(model.rows);
      const std::uint64_t worth = random_stream(random_stream(seed, StreamKind::row, static_cast<std::uint64_t>(k)),
                                                StreamKind::draw, static_cast<std::uint64_t>(rows[k]));
      taste += worth % 2 == 0 ? 0.5 : -0.5;
    }
    answers[i] = Draws(seed, StreamKind::answer, i).uniform() < 1.0 / (1.0 + std::exp(-taste)) ? 1.0F : 0.0F;
  }
  return made;
}

StructuredSamples make_tensors(const scenario::Workload& workload, std::int64_t count) {
  const std::uint64_t seed = workload.data.seed;
  const auto specs = scenario::input_specs(workload.model);
  const auto target = scenario::target_spec(workload.model, workload.loss);
  StructuredSamples made;
  const auto generator = [&](StreamKind kind, std::int64_t number) {
    return at::make_generator<at::CPUGeneratorImpl>(random_stream(seed, kind, static_cast<std::uint64_t>(number)));
  };
  std::int64_t first_numbers = -1;
  for (std::size_t k = 0; k < specs.size(); ++k) {
    const TensorSpec& spec = specs[k];
    auto tensor = empty_of(spec, count);
    for (std::int64_t i = 0; i < count; ++i) {
      show_life(i);
      auto source =
          generator(StreamKind::number, i * static_cast<std::int64_t>(specs.size()) + static_cast<std::int64_t>(k));
      auto sample = tensor.select(0, i);
      if (spec.type == TensorSpec::Type::int64)
        sample.random_(0, spec.below, source);
      else
        sample.normal_(0.0, 1.0, source);
    }
    if (spec.type == TensorSpec::Type::float32 && first_numbers < 0) first_numbers = static_cast<std::int64_t>(k);
    made.inputs.push_back(std::move(tensor));
  }
  made.targets = empty_of(target, count);
  for (std::int64_t i = 0; i < count; ++i) {
    auto source = generator(StreamKind::label, i);
    auto own = made.targets.select(0, i);
    torch::Tensor numbers =
        first_numbers >= 0 ? made.inputs[static_cast<std::size_t>(first_numbers)].select(0, i) : torch::Tensor();
    if (target.type == TensorSpec::Type::int64) {
      own.random_(0, target.below, source);
      if (!numbers.defined() || target.elements() != 1) continue;
      auto pattern = generator(StreamKind::pattern, own.item<std::int64_t>());
      numbers.add_(torch::randn(numbers.sizes(), pattern), 0.5);
    } else {
      own.normal_(0.0, 0.1, source);
      if (numbers.defined()) own.add_(numbers.mean());
      if (workload.loss == scenario::LossKind::bce) own.copy_(own.gt(0.0));
    }
  }
  if (workload.loss == scenario::LossKind::model) made.inputs.push_back(made.targets);
  return made;
}

}  // namespace

bool is_structured(const scenario::Model& model) {
  switch (model.kind) {
    case Kind::gpt:
    case Kind::bert:
    case Kind::recommender:
    case Kind::torchscript:
      return true;
    default:
      return false;
  }
}

StructuredSamples make_structured(const scenario::Workload& workload, std::int64_t count) {
  switch (workload.model.kind) {
    case Kind::gpt:
    case Kind::bert:
      return make_text(workload, count);
    case Kind::recommender:
      return make_visits(workload, count);
    default:
      return make_tensors(workload, count);
  }
}

}  // namespace ddpprof::worker
