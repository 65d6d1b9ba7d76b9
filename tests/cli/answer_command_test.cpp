// Output of a command at its end, its help, and the learning rate of an import, as a user sees them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/command_line.hpp"

namespace ddpprof {
namespace {

using test::CommandLine;
using test::Outcome;
using test::run_ddpprof;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

// Two ranks on CPUs over Gloo.
constexpr const char* blocking_traces = KINETO_CASES "/kineto_blocking_gloo_all_reduces_after_backward";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Steps of one process with this optimizer and a batch of 16. Without gradients, the size of the model is unknown.
std::string trace_of(const std::string& optimizer, int steps = 6, bool with_gradients = true) {
  std::string events;
  for (int step = 0; step < steps; ++step) {
    const auto add = [&](const char* category, const std::string& name, int start, int duration,
                         const char* arguments) {
      events += std::string(events.empty() ? "" : ",\n") + R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" +
                name + R"(", "pid": 100, "tid": 100, "ts": )" + std::to_string(1000 * step + start) + R"(, "dur": )" +
                std::to_string(duration) + R"(, "args": {)" + arguments + "}}";
    };
    add("user_annotation", "ProfilerStep#" + std::to_string(step), 0, 990, "");
    add("cpu_op", "aten::linear", 20, 100,
        R"("Input Dims": [[16, 1000], [1000, 1000]], "Input type": ["float", "float"])");
    add("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 320, 400, "");
    if (with_gradients)
      add("cpu_op", "torch::autograd::AccumulateGrad", 700, 10,
          R"("Input Dims": [[1000, 1000]], "Input type": ["float"])");
    add("user_annotation", "Optimizer.step#" + optimizer + ".step", 800, 100, "");
  }
  return "{\"traceEvents\": [" + events + "]}";
}

// `blocks`: of 512 bytes, as POSIX shells count.
Outcome with_file_limit(int blocks, const std::string& command) {
  return test::run_program({"sh", "-c",
                            "ulimit -f " + std::to_string(blocks) + "; exec " +
                                test::shell_quoted(test::built_program()) + " " + command});
}

class AnswerCommand : public CommandLine {
 protected:
  static std::string imported(const std::string& optimizer) {
    const std::string out = (folder_ / (optimizer + ".db")).string();
    const Outcome outcome =
        run_ddpprof({"import", file("rank0.json", trace_of(optimizer)), "--out", out, "--overwrite"});
    EXPECT_EQ(outcome.code, 0) << outcome.messages;
    return out;
  }
  static nlohmann::json table(const std::vector<std::string>& command, const std::string& name) {
    const Outcome outcome = run_ddpprof(command);
    EXPECT_EQ(outcome.code, 0) << outcome.messages;
    const auto document = nlohmann::json::parse(outcome.out);
    for (const auto& one : document["tables"])
      if (one["name"] == name) return one["rows"];
    return nullptr;
  }
};

// Regression: lr ended with 5 for every import, whatever options were given.
TEST_F(AnswerCommand, AnImportHasTheLearningRateOfItsOptimizersRule) {
  const std::string adam = imported("AdamW"), sgd = imported("SGD");
  const auto rows = table({"lr", adam, "--workers", "4", "--base", "0.001", "--format", "json"}, "learning_rate");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0]["rule"], "square root");
  EXPECT_EQ(rows[0]["global_batch_samples"], 64);
  EXPECT_DOUBLE_EQ(rows[0]["target_lr"].get<double>(), 0.002) << "√4 times the rate of N = 1";
  const auto linear = table({"lr", sgd, "--workers", "4", "--base", "0.1", "--format", "json"}, "learning_rate");
  EXPECT_EQ(linear[0]["rule"], "linear");
  EXPECT_DOUBLE_EQ(linear[0]["target_lr"].get<double>(), 0.4);
  // 16 samples on each of 4 workers: an epoch of 640 samples has 10 steps.
  const auto steps = table({"lr", sgd, "--workers", "4", "--base", "0.1", "--samples", "640", "--epochs", "3",
                            "--warmup-epochs", "1", "--format", "json"},
                           "learning_rate_rules");
  EXPECT_EQ(steps[0]["total_steps"], 30);
  EXPECT_EQ(steps[0]["warmup_steps"], 10);
  const Outcome needs = run_ddpprof({"lr", sgd, "--workers", "4", "--base", "0.1", "--epochs", "3"});
  EXPECT_EQ(needs.code, 2);
  EXPECT_THAT(needs.messages, HasSubstr("--epochs needs the steps of the training"));
}

