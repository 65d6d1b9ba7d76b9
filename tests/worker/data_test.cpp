// The content of batches: files in MNIST's format, scaling, the transform, and the samples of a weighted sampler.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "runner/worker/data/dataset.hpp"
#include "runner/worker/data/idx.hpp"
#include "runner/worker/data/random_stream.hpp"

namespace ddpprof::worker {
namespace {

namespace fs = std::filesystem;
using scenario::DataSource;
using testing::ElementsAre;
using testing::HasSubstr;
using Kind = scenario::Model::Kind;

template <typename Function>
std::string data_error(Function function) {
  try {
    function();
  } catch (const DataError& error) {
    return error.what();
  }
  return "no DataError";
}

class DataFiles : public testing::Test {
 protected:
  DataFiles() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~DataFiles() override { fs::remove_all(folder_); }

  // An IDX file's bytes: `magic` as four bytes, dimensions, values.
  static std::string idx(const std::string& magic, const std::vector<std::uint32_t>& shape, const std::string& values) {
    std::string bytes = magic;
    for (const std::uint32_t extent : shape)
      for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(extent >> shift & 0xff);
    return bytes + values;
  }
  fs::path put(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  fs::path put_packed(const std::string& name, const std::string& bytes) {
    const gzFile file = gzopen((folder_ / name).c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    return folder_ / name;
  }

  const std::string labels_magic{"\0\0\x08\x01", 4}, images_magic{"\0\0\x08\x03", 4};
  fs::path folder_ = fs::path(testing::TempDir()) /
                     (std::string("ddpprof-data-") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(DataFiles, IdxIsReadPlainAndPacked) {
  const std::string bytes = idx(images_magic, {2, 1, 3}, "abcdef");
  for (const fs::path& path : {put("plain", bytes), put_packed("packed.gz", bytes)}) {
    const IdxArray array = read_idx(path, 3);
    EXPECT_THAT(array.shape, ElementsAre(2, 1, 3));
    EXPECT_EQ(std::string(array.values.begin(), array.values.end()), "abcdef");
  }
}

TEST_F(DataFiles, DamagedIdxIsRefusedWithTheReason) {
  const std::string good = idx(labels_magic, {6}, "abcdef");
  const auto error_of = [&](const fs::path& path, std::size_t dimensions) {
    return data_error([&] { read_idx(path, dimensions); });
  };
  EXPECT_THAT(error_of(put("a", good.substr(0, good.size() - 2)), 1),
              HasSubstr("holds 4 values; expected 6, as its header says"));
  EXPECT_THAT(error_of(put("b", good + "g"), 1), HasSubstr("goes on after the 6 values of its header"));
  EXPECT_THAT(error_of(put("c", good.substr(0, 6)), 1), HasSubstr("ends inside its header"));
  EXPECT_THAT(error_of(put("d", ""), 1), HasSubstr("ends inside its header"));
  EXPECT_THAT(error_of(put("e", idx(images_magic, {2, 1, 3}, "abcdef")), 1),
              HasSubstr("starts with 0x00000803; expected an IDX file of unsigned bytes in 1 dimensions, which starts "
                        "with 0x00000801"));
  EXPECT_THAT(error_of(put("f", idx(std::string("\0\0\x0d\x01", 4), {6}, "abcdef")), 1), HasSubstr("0x00000d01"));
  EXPECT_THAT(error_of(put("g", idx(labels_magic, {0}, "")), 1), HasSubstr("dimension 0 is 0"));
  EXPECT_THAT(error_of(put("h", idx(images_magic, {~0u, ~0u, ~0u}, "abc")), 3),
              HasSubstr("at most 68719476736 values"));
  // A header with the largest size does not cause a larger allocation than the file's own size.
  EXPECT_THAT(error_of(put("i", idx(images_magic, {1u << 16, 1u << 16, 16}, "abc")), 3), HasSubstr("holds 3 values"));
  // A truncated gzip file, long enough that some bytes can be unpacked.
  std::string noise;
  for (std::uint64_t i = 0; i < 100'000; ++i) noise += static_cast<char>((i * 2654435761u) >> 13);
  const fs::path packed = put_packed("j.gz", idx(labels_magic, {100'000}, noise));
  fs::resize_file(packed, fs::file_size(packed) / 2);
  EXPECT_THAT(error_of(packed, 1), HasSubstr("ends early"));
  EXPECT_THROW(read_idx(folder_ / "absent", 1), std::runtime_error);
}

class Mnist : public DataFiles {
 protected:
  scenario::Workload workload(std::vector<std::int64_t> widths = {784, 10}) const {
    scenario::Workload result;
    result.model.kind = Kind::mlp;
    result.model.widths = std::move(widths);
    result.data.source = DataSource::mnist;
    result.data.path = folder_.string();
    return result;
  }
  void write(std::uint32_t images, std::uint32_t labels, char top_label = 9) {
    std::string pixels(std::size_t{784} * images, '\0');
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<char>(i * 7 + i / 784);
    std::string classes;
    for (std::uint32_t i = 0; i < labels; ++i)
      classes += static_cast<char>(i % (static_cast<std::uint32_t>(top_label) + 1));
    put_packed("train-images-idx3-ubyte.gz", idx(images_magic, {images, 28, 28}, pixels));
    put("train-labels-idx1-ubyte", idx(labels_magic, {labels}, classes));
  }
};

TEST_F(Mnist, IsScaledNormalisedAndFlat) {
  write(20, 20);
  const Dataset data(workload());
  EXPECT_EQ(data.samples(), 20);
  const auto batch = data.batch({3, 17});
  ASSERT_EQ(batch.inputs[0].sizes().vec(), (std::vector<std::int64_t>{2, 784}));
  for (const std::int64_t row : {0, 1}) {
    const std::int64_t sample = row == 0 ? 3 : 17;
    const auto pixel = static_cast<unsigned char>((sample * 784 + 500) * 7 + sample);
    const float expected = (static_cast<float>(pixel) / 255.0F - 0.1307F) / 0.3081F;
    EXPECT_EQ(batch.inputs[0][row][500].item<float>(), expected);
    EXPECT_EQ(batch.targets[row].item<std::int64_t>(), sample % 10);
  }
}

TEST_F(Mnist, TheFirstSoManyAreTaken) {
  write(20, 20);
  auto load = workload();
  load.data.samples = 12;
  EXPECT_EQ(Dataset(load).samples(), 12);
  EXPECT_EQ(Dataset(load).pool_size(), 12);
  load.data.samples = 21;
  EXPECT_THAT(data_error([&] { Dataset{load}; }),
              HasSubstr("workload.data.samples: 21, but " + folder_.string() + " holds 20; expected at most that"));
}

TEST_F(Mnist, WhatDoesNotFitIsSaid) {
  write(20, 19);
  EXPECT_THAT(data_error([&] { Dataset{workload()}; }), HasSubstr("holds 20 samples and"));
  write(20, 20);
  EXPECT_THAT(data_error([&] {
                Dataset{workload({100, 10})};
              }),
              HasSubstr("its samples are 1 × 28 × 28 (784 values), the model takes 100"));
  EXPECT_THAT(data_error([&] {
                Dataset{workload({784, 9})};
              }),
              HasSubstr("has classes from 0 to 9; the model has outputs for 0 to 8"));
  fs::remove(folder_ / "train-labels-idx1-ubyte");
  EXPECT_THAT(data_error([&] { Dataset{workload()}; }), HasSubstr("no train-labels-idx1-ubyte[.gz] beside it"));
}

TEST_F(Mnist, AnAugmentedSampleIsACropOfItsPaddedImagePerhapsMirrored) {
  write(20, 20);
  auto load = workload();
  const Dataset plain(load);
  load.data.transform = scenario::Transform::augment;
  const Dataset augmented(load);
  const float background = (0.0F - 0.1307F) / 0.3081F;
  Picks picks;
  for (std::int64_t i = 0; i < 500; ++i) {
    picks.indices.push_back(i % 20);
    picks.streams.push_back(random_stream(1, StreamKind::place, static_cast<std::uint64_t>(i)));
  }
  const auto images = plain.batch(picks.indices).inputs[0].view({500, 28, 28});
  const auto found = augmented.batch(picks).inputs[0].view({500, 28, 28});
  std::set<std::array<std::int64_t, 3>> seen;
  for (std::int64_t i = 0; i < 500; ++i) {
    const auto crop = ImageTransform::crop_of(picks.streams[static_cast<std::size_t>(i)]);
    const auto padded = torch::constant_pad_nd(images[i], {4, 4, 4, 4}, background);
    auto expected = padded.slice(0, crop.down, crop.down + 28).slice(1, crop.right, crop.right + 28);
    if (crop.flip) expected = expected.flip(1);
    ASSERT_TRUE(torch::equal(found[i], expected)) << crop.down << " " << crop.right << " " << crop.flip;
    seen.insert({crop.down, crop.right, crop.flip});
  }
  EXPECT_GT(seen.size(), 140u);  // of 162 places, drawn 500 times: 155 on average
}

scenario::Workload images(std::int64_t samples) {
  scenario::Workload result;
  result.model.kind = Kind::mlp;
  result.model.widths = {3 * 8 * 8, 4};
  result.data.image = std::vector<std::int64_t>{3, 8, 8};
  result.data.samples = samples;
  return result;
}

TEST(Data, AnImageIsTheSameSampleAsItsFlatForm) {
  auto load = images(30);
  const auto image = Dataset(load).batch({7, 21});
  load.data.image.reset();
  const auto flat = Dataset(load).batch({7, 21});
  EXPECT_TRUE(torch::equal(image.inputs[0], flat.inputs[0]));
}

TEST(Data, AugmentedChannelsHaveMeanZeroAndDeviationOneWhereNothingIsCropped) {
  auto load = images(2000);
  load.data.transform = scenario::Transform::augment;
  const Dataset data(load);
  Picks whole;
  std::uint64_t still = 0;  // a stream with a crop in the middle and no flip
  while (ImageTransform::crop_of(still).down != 4 || ImageTransform::crop_of(still).right != 4 ||
         ImageTransform::crop_of(still).flip)
    still += 256 + (std::uint64_t{1} << 32);
  for (std::int64_t i = 0; i < 2000; ++i) {
    whole.indices.push_back(i);
    whole.streams.push_back(still);
  }
  const auto channels = data.batch(whole).inputs[0].view({2000, 3, 64}).transpose(0, 1).reshape({3, -1});
  for (std::int64_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(channels[c].mean().item<double>(), 0.0, 1e-3);  // four digits of mean and deviation
    EXPECT_NEAR(channels[c].std().item<double>(), 1.0, 1e-3);
  }
}

TEST(Data, ImbalanceMakesClassesAGeometricSeries) {
  scenario::Workload load;
  load.model.kind = Kind::mlp;
  load.model.widths = {4, 3};
  load.data.samples = 30'000;
  load.data.imbalance = 100.0;
  const Dataset data(load);
  std::vector<std::int64_t> all(30'000);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  const auto counts = torch::bincount(data.batch(all).targets, {}, 3);
  // 100 : 10 : 1 of 30,000; the standard deviations are 50, 50 and 16.
  EXPECT_NEAR(counts[0].item<double>(), 27'027, 250);
  EXPECT_NEAR(counts[1].item<double>(), 2'703, 250);
  EXPECT_NEAR(counts[2].item<double>(), 270, 80);

  SamplerOptions options{data.samples(), 1, 0, true, false, 1};
  options.weights = data.balancing_weights();
  const auto drawn = torch::bincount(data.batch(epoch_indices(options, 0)).targets, {}, 3);
  for (std::int64_t c = 0; c < 3; ++c) EXPECT_NEAR(drawn[c].item<double>(), 10'000, 410) << c;  // 5 deviations of 82
}

TEST(Sampler, RanksSplitOneWeightedOrder) {
  SamplerOptions options{100, 1, 0, true, false, 3};
  options.weights.assign(100, 1.0);
  options.weights[7] = 50.0;
  const auto whole = epoch_indices(options, 2);
  EXPECT_EQ(whole.size(), 100u);
  std::vector<std::int64_t> together(100);
  options.replicas = 4;
  for (options.rank = 0; options.rank < 4; ++options.rank) {
    const auto mine = epoch_indices(options, 2);
    for (std::size_t j = 0; j < mine.size(); ++j) together[static_cast<std::size_t>(options.rank) + 4 * j] = mine[j];
  }
  EXPECT_EQ(together, whole);
  EXPECT_GT(std::count(whole.begin(), whole.end(), 7), 15);  // a third of the weight
  options.rank = 0;
  EXPECT_NE(epoch_indices(options, 0), epoch_indices(options, 1));
  options.weights.pop_back();
  EXPECT_THROW(epoch_indices(options, 0), std::invalid_argument);
}

TEST(Sampler, ForgettingSetEpochRepeatsTheOrderAndNotWhatIsDrawn) {
  SamplerOptions options{10, 1, 0, true, false, 5};
  options.set_epoch = false;
  BatchSampler sampler(options, 10);
  const Picks first = sampler.next(), second = sampler.next();
  EXPECT_EQ(first.indices, epoch_indices(options, 0));
  EXPECT_EQ(second.indices, first.indices);
  EXPECT_NE(second.streams, first.streams);
  EXPECT_EQ(second.epoch, 1);
}

TEST(Sampler, WhatIsDrawnForASampleDoesNotDependOnTheRanks) {
  std::map<std::int64_t, std::uint64_t> alone;
  BatchSampler one({60, 1, 0, true, false, 9}, 60);
  const Picks all = one.next();
  for (std::size_t i = 0; i < all.indices.size(); ++i) alone[all.indices[i]] = all.streams[i];
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    BatchSampler sampler({60, 3, rank, true, false, 9}, 20);
    const Picks mine = sampler.next();
    for (std::size_t i = 0; i < mine.indices.size(); ++i) EXPECT_EQ(mine.streams[i], alone.at(mine.indices[i]));
  }
}

}  // namespace
}  // namespace ddpprof::worker
