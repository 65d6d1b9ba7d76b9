#include "runner/scenario/read.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/scenario/files.hpp"

namespace ddpprof::scenario {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* smallest = "name: x\nworkload: {model: {kind: mlp, widths: [8, 4]}}\n";

std::string problems_of(const ReadResult& result) {
  std::string text;
  for (const Problem& problem : result.problems) text += problem.text() + "\n";
  return text;
}

Scenario sound(const std::string& text, std::vector<std::string> overrides = {}) {
  const ReadResult result = read_text(text, "test.yaml", overrides);
  EXPECT_EQ(problems_of(result), "");
  return result.scenario;
}

TEST(Read, FillsInDefaults) {
  Scenario expected;
  expected.name = "x";
  expected.workload.model.widths = {8, 4};
  EXPECT_EQ(sound(smallest), expected);
}

// Without a folder nothing is written, so nothing can be overwritten. Resuming from the current folder is allowed.
TEST(Read, ResumesFromAFileInTheCurrentFolder) {
  const Scenario s = sound(std::string(smallest) + "workers: [1, 2]\ncheckpoint: {resume: ddp-2.pt}\n");
  EXPECT_EQ(s.checkpoint.resume, "ddp-2.pt");
}

TEST(Read, TakesEveryKey) {
  const Scenario s = sound(R"(
name: all-keys_1.0
workload:
  model: {kind: resnet50, classes: 10, image_size: 96}
  data: {source: tensors, path: a folder, samples: 4096, seed: 9223372036854775807, shuffle: false,
         drop_last: true, set_epoch: false, transform: augment, loader_threads: 3, prefetch: 4}
  loss: mse
  batch_per_worker: 16
  optimizer: {kind: sgd, momentum: 0.9, weight_decay: 1e-4}
  precision: fp32
  accumulation: 4
  seed: 7
strategies: [ddp]
workers: [2, 3, 8]
backend: gloo
device: cpu
ddp: {bucket_cap_mb: 0.5, gradient_as_bucket_view: true, broadcast_buffers: false}
measure: {warmup_steps: 3, steps: 6, repeats: 2, batches: [], until_ci_percent: 2.5, unwrapped: false, timeout_s: 1.5,
          threads_per_rank: 2, trace: false}
predict: {workers: [16, 512], gpus_per_node: 8, inter_node: 8xndr, confidence: 0.99, sharing: dedicated}
learning_rate: {base: 0.1, base_workers: 8, rule: sqrt, warmup_epochs: 0, epochs: 30, decay: polynomial,
                decay_power: 2.5, apply: true}
checkpoint: {folder: ckpt, every_steps: 100, resume: before/ddp-2.pt}
output: {database: "a b.db", raw: none, csv: out/csv, chrome: 'trace "1".json'}
)");
  EXPECT_EQ(s.name, "all-keys_1.0");
  EXPECT_EQ(s.workload.model, (Model{.kind = Model::Kind::resnet50, .widths = {}, .classes = 10, .image_size = 96}));
  EXPECT_EQ(s.workload.data, (Data{.source = DataSource::tensors,
                                   .path = "a folder",
                                   .samples = 4096,
                                   .seed = 9223372036854775807u,
                                   .shuffle = false,
                                   .drop_last = true,
                                   .set_epoch = false,
                                   .transform = Transform::augment,
                                   .loader_threads = 3,
                                   .prefetch = 4}));
  EXPECT_EQ(s.workload.loss, LossKind::mse);
  EXPECT_EQ(s.workload.batch_per_worker, 16);
  EXPECT_EQ(s.workload.accumulation, 4);
  EXPECT_EQ(s.workload.optimizer, (Optimizer{.kind = OptimizerKind::sgd, .momentum = 0.9, .weight_decay = 0.0001}));
  EXPECT_EQ(s.workload.seed, 7u);
  EXPECT_THAT(s.strategies, ElementsAre(Strategy::ddp));
  EXPECT_THAT(s.workers, ElementsAre(2, 3, 8));
  EXPECT_EQ(s.backend, BackendChoice::gloo);
  EXPECT_EQ(s.device, DeviceChoice::cpu);
  EXPECT_EQ(s.ddp, (DdpOptions{.bucket_cap_mb = 0.5, .gradient_as_bucket_view = true, .broadcast_buffers = false}));
  EXPECT_EQ(s.measure, (Measure{.warmup_steps = 3,
                                .steps = 6,
                                .repeats = 2,
                                .until_ci_percent = 2.5,
                                .unwrapped = false,
                                .timeout_s = 1.5,
                                .threads_per_rank = 2,
                                .trace = false}));
  EXPECT_EQ(s.predict, (Predict{.workers = {16, 512},
                                .gpus_per_node = 8,
                                .inter_node = "8xndr",
                                .confidence = 0.99,
                                .sharing = Sharing::dedicated}));
  EXPECT_EQ(s.learning_rate, (LearningRate{.base = 0.1,
                                           .base_workers = 8,
                                           .rule = learning_rate::Rule::square_root,
                                           .warmup_epochs = 0,
                                           .epochs = 30,
                                           .decay = {.kind = learning_rate::DecayKind::polynomial, .power = 2.5},
                                           .apply = true}));
  EXPECT_EQ(s.checkpoint, (Checkpoint{.folder = "ckpt", .every_steps = 100, .resume = "before/ddp-2.pt"}));
  EXPECT_EQ(s.output,
            (Output{.database = "a b.db", .raw = RawEvents::none, .csv = "out/csv", .chrome = "trace \"1\".json"}));
  EXPECT_EQ(sound(to_yaml(s)), s);
}

// Excludes other keys, so TakesEveryKey does not have it.
TEST(Read, TakesStepsThatDoNotWaitForTheDevice) {
  const Scenario s = sound(std::string(smallest) + "measure: {warmup_steps: 3, unwrapped: false, sync: never}\n");
  EXPECT_EQ(s.measure.sync, DeviceSync::never);
  EXPECT_EQ(sound(to_yaml(s)), s);
  // DataParallel has no wrapper that could be left out.
  sound(std::string(smallest) + "strategies: [dp]\nmeasure: {warmup_steps: 1, sync: never}\n");
}

TEST(Read, TakesTheKeysOfEachDataSource) {
  const Scenario made = sound(R"({name: x, workload: {model: {kind: mlp, widths: [12, 4]},
    data: {sampling: balanced, imbalance: 2.5, image: [3, 2, 2], transform: augment}}})");
  EXPECT_EQ(made.workload.data, (Data{.sampling = Sampling::balanced,
                                      .imbalance = 2.5,
                                      .image = std::vector<std::int64_t>{3, 2, 2},
                                      .transform = Transform::augment}));
  EXPECT_EQ(made.workload.data.known_samples(), 10'000);
  EXPECT_EQ(sound(to_yaml(made)), made);
  const Scenario read = sound(R"({name: x, workload: {model: {kind: linear, in: 784, out: 10},
    data: {source: mnist, path: digits, split: test}}})");
  EXPECT_EQ(read.workload.data, (Data{.source = DataSource::mnist, .path = "digits", .split = DataSplit::test}));
  EXPECT_FALSE(read.workload.data.known_samples());  // only the files determine it
  EXPECT_EQ(sound(to_yaml(read)), read);
}