TEST_F(AnswerCommand, WithoutABaseRateThereAreFactorsAndNoRate) {
  const std::string adam = imported("AdamW");
  const auto rows = table({"lr", adam, "--workers", "4,64", "--format", "json"}, "rate_choice");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_DOUBLE_EQ(rows[0]["factor"].get<double>(), 2.0);
  EXPECT_DOUBLE_EQ(rows[0]["other_factor"].get<double>(), 4.0);
  EXPECT_TRUE(rows[0]["lr"].is_null());
  EXPECT_TRUE(rows[1]["factor"].is_null()) << "the square root is not defined from κ (1 − β₁) = 1 on";
  const Outcome report = run_ddpprof({"report", adam});
  EXPECT_THAT(report.out, HasSubstr("square root rule for AdamW"));
  EXPECT_THAT(report.out, Not(HasSubstr("0.01"))) << "no base rate was given";
}

TEST_F(AnswerCommand, AForwardAloneHasNoLearningRate) {
  std::string events = trace_of("SGD");
  for (const char* name : {"autograd::engine::evaluate_function: AddmmBackward0", "torch::autograd::AccumulateGrad",
                           "Optimizer.step#SGD.step"})
    for (std::size_t at = 0; (at = events.find(name)) != std::string::npos;)
      events.replace(at, std::string(name).size(), "aten::relu");
  const std::string out = (folder_ / "forward.db").string();
  const Outcome outcome = run_ddpprof({"import", file("forward.json", events), "--out", out, "--overwrite"});
  ASSERT_EQ(outcome.code, 0) << outcome.messages;
  EXPECT_THAT(outcome.out, HasSubstr("inference, or a forward"));
  EXPECT_EQ(outcome.out.find("inference,"), outcome.out.rfind("inference,")) << "one warning for one reason";
  EXPECT_THAT(outcome.out, Not(HasSubstr("not usable")));
  EXPECT_THAT(run_ddpprof({"report", out}).out, Not(HasSubstr("tuned rate")));
  const Outcome rate = run_ddpprof({"lr", out, "--workers", "4"});
  EXPECT_EQ(rate.code, 5);
  EXPECT_THAT(rate.messages, HasSubstr("so there is no learning rate"));
}

// Rules are for SGD, Adam and LAMB. A wrapper's name does not show the optimizer inside.
TEST_F(AnswerCommand, OnlyOptimizersThatARuleCoversHaveARate) {
  const Outcome wrapper = run_ddpprof({"report", imported("ZeroRedundancyOptimizer")});
  EXPECT_THAT(wrapper.out, HasSubstr("linear rule, if the optimizer is SGD"));
  EXPECT_THAT(wrapper.out, Not(HasSubstr("for ZeroRedundancyOptimizer")));
  const std::string lbfgs = imported("LBFGS");
  EXPECT_THAT(run_ddpprof({"report", lbfgs}).out, HasSubstr("No rule covers LBFGS"));
  EXPECT_TRUE(table({"lr", lbfgs, "--workers", "4,64", "--format", "json"}, "rate_choice").empty());
  // Unlike Adam's, these rules have a rate at 64 times the batch.
  for (const std::string name : {"FusedLAMB", "RMSprop", "Adagrad"}) {
    const auto rows = table({"lr", imported(name), "--workers", "4,64", "--format", "json"}, "rate_choice");
    ASSERT_EQ(rows.size(), 2U) << name;
    EXPECT_DOUBLE_EQ(rows[1]["factor"].get<double>(), 8.0) << name;
    EXPECT_EQ(rows[1]["rule"], name == "FusedLAMB" ? "LAMB" : "square root");
    EXPECT_EQ(rows[1]["optimizer"], name);
  }
}

