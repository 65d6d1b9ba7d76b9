#include "runner/scenario/data_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace ddpprof::scenario {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class DataFolder : public testing::Test {
 protected:
  DataFolder() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~DataFolder() override { fs::remove_all(folder_); }

  void put(const fs::path& name) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << "four";
  }
  Data data(DataSource source) const { return {.source = source, .path = folder_.string()}; }
  static std::string error_of(const Data& data) {
    try {
      find_data_files(data);
    } catch (const DataError& error) {
      return error.what();
    }
    return "";
  }

  fs::path folder_ = fs::path(testing::TempDir()) / (std::string("ddpprof-data-files-") +
                                                     testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(DataFolder, SyntheticDataHasNoFiles) { EXPECT_TRUE(find_data_files({}).inputs.empty()); }

TEST_F(DataFolder, MnistUnderItsUsualNames) {
  for (const char* place : {"", "raw/", "MNIST/raw/"}) {
    for (const char* between : {"-", "."}) {
      for (const char* packed : {"", ".gz"}) {
        fs::remove_all(folder_);
        const std::string images = std::string(place) + "train-images" + between + "idx3-ubyte" + packed;
        const std::string labels = std::string(place) + "train-labels" + between + "idx1-ubyte" + packed;
        put(images);
        put(labels);
        const DataFiles files = find_data_files(data(DataSource::mnist));
        ASSERT_EQ(files.inputs.size(), 1u);
        EXPECT_EQ(files.inputs[0], folder_ / images);
        EXPECT_EQ(files.targets, folder_ / labels);
        EXPECT_EQ(files.bytes(), 8u);
      }
    }
  }
}

TEST_F(DataFolder, TheSplitDecidesWhichFiles) {
  put("train-images-idx3-ubyte");
  put("train-labels-idx1-ubyte");
  Data test = data(DataSource::mnist);
  test.split = DataSplit::test;
  EXPECT_THAT(error_of(test),
              HasSubstr("has no MNIST files; expected t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, "
                        "plain or with .gz, in this folder, in raw/ or in MNIST/raw/"));
}

TEST_F(DataFolder, HalfOfMnistIsSaid) {
  put("raw/train-images-idx3-ubyte.gz");
  EXPECT_THAT(error_of(data(DataSource::mnist)),
              HasSubstr("raw has train-images-idx3-ubyte.gz but no train-labels-idx1-ubyte[.gz] beside it"));
}

TEST_F(DataFolder, TensorsAreOneInputOrSeveral) {
  put("targets.pt");
  EXPECT_THAT(error_of(data(DataSource::tensors)), HasSubstr("has no inputs.pt (nor inputs0.pt); expected tensors that "
                                                             "Python wrote with torch.save(tensor, \"inputs.pt\")"));
  put("inputs1.pt");
  EXPECT_THAT(error_of(data(DataSource::tensors)), HasSubstr("has no inputs.pt (nor inputs0.pt)"));
  put("inputs0.pt");
  EXPECT_EQ(find_data_files(data(DataSource::tensors)).inputs.size(), 2u);
  put("inputs.pt");
  EXPECT_THAT(error_of(data(DataSource::tensors)), HasSubstr("has both inputs.pt and inputs0.pt"));
  fs::remove(folder_ / "inputs0.pt");
  EXPECT_EQ(find_data_files(data(DataSource::tensors)).inputs, (std::vector<fs::path>{folder_ / "inputs.pt"}));
  fs::remove(folder_ / "targets.pt");
  EXPECT_THAT(error_of(data(DataSource::tensors)), HasSubstr("has no targets.pt"));
}

TEST_F(DataFolder, AFolderThatIsNone) {
  put("file");
  Data wrong = data(DataSource::mnist);
  wrong.path = (folder_ / "nowhere").string();
  EXPECT_THAT(error_of(wrong), HasSubstr("nowhere: no such folder (relative to "));
  wrong.path = (folder_ / "file").string();
  EXPECT_THAT(error_of(wrong), HasSubstr("is not a folder; expected the folder with the mnist files"));
}

}  // namespace
}  // namespace ddpprof::scenario