TEST(Read, LinearWidthsComeFromInAndOut) {
  const Scenario s = sound("{name: x, workload: {model: {kind: linear, in: 10, out: 2}}}");
  EXPECT_THAT(s.workload.model.widths, ElementsAre(10, 2));
  EXPECT_EQ(s.workload.model.label(), "linear-10-2");
  EXPECT_EQ(sound(to_yaml(s)), s);
}

TEST(Model, LabelsNameKindAndWidths) {
  EXPECT_EQ((Model{.kind = Model::Kind::mlp, .widths = {784, 10, 10, 10}}).label(), "mlp-784-10-10-10");
  EXPECT_EQ((Model{.kind = Model::Kind::resnet18, .widths = {}}).label(), "resnet18");
}

TEST(Read, AnchorsAndAliasesWork) {
  const Scenario s =
      sound("name: x\nworkload: {model: {kind: mlp, widths: [8, 4]}}\nworkers: &w [1, 3]\npredict: {workers: *w}\n");
  EXPECT_THAT(s.predict.workers, ElementsAre(1, 3));
}

TEST(Read, AWordMayStandForUnset) {
  const Scenario s = sound(std::string(smallest) + "measure: {warmup_steps: auto}\n");
  EXPECT_FALSE(s.measure.warmup_steps.has_value());
  EXPECT_EQ(sound(to_yaml(s)), s);
  EXPECT_THAT(to_yaml(s), HasSubstr("warmup_steps: auto"));
  EXPECT_THAT(to_yaml(s), HasSubstr("until_ci_percent: null"));
  EXPECT_EQ(
      sound(std::string(smallest) + "measure: {warmup_steps: auto}\n", {"measure.warmup_steps=7"}).measure.warmup_steps,
      7);
}

