#include <gtest/gtest.h>
#include <torch/script.h>

#include "runner/worker/data/dataset.hpp"
#include "runner/worker/data/sampler.hpp"
#include "runner/worker/models/network.hpp"

namespace ddpprof::worker {
namespace {

using Kind = scenario::Model::Kind;

scenario::Model dense(Kind kind, std::vector<std::int64_t> widths) {
  scenario::Model model;
  model.kind = kind;
  model.widths = std::move(widths);
  return model;
}

scenario::Model resnet(Kind kind, std::int64_t image_size) {
  scenario::Model model;
  model.kind = kind;
  model.image_size = image_size;
  return model;
}

// torchvision's published counts with 1000 classes.
TEST(Models, ResNetParameterCounts) {
  EXPECT_EQ(count_parameters(*make_network(resnet(Kind::resnet18, 32), 1)), 11'689'512);
  EXPECT_EQ(count_parameters(*make_network(resnet(Kind::resnet50, 32), 1)), 25'557'032);
}

// GPT-2 (small) and BertForMaskedLM (base) as published.
TEST(Models, TransformerParameterCounts) {
  scenario::Model model;
  model.kind = Kind::gpt;
  EXPECT_EQ(count_parameters(*make_network(model, 1)), 124'439'808);
  model.kind = Kind::bert;
  EXPECT_EQ(count_parameters(*make_network(model, 1)), 109'514'298);
}

scenario::Model small(Kind kind) {
  scenario::Model model;
  model.kind = kind;
  model.layers = 2, model.heads = 2, model.width = 16;
  model.vocabulary = 50, model.positions = 12, model.sequence = 8;
  model.tables = 3, model.rows = 40, model.embedding = 8, model.dense = 5, model.hidden = 16;
  return model;
}

TEST(Models, ADecoderNeverSeesWhatComesLater) {
  const auto network = make_network(small(Kind::gpt), 1);
  const auto tokens = torch::randint(50, {2, 8}, torch::kLong);
  auto changed = tokens.clone();
  changed.select(1, 5) = (changed.select(1, 5) + 1) % 50;
  const auto a = network->forward({tokens}), b = network->forward({changed});
  EXPECT_EQ(a.sizes().vec(), (std::vector<std::int64_t>{2, 8, 50}));
  EXPECT_TRUE(torch::allclose(a.slice(1, 0, 5), b.slice(1, 0, 5)));
  EXPECT_FALSE(torch::allclose(a.slice(1, 5), b.slice(1, 5)));
  // An encoder does.
  const auto encoder = make_network(small(Kind::bert), 1);
  EXPECT_FALSE(torch::allclose(encoder->forward({tokens}).slice(1, 0, 5), encoder->forward({changed}).slice(1, 0, 5)));
}

TEST(Models, EachLearnsItsOwnSyntheticData) {
  for (const auto kind : {Kind::gpt, Kind::bert, Kind::recommender}) {
    scenario::Workload load;
    load.model = small(kind);
    load.loss = kind == Kind::recommender ? scenario::LossKind::bce : scenario::LossKind::cross_entropy;
    load.data.samples = 512;
    const Dataset data(load);
    const auto network = make_network(load.model, 1);
    torch::optim::Adam optimizer(network->parameters(), torch::optim::AdamOptions(1e-2));
    BatchSampler sampler({512, 1, 0, true, false, 1}, 32);
    std::vector<double> losses;
    for (int step = 0; step < 100; ++step) {
      const auto batch = data.batch(sampler.next());
      const auto loss = loss_of(load.loss, network->forward(batch.inputs), batch.targets);
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      losses.push_back(loss.item<double>());
    }
    EXPECT_LT(losses.back(), 0.85 * losses.front()) << scenario::to_string(kind);
  }
}

// The same module as torch.jit.script writes: a linear layer in a submodule, its weight also under another name,
// and a buffer.
std::string script_file(const std::string& name) {
  torch::jit::Module inner("Inner"), root("Root");
  const auto weight = torch::randn({4, 3}).requires_grad_();
  inner.register_parameter("weight", weight, false);
  inner.register_buffer("mean", torch::zeros({3}));
  inner.define("def forward(self, x):\n    return torch.matmul(x, self.weight) + self.mean\n");
  root.register_module("inner", inner);
  root.register_parameter("tied", weight, false);
  root.define("def forward(self, x):\n    return self.inner.forward(x) * self.tied.sum()\n");
  const std::string path = testing::TempDir() + name;
  root.save(path);
  return path;
}

TEST(Script, SharesItsParametersWithTheModuleAndCopiesThemAll) {
  scenario::Model model;
  model.kind = Kind::torchscript;
  model.file = script_file("shared.pt");
  model.inputs = {"float32[4]"};
  model.target = "int64[]<3";
  const auto network = make_network(model, 1);
  const auto parameters = network->named_parameters();
  ASSERT_EQ(parameters.size(), 1u);  // the tied weight once
  EXPECT_EQ(network->named_buffers().keys(), std::vector<std::string>{"inner.mean"});
  const auto input = torch::randn({2, 4});
  const auto copy = clone_network(*network);
  EXPECT_TRUE(torch::equal(network->forward({input}), copy->forward({input})));
  {
    const torch::NoGradGuard no_grad;
    network->parameters().front().zero_();
  }
  EXPECT_EQ(network->forward({input}).abs().sum().item<float>(), 0.0F);  // the module uses the registered tensors
  EXPECT_NE(copy->forward({input}).abs().sum().item<float>(), 0.0F);     // the copy has its own tensors
  network->forward({input}).sum().backward();
  EXPECT_TRUE(network->parameters().front().grad().defined());
}

TEST(Models, MlpParameterCount) {
  // 784·10 + 10 + 2 (10·10 + 10)
  EXPECT_EQ(count_parameters(*make_network(dense(Kind::mlp, {784, 10, 10, 10}), 1)), 8'070);
  EXPECT_EQ(count_parameters(*make_network(dense(Kind::linear, {10, 2}), 1)), 22);
}

TEST(Models, ResNetOutputShapes) {
  for (const auto kind : {Kind::resnet18, Kind::resnet50}) {
    const auto output = make_network(resnet(kind, 64), 1)->forward({torch::randn({2, 3, 64, 64})});
    EXPECT_EQ(output.sizes().vec(), (std::vector<std::int64_t>{2, 1000}));
  }
}

TEST(Models, SeedDecidesTheWeights) {
  const auto model = dense(Kind::mlp, {20, 10, 3});
  EXPECT_EQ(hash_parameters(*make_network(model, 7)), hash_parameters(*make_network(model, 7)));
  EXPECT_NE(hash_parameters(*make_network(model, 7)), hash_parameters(*make_network(model, 8)));
}

TEST(Models, CloneSharesNothing) {
  const auto network = make_network(resnet(Kind::resnet18, 32), 3);
  const auto copy = clone_network(*network);
  const auto own = network->named_parameters(), other = copy->named_parameters();
  ASSERT_EQ(own.size(), other.size());
  for (const auto& item : own) {
    ASSERT_TRUE(other.contains(item.key()));
    EXPECT_TRUE(torch::equal(item.value(), other[item.key()])) << item.key();
    EXPECT_NE(item.value().data_ptr(), other[item.key()].data_ptr()) << item.key();
  }
  const auto input = torch::randn({2, 3, 32, 32});
  EXPECT_TRUE(torch::equal(network->forward({input}), copy->forward({input})));
}

scenario::Workload workload(scenario::Model model, scenario::LossKind loss, std::int64_t samples) {
  scenario::Workload result;
  result.model = std::move(model);
  result.loss = loss;
  result.data.samples = samples;
  return result;
}

TEST(Data, SameSeedSameSamplesWhateverTheirNumber) {
  const auto model = dense(Kind::mlp, {12, 4});
  const Dataset small(workload(model, scenario::LossKind::cross_entropy, 10));
  const Dataset large(workload(model, scenario::LossKind::cross_entropy, 50));
  const auto a = small.batch({3, 9}), b = large.batch({3, 9});
  EXPECT_TRUE(torch::equal(a.inputs[0], b.inputs[0]));
  EXPECT_TRUE(torch::equal(a.targets, b.targets));
  EXPECT_EQ(a.targets.scalar_type(), torch::kLong);
}

TEST(Data, LargeInputsRepeatAPool) {
  const Dataset images(workload(resnet(Kind::resnet18, 224), scenario::LossKind::cross_entropy, 10'000));
  EXPECT_EQ(images.pool_size(), Dataset::pool_bytes / (3 * 224 * 224 * 4 + 8));
  const auto pool = images.pool_size();
  EXPECT_TRUE(torch::equal(images.batch({5}).inputs[0], images.batch({5 + pool}).inputs[0]));
}

TEST(Data, ALinearModelLearnsTheRegression) {
  const auto load = workload(dense(Kind::linear, {10, 1}), scenario::LossKind::mse, 1000);
  const Dataset data(load);
  const auto network = make_network(load.model, 1);
  torch::optim::SGD optimizer(network->parameters(), torch::optim::SGDOptions(0.1));
  BatchSampler sampler({1000, 1, 0, true, false, 1}, 50);
  double first = 0, last = 0;
  for (int step = 0; step < 200; ++step) {
    const auto batch = data.batch(sampler.next());
    const auto loss = loss_of(load.loss, network->forward(batch.inputs), batch.targets);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    (step == 0 ? first : last) = loss.item<double>();
  }
  EXPECT_LT(last, 0.01 * first);  // the target is an exact linear map
}

TEST(Sampler, TenThousandOverFourRanks) {
  std::vector<bool> seen(10'000, false);
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    const auto indices = epoch_indices({10'000, 4, rank, true, false, 1}, 0);
    EXPECT_EQ(indices.size(), 2'500u);
    for (const auto index : indices) seen[static_cast<std::size_t>(index)] = true;
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 10'000);
}

TEST(Sampler, EpochsFollowOneAnother) {
  BatchSampler sampler({10, 1, 0, true, false, 5}, 6);
  auto expected = epoch_indices({10, 1, 0, true, false, 5}, 0);
  const auto next_epoch = epoch_indices({10, 1, 0, true, false, 5}, 1);
  expected.insert(expected.end(), next_epoch.begin(), next_epoch.begin() + 2);
  auto got = sampler.next().indices;
  const auto more = sampler.next().indices;
  got.insert(got.end(), more.begin(), more.end());
  EXPECT_EQ(got, expected);
}

TEST(Sampler, RefusesAnEmptyShard) { EXPECT_THROW(BatchSampler({3, 4, 0, true, true, 1}, 2), std::invalid_argument); }

}  // namespace
}  // namespace ddpprof::worker