// The rate that ddpprof's Python module recorded at N = 1 is the base rate, at the batch of N = 1: 16 samples.
TEST_F(AnswerCommand, TheRecordedRateIsTheBaseAndItsOriginIsStated) {
  const std::string adam = imported("AdamW");
  store::Database::open_write(adam).sql().exec(
      "UPDATE measurement SET options = json_set(options, '$.learning_rate', 0.003)");
  const Outcome outcome = run_ddpprof({"lr", adam, "--workers", "4", "--format", "json"});
  EXPECT_THAT(outcome.messages, HasSubstr("base rate 0.003 (as recorded at N = 1) at a global batch of 16 samples "
                                          "(assumed: that of N = 1, the smallest measured one"));
  const auto rows = table({"lr", adam, "--workers", "4", "--format", "json"}, "learning_rate");
  EXPECT_DOUBLE_EQ(rows.at(0)["target_lr"].get<double>(), 0.006) << "square root rule";
  const Outcome given = run_ddpprof({"lr", adam, "--workers", "4", "--base", "0.1", "--base-batch", "32"});
  EXPECT_THAT(given.messages, HasSubstr("base rate 0.1 (--base) at a global batch of 32 samples (--base-batch)"));
  EXPECT_THAT(run_ddpprof({"report", adam}).out, HasSubstr("square root rule for AdamW"));
}

// 16,000 samples in batches of 16 are 1,000 steps of 1 ms. Neither the rate nor the epochs of the training are needed.
TEST_F(AnswerCommand, ARecordingTakesTrainingsThatReachedATarget) {
  const std::string sgd = imported("SGD");
  const auto cost = [&](std::vector<std::string> more) {
    std::vector<std::string> command = {"lr", sgd, "--workers", "1", "--format", "json"};
    command.insert(command.end(), more.begin(), more.end());
    return table(command, "target_cost");
  };
  const auto by_samples = cost({"--samples-to-target", "16=16000"});
  const auto by_epochs = cost({"--base", "0.1", "--samples", "1600", "--epochs-to-target", "16=10"});
  for (const auto& rows : {by_samples, by_epochs}) {
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_NEAR(rows[0]["steps"].get<double>(), 1000.0, 50.0);
    EXPECT_NEAR(rows[0]["time_s"].get<double>(), 1.0, 0.1);
  }
  EXPECT_TRUE(by_samples[0]["epochs"].is_null()) << "the samples of an epoch are not known";
  EXPECT_NEAR(by_epochs[0]["epochs"].get<double>(), 10.0, 0.5);
  const Outcome epochs = run_ddpprof({"lr", sgd, "--workers", "1", "--epochs-to-target", "16=10"});
  EXPECT_EQ(epochs.code, 2);
  EXPECT_THAT(epochs.messages, HasSubstr("--epochs-to-target needs the samples of an epoch"));
  // 1,000 steps at the base batch, which is that of N = 1.
  const auto by_steps = cost({"--base", "0.1", "--target-steps", "1000", "--noise-scale", "100"});
  ASSERT_EQ(by_steps.size(), 1U);
  EXPECT_NEAR(by_steps[0]["steps"].get<double>(), 1000.0, 1e-6);
  EXPECT_TRUE(by_steps[0]["epochs"].is_null());
  for (const bool with_rate : {true, false}) {
    std::vector<std::string> command = {"lr", sgd, "--workers", "1", "--target-steps", "1000"};
    if (with_rate) command.insert(command.end(), {"--base", "0.1"});
    const Outcome steps = run_ddpprof(command);
    EXPECT_EQ(steps.code, 2);
    EXPECT_THAT(steps.messages, HasSubstr("--target-steps needs the gradient noise scale, which was not measured"));
  }
  const Outcome loss = run_ddpprof({"lr", sgd, "--workers", "1", "--target-loss", "0.5"});
  EXPECT_EQ(loss.code, 2);
  EXPECT_THAT(loss.messages, HasSubstr("--target-loss needs the losses of the steps"));
}