TEST(Read, NullUnsetsWhatMayBeUnset) {
  const Scenario s = sound(std::string(smallest) + "ddp: {bucket_cap_mb: null}\nmeasure: {until_ci_percent: ~}\n");
  EXPECT_FALSE(s.ddp.bucket_cap_mb.has_value());
  EXPECT_FALSE(s.measure.until_ci_percent.has_value());
}

TEST(Read, AByteOrderMarkAndWindowsLineEndsAreFine) {
  sound("\xEF\xBB\xBFname: x\r\nworkload:\r\n  model: {kind: mlp, widths: [8, 4]}\r\nbackend: gloo\r\n");
}

TEST(Overrides, ReplaceValuesOfTheFile) {
  const Scenario s = sound(std::string(smallest) + "measure: {steps: 10, repeats: 2}\n",
                           {"measure.steps=99", "workers=[1, 2]", "output.csv=a=b", "measure.steps=50"});
  EXPECT_EQ(s.measure.steps, 50);  // the last override counts
  EXPECT_EQ(s.measure.repeats, 2);
  EXPECT_THAT(s.workers, ElementsAre(1, 2));
  EXPECT_EQ(s.output.csv, "a=b");
}

// Regression: paths of a scenario depended on the folder in which the command was started.
TEST(Paths, AreRelativeToTheScenariosFolder) {
  const std::vector<std::string> overrides = {"output.csv=tables"};
  Scenario s = sound(std::string(smallest) +
                         "output: {database: run.db, csv: x, chrome: /tmp/trace.json}\n"
                         "checkpoint: {resume: kept/ddp-2.pt}\n",
                     overrides);
  resolve_paths(s, "/jobs/one/scenario.yaml", overrides);
  EXPECT_EQ(s.output.database, "/jobs/one/run.db");
  EXPECT_EQ(s.checkpoint.resume, "/jobs/one/kept/ddp-2.pt");
  EXPECT_EQ(s.output.chrome, "/tmp/trace.json") << "absolute";
  EXPECT_EQ(s.output.csv, "tables") << "of the command line";
  EXPECT_EQ(s.checkpoint.folder, "") << "not set";
  resolve_paths(s, "scenario.yaml");
  EXPECT_EQ(s.output.csv, "tables") << "in the current folder";
}

TEST(Overrides, AGroupReplacesAllBelowIt) {
  const Scenario s = sound(std::string(smallest) + "measure: {steps: 10, repeats: 2}\n",
                           {"workload.model={kind: linear, in: 4, out: 2}", "measure={steps: 7}"});
  EXPECT_EQ(s.workload.model.kind, Model::Kind::linear);
  EXPECT_EQ(s.measure.steps, 7);
  EXPECT_EQ(s.measure.repeats, 1);
}

TEST(Overrides, MendABadValueOfTheFile) {
  EXPECT_EQ(sound(std::string(smallest) + "measure: {steps: 0}\n", {"measure.steps=5"}).measure.steps, 5);
}

TEST(Overrides, AreNamedAsTheyWereGiven) {
  const std::vector<std::string> overrides = {"measure.steps=-1"};
  const ReadResult result = read_text(smallest, "f.yaml", overrides);
  ASSERT_EQ(result.problems.size(), 1u);
  EXPECT_EQ(result.problems[0].file, "--set measure.steps=-1");
  EXPECT_EQ(result.problems[0].line, 0);
  EXPECT_EQ(result.problems[0].key, "measure.steps");
}

class Files : public testing::Test {
 protected:
  Files() { fs::create_directories(folder_); }
  ~Files() override { fs::remove_all(folder_); }

  std::string only_problem(const fs::path& path) {
    const ReadResult result = read_file(path);
    EXPECT_EQ(result.problems.size(), 1u);
    return result.problems.empty() ? "" : result.problems[0].text();
  }

