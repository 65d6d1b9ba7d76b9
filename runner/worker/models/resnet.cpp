#include <array>

#include "runner/worker/models/dense.hpp"
#include "runner/worker/models/network.hpp"

namespace ddpprof::worker {
namespace {

torch::nn::Conv2d convolution(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride) {
  torch::nn::Conv2d layer(torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
  torch::nn::init::kaiming_normal_(layer->weight, 0.0, torch::kFanOut, torch::kReLU);
  return layer;
}

// A residual block: two 3×3 convolutions (expansion 1) or 1×1, 3×3, 1×1 (expansion 4), and the shortcut.
class ResidualBlock : public torch::nn::Cloneable<ResidualBlock> {
 public:
  ResidualBlock(std::int64_t in, std::int64_t width, std::int64_t stride, std::int64_t expansion)
      : in_(in), width_(width), stride_(stride), expansion_(expansion) {
    reset();
  }

  void reset() override {
    convolutions_.clear();
    norms_.clear();
    shortcut_ = nullptr;
    const std::int64_t out = width_ * expansion_;
    if (expansion_ == 1) {
      add(in_, width_, 3, stride_);
      add(width_, out, 3, 1);
    } else {
      add(in_, width_, 1, 1);
      add(width_, width_, 3, stride_);
      add(width_, out, 1, 1);
    }
    if (stride_ != 1 || in_ != out)
      shortcut_ = register_module(
          "downsample", torch::nn::Sequential(convolution(in_, out, 1, stride_), torch::nn::BatchNorm2d(out)));
  }

  torch::Tensor forward(torch::Tensor input) {
    torch::Tensor x = input;
    for (std::size_t i = 0; i < convolutions_.size(); ++i) {
      x = norms_[i]->forward(convolutions_[i]->forward(x));
      if (i + 1 < convolutions_.size()) x = x.relu_();
    }
    x += shortcut_.is_empty() ? input : shortcut_->forward(input);
    return x.relu_();
  }

 private:
  void add(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride) {
    const auto number = std::to_string(convolutions_.size() + 1);
    convolutions_.push_back(register_module("conv" + number, convolution(in, out, kernel, stride)));
    norms_.push_back(register_module("bn" + number, torch::nn::BatchNorm2d(out)));
  }

  std::int64_t in_, width_, stride_, expansion_;
  std::vector<torch::nn::Conv2d> convolutions_;
  std::vector<torch::nn::BatchNorm2d> norms_;
  torch::nn::Sequential shortcut_{nullptr};
};

// The blocks of one resolution.
class ResidualGroup : public torch::nn::Cloneable<ResidualGroup> {
 public:
  ResidualGroup(std::int64_t in, std::int64_t width, std::int64_t stride, std::int64_t expansion, std::int64_t blocks)
      : in_(in), width_(width), stride_(stride), expansion_(expansion), count_(blocks) {
    reset();
  }

  void reset() override {
    blocks_.clear();
    for (std::int64_t i = 0; i < count_; ++i)
      blocks_.push_back(
          register_module(std::to_string(i), std::make_shared<ResidualBlock>(i == 0 ? in_ : width_ * expansion_, width_,
                                                                             i == 0 ? stride_ : 1, expansion_)));
  }

  torch::Tensor forward(torch::Tensor input) {
    for (const auto& block : blocks_) input = block->forward(std::move(input));
    return input;
  }

 private:
  std::int64_t in_, width_, stride_, expansion_, count_;
  std::vector<std::shared_ptr<ResidualBlock>> blocks_;
};

}  // namespace

void build_resnet(LayerNetwork& network, scenario::Model::Kind kind, std::int64_t classes) {
  using torch::nn::AnyModule;
  const bool deep = kind == scenario::Model::Kind::resnet50;
  const std::array<std::int64_t, 4> blocks =
      deep ? std::array<std::int64_t, 4>{3, 4, 6, 3} : std::array<std::int64_t, 4>{2, 2, 2, 2};
  const std::int64_t expansion = deep ? 4 : 1;
  network.add("conv1", AnyModule(convolution(3, 64, 7, 2)));
  network.add("bn1", AnyModule(torch::nn::BatchNorm2d(64)));
  network.add("relu", AnyModule(torch::nn::ReLU(torch::nn::ReLUOptions(true))));
  network.add("maxpool", AnyModule(torch::nn::MaxPool2d(torch::nn::MaxPool2dOptions(3).stride(2).padding(1))));
  std::int64_t in = 64;
  for (std::size_t group = 0; group < blocks.size(); ++group) {
    const std::int64_t width = std::int64_t{64} << group;
    const auto layer = std::make_shared<ResidualGroup>(in, width, group > 0 ? 2 : 1, expansion, blocks[group]);
    in = width * expansion;
    network.add("layer" + std::to_string(group + 1), AnyModule(layer));
  }
  network.add("avgpool", AnyModule(torch::nn::AdaptiveAvgPool2d(1)));
  network.add("flatten", AnyModule(torch::nn::Flatten()));
  network.add("fc", AnyModule(Dense(in, classes)));
}

}  // namespace ddpprof::worker