TEST_F(AnswerCommand, ANoiseScaleWithoutABaseRateIsAnError) {
  const Outcome outcome = run_ddpprof({"lr", imported("AdamW"), "--workers", "4", "--noise-scale", "100"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.messages, HasSubstr("--noise-scale needs a base rate"));
}

TEST_F(AnswerCommand, ImportAndReportEndWithOneScreenAndFullPrintsTheRest) {
  const std::string out = (folder_ / "screen.db").string();
  const Outcome screen = run_ddpprof({"import", file("rank0.json", trace_of("SGD")), "--out", out, "--overwrite"});
  const Outcome report = run_ddpprof({"report", out}), full = run_ddpprof({"report", out, "--full"});
  EXPECT_EQ(screen.out, report.out);
  EXPECT_LE(lines_of(screen.out).size(), 40U) << screen.out;
  EXPECT_THAT(screen.out, testing::StartsWith("Answer\n"));
  EXPECT_EQ(run_ddpprof({"report", out, "--verbose"}).out, full.out);
  EXPECT_THAT(screen.out, HasSubstr("--full"));
  EXPECT_THAT(screen.out, HasSubstr("N = 1 (one process without DDP)"));
  EXPECT_GT(lines_of(full.out).size(), 40U);
  EXPECT_LE(lines_of(run_ddpprof({"report", database_}).out).size(), 40U);
  EXPECT_EQ(run_ddpprof({"report", out, "--full", "--report", "steps"}).code, 2);
  // A file that is named after its rank alone does not name the model.
  EXPECT_EQ(table({"report", out, "--format", "json"}, "run")[0]["model"], "screen");
}

// Regression: the empty annotation with which torch.profiler ends an unfinished cycle was a step of 11 us, so that the
// interval of few steps began at 0.
TEST_F(AnswerCommand, AnUnfinishedCycleIsReportedAndItsEmptyEndIsNoStep) {
  std::string text = trace_of("SGD");
  const std::string empty =
      R"(, {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#6", "pid": 100, "tid": 100, )"
      R"("ts": 6000, "dur": 11, "args": {}})";
  text.insert(text.rfind(']'), empty);
  const std::string out = (folder_ / "cycle.db").string();
  const Outcome outcome = run_ddpprof({"import", file("cycle.json", text), "--out", out, "--overwrite"});
  EXPECT_EQ(outcome.code, 0) << outcome.messages;
  EXPECT_THAT(outcome.out, HasSubstr("the training ended inside a cycle of the profiler's schedule"));
  const auto rows = table({"report", out, "--format", "json"}, "step");
  EXPECT_EQ(rows[0]["steps"], 6);
  EXPECT_DOUBLE_EQ(rows[0]["step_low_s"].get<double>(), 0.00099);
  EXPECT_THAT(run_ddpprof({"report", imported("SGD"), "--full"}).out, Not(HasSubstr("cycle_unfinished")));
}

TEST_F(AnswerCommand, HelpHasTwoExamplesAndAWordOfItsOwn) {
  for (const char* name : {"run", "record", "worker", "import", "bench-comm", "report", "compare", "predict", "lr",
                           "export", "validate", "doctor", "gui"}) {
    const Outcome help = run_ddpprof({"help", name});
    EXPECT_EQ(help.code, 0) << name;
    EXPECT_EQ(help.out, run_ddpprof({name, "--help"}).out) << name;
    std::vector<std::string> lines = lines_of(help.out);
    while (!lines.empty() && lines.back().find_first_not_of(' ') == std::string::npos) lines.pop_back();
    ASSERT_GT(lines.size(), 3U);
    EXPECT_THAT(lines[lines.size() - 3], EndsWith("Examples:")) << name;
    for (std::size_t i = lines.size() - 2; i < lines.size(); ++i) EXPECT_THAT(lines[i], HasSubstr(name));
  }
  EXPECT_EQ(run_ddpprof({"help"}).out, run_ddpprof({"--help"}).out);
  EXPECT_EQ(run_ddpprof({"help", "help"}).out, run_ddpprof({"--help"}).out);
  EXPECT_THAT(run_ddpprof({"help", "repot"}).messages, HasSubstr("did you mean 'report'?"));
}