  fs::path folder_ = fs::path(testing::TempDir()) /
                     (std::string("ddpprof-scenario-") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(Files, MissingOnesAreSaidWithASimilarName) {
  std::ofstream(folder_ / "mnist-mlp.yaml") << smallest;
  EXPECT_EQ(only_problem(folder_ / "mnist_mlp.yaml"), (folder_ / "mnist_mlp.yaml").string() +
                                                          ": no such file; did you mean '" +
                                                          (folder_ / "mnist-mlp.yaml").string() + "'?");
  EXPECT_EQ(only_problem(folder_ / "no" / "x.yaml"),
            (folder_ / "no" / "x.yaml").string() + ": no such file; expected a scenario in YAML");
}

TEST_F(Files, AFolderIsNone) {
  EXPECT_EQ(only_problem(folder_), folder_.string() + ": is a folder; expected a scenario file in YAML");
}

TEST_F(Files, APipeIsRefusedAndNotWaitedFor) {
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(only_problem(folder_ / "pipe"), HasSubstr("is not a regular file"));
}

TEST_F(Files, TooLargeOnesAreNotRead) {
  std::ofstream(folder_ / "large.yaml") << smallest << "#" << std::string(1 << 20, 'x') << "\n";
  EXPECT_THAT(only_problem(folder_ / "large.yaml"), HasSubstr("bytes; expected a scenario of at most 1048576"));
}

TEST(Read, AScheduleOfFractionsOfAnEpoch) {
  const Scenario s = sound(
      "name: x\nworkload:\n  model: {kind: mlp, widths: [8, 4]}\nmeasure: {gradient_noise_every: 7}\n"
      "learning_rate: {base_batch: 256, rule: none, decay: step, decay_epochs: [0.5, 30, 1e2], decay_factor: 0.2}\n");
  EXPECT_EQ(s.learning_rate.base_batch, 256);
  EXPECT_EQ(s.learning_rate.rule, learning_rate::Rule::none);
  EXPECT_FALSE(s.learning_rate.apply);
  EXPECT_EQ(s.learning_rate.decay.kind, learning_rate::DecayKind::step);
  EXPECT_EQ(s.learning_rate.decay.at_epochs, (std::vector<double>{0.5, 30.0, 100.0}));
  EXPECT_EQ(s.learning_rate.decay.factor, 0.2);
  EXPECT_EQ(s.measure.gradient_noise_every, 7);
  EXPECT_EQ(sound(to_yaml(s)), s);
}

TEST_F(Files, TheTextIsKeptAsRead) {
  std::ofstream(folder_ / "s.yaml") << "# a comment\n" << smallest;
  const ReadResult result = read_file(folder_ / "s.yaml");
  EXPECT_EQ(problems_of(result), "");
  EXPECT_EQ(result.source, std::string("# a comment\n") + smallest);
}

TEST(Read, TakesACommandInsteadOfAModel) {
  const Scenario s = sound(R"(
name: job
workload: {command: [train.sh, --n, "{workers}", 2, 0.5, ""], nodes: 3, lr: 1e-3}
workers: [2, 4]
measure: {batches: [8, 16], repeats: 2, window: 20-60, tracer: own, noise_steps: 7, job_timeout_s: 60, grace_s: 5}
predict: {workers: [8], inter_node: 8xndr}
output: {database: a.db, raw: none, csv: csv, keep_traces: true}
)");
  Scenario expected;
  expected.name = "job";
  expected.command = {{"train.sh", "--n", "{workers}", "2", "0.5", ""}, 3, "1e-3", "20-60", JobTracer::own, 7, 60, 5};
  expected.workers = {2, 4};
  expected.measure.batches = {8, 16};
  expected.measure.repeats = 2;
  expected.predict.workers = {8};
  expected.predict.inter_node = "8xndr";
  expected.output = {.database = "a.db", .raw = RawEvents::none, .csv = "csv", .chrome = "", .keep_traces = true};
  EXPECT_EQ(s, expected);
  EXPECT_EQ(sound(to_yaml(s)), s);
}

TEST(Read, AWordOfACommandMayHaveLineBreaks) {
  const Scenario s = sound(R"(
name: job
workload:
  command:
    - sh
    - -c
    - |
      set -e
      exec train --n {workers}
)");
  EXPECT_THAT(s.command.words, ElementsAre("sh", "-c", "set -e\nexec train --n {workers}\n"));
  EXPECT_EQ(sound(to_yaml(s)), s);
  EXPECT_THAT(problems_of(read_text("name: job\nworkload: {command: [\"a\\x01b\"]}\n", "test.yaml")),
              HasSubstr("with a control character"));
}

class Committed : public testing::TestWithParam<std::string> {};

TEST_P(Committed, IsSoundNamedAsItsFileAndSaysWhatItShows) {
  const ReadResult result = read_file(test::source_path("scenarios/" + GetParam() + ".yaml"));
  EXPECT_EQ(problems_of(result), "");
  EXPECT_EQ(result.scenario.name, GetParam());
  EXPECT_THAT(result.source, HasSubstr("\n# Shows: "));
  EXPECT_EQ(sound(to_yaml(result.scenario)), result.scenario);
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Committed, testing::ValuesIn(test::scenario_names("scenarios")),
                         [](const auto& parameter) { return test::underscored(parameter.param); });

}  // namespace
}  // namespace ddpprof::scenario