TEST_F(AnswerCommand, MistakesAreAnsweredWithTheCommandThatWasMeant) {
  EXPECT_THAT(run_ddpprof({"run", "--hlep"}).messages, HasSubstr("did you mean '--help'?"));
  const Outcome record = run_ddpprof({"record", "--out", "x.db", "torchrun", "--nproc-per-node", "2", "train.py"});
  EXPECT_EQ(record.code, 2);
  EXPECT_THAT(record.messages, HasSubstr("ddpprof record --out x.db -- torchrun --nproc-per-node 2 train.py"));
  EXPECT_THAT(run_ddpprof({"run", "--workers", "1", "torchrun", "--nproc-per-node", "{workers}", "a.py"}).messages,
              HasSubstr("ddpprof run --workers 1 -- torchrun --nproc-per-node {workers} a.py"));
}

TEST_F(AnswerCommand, TheWidthFollowsColumnsWithoutATerminal) {
  const auto longest = [](const std::string& text) {
    std::size_t most = 0;
    for (const std::string& line : lines_of(text))
      most = std::max(most, static_cast<std::size_t>(std::ranges::count_if(
                                line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; })));
    return most;
  };
  const auto at = [](const std::string& columns, const std::vector<std::string>& arguments) {
    std::vector<std::string> words = {"env", "COLUMNS=" + columns, test::built_program()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return test::run_program(words).out;
  };
  EXPECT_LE(longest(at("70", {"report", database_, "--full"})), 70U);
  EXPECT_GT(longest(at("200", {"report", database_, "--full"})), 120U);
  EXPECT_LE(longest(at("nonsense", {"report", database_, "--full"})), 120U);
}

TEST_F(AnswerCommand, TablesAreAsciiIfTheLocaleIsNotUtf8) {
  const auto in = [](const std::string& locale, const std::vector<std::string>& arguments) {
    std::vector<std::string> words = {"env", "LC_ALL=" + locale, test::built_program()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return test::run_program(words).out;
  };
  const auto ascii = [](const std::string& text) {
    return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  };
  for (const char* full : {"--quiet", "--full"}) {
    EXPECT_TRUE(ascii(in("C", {"report", database_, full})));
    EXPECT_THAT(in("C", {"report", database_, full}), HasSubstr("1.58 x the throughput"));
    EXPECT_THAT(in("C.UTF-8", {"report", database_, full}), HasSubstr("1.58 × the throughput"));
  }
  EXPECT_EQ(in("C", {"report", database_, "--format", "json"}),
            in("C.UTF-8", {"report", database_, "--format", "json"}))
      << "formats for programs do not depend on the locale";
}

TEST_F(AnswerCommand, APlotIsDrawnWhereItIsAskedFor) {
  const std::string plain = run_ddpprof({"report", database_}).out;
  EXPECT_EQ(run_ddpprof({"report", database_, "--plot"}).out, plain) << "not a terminal";
  const std::string with = run_ddpprof({"report", database_, "--plot=always"}).out;
  ASSERT_TRUE(with.starts_with(plain));
  EXPECT_THAT(with, HasSubstr("ddp: step time over N (o measured, x predicted, | interval)"));
  EXPECT_EQ(std::ranges::count(with.substr(plain.size()), 'x'), 3) << "N = 8, and the headings of both strategies";
  EXPECT_EQ(run_ddpprof({"report", database_, "--plot=never"}).code, 2);
}

TEST_F(AnswerCommand, PredictWithoutWorkersRanksTheUsualChanges) {
  const auto helps = table({"predict", database_, "--format", "json"}, "what_helps");
  ASSERT_GT(helps.size(), 3U);
  double before = 1e9;
  for (const auto& row : helps) {
    if (row["strategy"] != helps[0]["strategy"]) break;
    EXPECT_LE(row["speedup"].get<double>(), before);
    before = row["speedup"];
  }
  const auto predicted = table({"predict", database_, "--format", "json"}, "predictions");
  EXPECT_EQ(predicted[0]["workers"], 8) << "the N of the file's predictions";
  EXPECT_EQ(table({"predict", database_, "--workers", "8", "--format", "json"}, "what_helps"), nullptr);
}

// Regression: a host for each rank had two answers, because one of them gave the rank more threads than were recorded.
TEST_F(AnswerCommand, AHostForEachRankIsOneMachineHoweverItIsAskedFor) {
  const std::string out = (folder_ / "blocking.db").string();
  ASSERT_EQ(run_ddpprof({"import", blocking_traces, "--out", out}).code, 0);
  const auto hosts =
      table({"predict", out, "--workers", "1,8", "--gpus-per-node", "1", "--format", "json"}, "predictions");
  const auto dedicated =
      table({"predict", out, "--workers", "1,8", "--sharing", "dedicated", "--format", "json"}, "predictions");
  ASSERT_EQ(hosts.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_DOUBLE_EQ(hosts[i]["compute_s"].get<double>(), dedicated[i]["compute_s"].get<double>());
}

// Regression: the predicted line had only the steps on shared cores, without the assumption.
TEST_F(AnswerCommand, APredictionOfAnImportOnCpusStatesWhichCoresTheRanksHave) {
  const std::string out = (folder_ / "cores.db").string();
  ASSERT_EQ(run_ddpprof({"import", blocking_traces, "--cores", "4", "--out", out}).code, 0);
  std::string predicted;
  for (const auto& row : table({"report", out, "--report", "answer", "--format", "json"}, "answer"))
    if (row["about"] == "ddp predicted") predicted = row["answer"].get<std::string>();
  EXPECT_THAT(predicted, testing::ContainsRegex("N = 64: .* per step .*, if all ranks share these 4 cores; with own "
                                                "cores for each rank [0-9.]+ .* per step"));
}

// Regression: SIGXFSZ killed the command without a message, and left the database and its journal.
TEST_F(AnswerCommand, ALimitOfFileSizesIsReportedAndLeavesNothing) {
  const std::filesystem::path place = folder_ / "limited";
  std::filesystem::create_directories(place);
  const std::string out = (place / "job.db").string(), trace = file("rank0.json", trace_of("SGD"));
  const auto limited = [](const std::string& command) { return with_file_limit(16, command); };
  const Outcome import = limited("import " + test::shell_quoted(trace) + " --out " + test::shell_quoted(out));
  EXPECT_EQ(import.code, 4) << import.messages;
  EXPECT_THAT(import.messages, HasSubstr("raise the limit (ulimit -f)"));
  EXPECT_TRUE(std::filesystem::is_empty(place)) << "something half-made was left";
  const Outcome exported = limited("export " + test::shell_quoted(database_) + " --format chrome --out " +
                                   test::shell_quoted((place / "trace.json").string()));
  EXPECT_EQ(exported.code, 4) << exported.messages;
  EXPECT_THAT(exported.messages, HasSubstr("cannot be written"));
  EXPECT_TRUE(std::filesystem::is_empty(place));
  const Outcome run = limited("run --tracer own --workers 1 --out " + test::shell_quoted(out) + " -- true");
  EXPECT_EQ(run.code, 4) << run.messages;
  EXPECT_THAT(run.messages, HasSubstr("raise the limit (ulimit -f)"));
  EXPECT_TRUE(std::filesystem::is_empty(place)) << "something half-made was left";
  // An empty file, which a killed command may leave, does not count as a database.
  std::ofstream(out).close();
  EXPECT_EQ(run_ddpprof({"import", trace, "--out", out}).code, 0);
}

// The database reaches the limit only when the job's trace is stored: it stays sound, and --resume goes on.
TEST_F(AnswerCommand, ARunThatReachesTheLimitOfFileSizesKeepsASoundDatabase) {
  const std::filesystem::path place = folder_ / "reached";
  std::filesystem::create_directories(place);
  const std::string out = (place / "job.db").string(), trace = file("many_steps.json", trace_of("SGD", 2000));
  const std::string job = "ln " + test::shell_quoted(trace) + " $DDPPROF_TRACE_DIR/rank0.json";
  const Outcome run = with_file_limit(800, "run --tracer own --workers 1 --out " + test::shell_quoted(out) +
                                               " -- sh -c " + test::shell_quoted(job));
  EXPECT_EQ(run.code, 4) << run.messages;
  EXPECT_THAT(run.messages, HasSubstr("raise the limit (ulimit -f)"));
  EXPECT_THAT(run_ddpprof({"report", out}).out, HasSubstr("No measured step"));
  for (const auto& entry : std::filesystem::directory_iterator(place))
    EXPECT_THAT(entry.path().filename().string(), testing::AnyOf("job.db", "job.db.d"));
  const Outcome resumed =
      run_ddpprof({"run", "--tracer", "own", "--workers", "1", "--out", out, "--resume", "--", "sh", "-c", job});
  EXPECT_EQ(resumed.code, 0) << resumed.messages;
  EXPECT_THAT(resumed.out, HasSubstr("ddp measured"));
}

// Regression: compare listed an unknown size of the model as "parameters 0".
TEST_F(AnswerCommand, AnUnknownSizeOfTheModelIsNowhereZero) {
  const auto import = [](const std::string& name, bool with_gradients) {
    const std::string out = (folder_ / (name + ".db")).string();
    const Outcome outcome =
        run_ddpprof({"import", file(name + ".json", trace_of("SGD", 6, with_gradients)), "--out", out});
    EXPECT_EQ(outcome.code, 0) << outcome.messages;
    return out;
  };
  const std::string unknown = import("size_unknown", false), known = import("size_known", true);
  const Outcome text = run_ddpprof({"report", unknown, "--report", "all"});
  EXPECT_EQ(text.code, 0) << text.messages;
  EXPECT_THAT(text.out, Not(testing::ContainsRegex("parameters *[:=]? *0($|[^.0-9])")));
  const std::vector<std::string> report = {"report", unknown, "--report", "summary", "--format", "json"};
  const auto runs = table(report, "run");
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_TRUE(runs[0]["parameters"].is_null()) << runs;
  for (const auto& row : table({"compare", unknown, known, "--format", "json"}, "compare_settings"))
    if (row["name"] == "parameters") {
      EXPECT_EQ(row["a"], "unknown");
      EXPECT_EQ(row["b"], "1000000");
      return;
    }
  ADD_FAILURE() << "compare does not list the parameters";
}

// Regression: "Nothing recorded differs" for accumulation 1 and 4, and "nothing to compare" with code 0 for N = 1
// and 2.
TEST_F(AnswerCommand, CompareShowsWhatDiffersInOneProperty) {
  const auto with = [](const std::string& name, std::int64_t workers, std::int64_t accumulation) {
    const std::string path = (folder_ / name).string();
    test::SyntheticRun run(path);
    store::MeasurementRow row = test::train("ddp", workers);
    row.accumulation = accumulation;
    const std::int64_t id = run.measurement(row);
    for (std::int64_t rank = 0; rank < workers; ++rank) {
      const std::int64_t shard = run.shard(id, rank), took_ns = (100 * accumulation + 20 * workers) * test::ms;
      for (std::int64_t i = 0; i < 8; ++i) run.step(shard, i, i * 3 * took_ns, took_ns, 90 * test::ms, 0, 0, 0, 32);
    }
    return path;
  };
  const std::string one = with("n1.db", 1, 1), two = with("n2.db", 2, 1), four = with("a4.db", 1, 4);
  const Outcome scaling = run_ddpprof({"compare", one, two});
  EXPECT_EQ(scaling.code, 0);
  EXPECT_THAT(scaling.out, HasSubstr("ddp N=1 and N=2"));
  const auto settings = table({"compare", one, four, "--format", "json"}, "compare_settings");
  EXPECT_TRUE(std::ranges::any_of(settings, [](const auto& row) {
    return row["name"] == "accumulation" && row["b"] == "4";
  })) << settings;
  EXPECT_THAT(run_ddpprof({"compare", one, four}).out, HasSubstr("accumulation 1 and 4"));
  EXPECT_EQ(run_ddpprof({"compare", two, four}).code, 5) << "they differ in N and in accumulation";
}

}  // namespace
}  // namespace ddpprof
