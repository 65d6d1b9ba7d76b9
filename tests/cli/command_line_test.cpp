// The real program: exit codes, standard output and error, and error messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <filesystem>

#include <SQLiteCpp/Statement.h>

#include <map>
#include <optional>
#include <sstream>

#include <nlohmann/json.hpp>

#include "tests/cli/command_line.hpp"
#include "tracer/store/schema/schema.hpp"

namespace ddpprof {
namespace {

namespace fs = std::filesystem;
using test::CommandLine;
using test::Outcome;
using test::run_ddpprof;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST_F(CommandLine, HelpGoesToStandardOutput) {
  const Outcome help = run_ddpprof({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.messages, IsEmpty());
  for (const char* word : {"run", "record", "worker", "import", "bench-comm", "report", "compare", "predict", "lr",
                           "export", "validate", "doctor", "gui", "completion", "Exit codes"}) {
    EXPECT_THAT(help.out, HasSubstr(word));
  }
  for (const char* name : {"run", "record", "worker", "import", "bench-comm", "report", "compare", "predict", "lr",
                           "export", "validate", "doctor", "gui", "completion"}) {
    const Outcome own = run_ddpprof({name, "--help"});
    EXPECT_EQ(own.code, 0) << name;
    EXPECT_THAT(own.out, HasSubstr("Usage: ddpprof " + std::string(name)));
  }
}

TEST_F(CommandLine, VersionIsTheProjects) {
  const Outcome version = run_ddpprof({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_EQ(version.out, "ddpprof " DDPPROF_VERSION "\n");
  const Outcome verbose = run_ddpprof({"--version", "--verbose"});
  EXPECT_EQ(verbose.code, 0);
  EXPECT_THAT(verbose.out, StartsWith("ddpprof " DDPPROF_VERSION "\ndatabase schema " +
                                      std::to_string(store::schema_version) + " (databases of versions 1 to "));
  EXPECT_THAT(verbose.out, HasSubstr("\ntorch: "));
}

struct Wrong {
  std::vector<std::string> arguments;  // DB is replaced by the path of the database
  std::string message;                 // standard error without its line end; a leading … means "contains"
};

TEST_F(CommandLine, ARunOfAMissingProgramMakesNoDatabase) {
  const std::filesystem::path database = folder_ / "missing.db";
  const Outcome missing = run_ddpprof({"run", "--workers", "1,2", "--out", database.string(), "--", "no-such-program"});
  EXPECT_EQ(missing.code, 3) << missing.messages;
  EXPECT_THAT(missing.messages, HasSubstr("cannot be started: no-such-program: No such file or directory"));
  EXPECT_FALSE(std::filesystem::exists(database));
  EXPECT_FALSE(std::filesystem::exists(database.string() + ".d"));
}

TEST_F(CommandLine, TheReportOfFailedRunsHasTheirReason) {
  const std::string database = (folder_ / "failed.db").string();
  const Outcome failed =
      run_ddpprof({"run", "--tracer", "own", "--workers", "1", "--out", database, "--", "sh", "-c", "exit 3"});
  EXPECT_EQ(failed.code, 4) << failed.messages;
  const Outcome report = run_ddpprof({"report", database, "--report", "answer", "--format", "markdown"});
  EXPECT_THAT(report.out, HasSubstr("No measured step: n1-r0 was not measured: it ended with exit code 3"));
  EXPECT_THAT(run_ddpprof({"report", database, "--report", "diagnostics", "--format", "csv"}).out,
              HasSubstr("run_failed"));
}

TEST_F(CommandLine, WhatIsWrongIsSaidInOneFormAndEndsWithTwo) {
  const std::string hint = " see ddpprof report --help";
  const std::vector<Wrong> all = {
      {{}, "ddpprof: no subcommand; see ddpprof --help"},
      {{"repot"}, "…ddpprof: unknown subcommand 'repot' (expected one of "},
      {{"repot"}, "…did you mean 'report'? see ddpprof --help"},
      {{"zzz"}, "…ddpprof: unknown subcommand 'zzz' (expected one of "},
      {{"--verson"}, "ddpprof: unknown option '--verson'; did you mean '--version'? see ddpprof --help"},
      {{"report"}, "ddpprof report: FILE.db is required;" + hint},
      {{"report", "DB", "--frmat", "csv"}, "ddpprof report: unknown option '--frmat'; did you mean '--format'?" + hint},
      {{"report", "DB", "--frmat=csv"}, "ddpprof report: unknown option '--frmat'; did you mean '--format'?" + hint},
      {{"report", "DB", "--qqqqqqq"}, "ddpprof report: unknown option '--qqqqqqq';" + hint},
      {{"report", "DB", "other.db"}, "ddpprof report: argument 'other.db' is unexpected;" + hint},
      {{"report", "DB", "--report", "sumary"}, "…ddpprof report: --report: unknown value 'sumary' (expected one of "},
      {{"report", "DB", "--report", "sumary"}, "…; did you mean 'summary'?"},
      {{"report", "DB", "--format", "tabel"},
       "ddpprof report: --format: unknown value 'tabel' (expected one of table, csv, json, markdown, html); did you "
       "mean "
       "'table'?"},
      {{"report", "/nowhere/x.db"}, "…ddpprof report: /nowhere/x.db: no such file"},
      {{"compare", "DB"},
       "ddpprof compare: what to compare is not clear (expected two databases; or one database and either --workers or "
       "--batches)"},
      {{"compare", "DB", "/nowhere/x.db"}, "…ddpprof compare: /nowhere/x.db: no such file"},
      {{"compare", "DB", "DB", "--format", "tabel"}, "…did you mean 'table'?"},
      {{"gui", "/nowhere/x.db"},
       "ddpprof gui: /nowhere/x.db: no such file (expected a trace database, or files that ddpprof import reads); correct "
       "the name, or omit it and open a file in the window"},
      {{"export", "DB", "--format", "crome", "--out", "x"}, "…did you mean 'chrome'?"},
      {{"export", "DB", "--format", "chrome"}, "ddpprof export: --out is required; see ddpprof export --help"},
      {{"predict", "DB", "--workers", "8,x"},
       "ddpprof predict: --workers: 'x' is not a whole number (expected whole numbers from 1 to 1000000 separated "
       "by "
       "commas, e.g. 8,64); correct the list"},
      {{"predict", "DB", "--workers", "0"}, "…ddpprof predict: --workers: '0' is not from 1 to 1000000"},
      {{"import", "DB", "--nodes", "0"}, "…ddpprof import: --nodes: 0 is below 1 (expected a whole number from 1 on)"},
      {{"predict", "DB", "--workers", "8,"}, "…ddpprof predict: --workers: '' is not a whole number"},
      {{"predict", "DB", "--workers", ""},
       "…ddpprof predict: --workers: the list is empty (expected whole numbers separated by commas, e.g. 8,64)"},
      {{"lr", "DB", "--workers", ""}, "…ddpprof lr: --workers: the list is empty"},
      {{"compare", "DB", "--workers", ""}, "…ddpprof compare: --workers: the list is empty"},
      {{"compare", "DB", "--batches", ""}, "…ddpprof compare: --batches: the list is empty"},
      {{"run", "/nowhere/x.yaml", "--workers", ""}, "…ddpprof run: --workers: the list is empty"},
      {{"run", "--workers", "1", "--batches", "", "--", "true"}, "…ddpprof run: --batches: the list is empty"},
      {{"bench-comm", "--workers", ""}, "…ddpprof bench-comm: --workers: the list is empty"},
      {{"import", "DB", "--workers", ""}, "…ddpprof import: --workers: the value is empty"},
      {{"predict", "DB", "--workers", "8", "--confidence", "1"},
       "ddpprof predict: --confidence: the value is not between 0 and 1 (expected e.g. 0.9)"},
      {{"predict", "DB", "--workers", "8", "--sharing", "dedicatd"}, "…did you mean 'dedicated'?"},
      {{"predict", "DB", "--workers", "8", "--gpus-per-node", "-1"}, "…--gpus-per-node: -1 is below 0"},
      {{"predict", "DB", "--workers", "8", "--all-reduce", "/nowhere/x.log"},
       "ddpprof predict: /nowhere/x.log: no such file (expected the output of nccl-tests)"},
      {{"predict", "DB", "--workers", "8", "--all-gather", "/nowhere/x.log"},
       "ddpprof predict: /nowhere/x.log: no such file (expected the output of nccl-tests)"},
      {{"predict", "DB", "--workers", "8", "--what-if", "bandwidth=2"},
       "…--what-if bandwidth=2: expected a factor such as 2x, or a value with its unit, e.g. bandwidth=2x"},
      {{"predict", "DB", "--workers", "8", "--what-if", "compute=2x", "--what-if", "compute=3x"},
       "…expected each key at most once"},
      {{"lr", "DB", "--workers", "8", "--base", "0"}, "…ddpprof lr: --base: the learning rate is not above 0"},
      {{"validate", "/nowhere/x.yaml"}, "…/nowhere/x.yaml"},
      {{"worker", "x.yaml"}, "ddpprof worker: --out is required; see ddpprof worker --help"},
      {{"worker", "x.yaml", "--out", "x", "--strategy", "dpp"}, "…did you mean 'ddp'?"},
      {{"worker", "/nowhere/x.yaml", "--out", "x"}, "…/nowhere/x.yaml"},
      {{"worker", "x.yaml", "--out", "x", "--replicas", "2"}, "…ddpprof worker: --replicas needs --strategy dp"},
      {{"import", "/nowhere", "--out", "x.db"}, "…ddpprof import: /nowhere: no such file or folder"},
  };
  for (const Wrong& wrong : all) {
    std::vector<std::string> arguments = wrong.arguments;
    for (std::string& argument : arguments) {
      if (argument == "DB") argument = database_;
    }
    const Outcome outcome = run_ddpprof(arguments);
    const std::string what = testing::PrintToString(wrong.arguments);
    EXPECT_EQ(outcome.code, 2) << what << "\n" << outcome.messages;
    EXPECT_THAT(outcome.out, IsEmpty()) << what;
    const std::string ellipsis = "…";
    if (wrong.message.starts_with(ellipsis)) {
      EXPECT_THAT(outcome.messages, HasSubstr(wrong.message.substr(ellipsis.size()))) << what;
    } else {
      EXPECT_EQ(outcome.messages, wrong.message + "\n") << what;
    }
  }
}

TEST_F(CommandLine, AFileThatIsNoDatabaseEndsWithFive) {
  const Outcome text = run_ddpprof({"report", file("notes.txt", "these are notes, and long enough to be read\n")});
  EXPECT_EQ(text.code, 5);
  EXPECT_THAT(text.messages, StartsWith("ddpprof report: "));
  std::string cut = test::read_all(database_);
  cut.resize(cut.size() / 2);
  const Outcome damaged = run_ddpprof({"report", file("cut.db", cut)});
  EXPECT_EQ(damaged.code, 5) << damaged.messages;
  EXPECT_THAT(damaged.messages, StartsWith("ddpprof report: "));
}

TEST_F(CommandLine, AnImportOfNothingEndsWithFiveAndLeavesNoDatabase) {
  const std::string out = file("imported.db", "");
  std::filesystem::remove(out);
  for (const char* text : {"{\"traceEvents\": []}", "[{\"ph\": \"X\"", "", "{\"model\": 1}"}) {
    const Outcome outcome = run_ddpprof({"import", file("trace.json", text), "--out", out});
    EXPECT_EQ(outcome.code, 5) << text << outcome.messages;
    EXPECT_THAT(outcome.messages, StartsWith("ddpprof import: trace.json: ")) << text;
    EXPECT_FALSE(std::filesystem::exists(out)) << text;
  }
  const Outcome table = run_ddpprof({"import", file("notes.txt", "these are notes\n"), "--out", out});
  EXPECT_EQ(table.code, 5);
  EXPECT_FALSE(std::filesystem::exists(out));
  // A database that an import fails to replace stays.
  const std::string kept = file("kept.db", test::read_all(database_));
  EXPECT_EQ(run_ddpprof({"import", file("trace.json", "[]"), "--out", kept, "--overwrite"}).code, 5);
  EXPECT_EQ(test::read_all(kept), test::read_all(database_));
  for (const auto& entry : std::filesystem::directory_iterator(folder_))
    EXPECT_EQ(entry.path().string().find(".importing"), std::string::npos) << entry.path();
  const Outcome ours = run_ddpprof({"import", database_, "--out", out});
  EXPECT_EQ(ours.code, 2);
  EXPECT_THAT(ours.messages, HasSubstr("is already a database of ddpprof"));
}

TEST_F(CommandLine, AnImportedTraceIsReportedAndPredicted) {
  std::string events;
  for (int step = 0; step < 6; ++step) {
    const int at = 1000 * step;
    const auto add = [&](const char* category, const std::string& name, int start, int duration,
                         const char* arguments) {
      events += std::string(events.empty() ? "" : ",\n") + R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" +
                name + R"(", "pid": 100, "tid": 100, "ts": )" + std::to_string(at + start) + R"(, "dur": )" +
                std::to_string(duration) + R"(, "args": {)" + arguments + "}}";
    };
    add("user_annotation", "ProfilerStep#" + std::to_string(step), 0, 990, "");
    add("user_annotation", "DistributedDataParallel.forward", 10, 300, "");
    add("cpu_op", "aten::linear", 20, 100,
        R"("Input Dims": [[16, 1000], [1000, 1000]], "Input type": ["float", "float"])");
    add("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 320, 400, "");
    add("cpu_op", "torch::autograd::AccumulateGrad", 700, 10,
        R"("Input Dims": [[1000, 1000]], "Input type": ["float"])");
    add("user_annotation", "Optimizer.step#SGD.step", 800, 100, "");
  }
  const std::string out = file("imported.db", "");
  std::filesystem::remove(out);
  const Outcome outcome =
      run_ddpprof({"import", file("rank0.json", "{\"traceEvents\": [" + events + "]}"), "--out", out, "--full"});
  EXPECT_EQ(outcome.code, 0) << outcome.messages;
  EXPECT_THAT(outcome.out, HasSubstr("batch per worker [samples]    16"));
  EXPECT_THAT(outcome.messages, HasSubstr("36 events of 1 rank of 1"));
  EXPECT_EQ(run_ddpprof({"import", file("rank0.json", "{\"traceEvents\": [" + events + "]}"), "--out", out}).code, 2);
  const Outcome again = run_ddpprof(
      {"import", file("rank0.json", "{\"traceEvents\": [" + events + "]}"), "--out", out, "--overwrite", "--full"});
  EXPECT_EQ(again.code, 0) << again.messages;
  EXPECT_EQ(again.out, outcome.out);
  EXPECT_EQ(run_ddpprof({"report", out, "--report", "overlap", "--rule", "hta"}).code, 0);
  EXPECT_EQ(run_ddpprof({"report", out, "--report", "summary", "--rule", "hta"}).code, 2);
}

TEST_F(CommandLine, ReportsGoToStandardOutputAlone) {
  for (const char* name :
       {"summary", "steps", "phases", "collectives", "overlap", "skew", "efficiency", "fit", "predictions",
        "learning-rate", "comm", "conditions", "diagnostics", "kernels", "imported"}) {
    const Outcome report = run_ddpprof({"report", database_, "--report", name});
    EXPECT_EQ(report.code, 0) << name << report.messages;
    EXPECT_THAT(report.out, Not(IsEmpty())) << name;
    EXPECT_THAT(report.messages, IsEmpty()) << name;
  }
}

TEST_F(CommandLine, JsonIsTheDocumentedDocument) {
  const auto document = nlohmann::json::parse(run_ddpprof({"report", database_, "--format", "json"}).out);
  EXPECT_EQ(document["format"], "ddpprof-report");
  EXPECT_EQ(document["version"], 1);
  for (const auto& table : document["tables"]) {
    for (const auto& row : table["rows"]) {
      EXPECT_EQ(row.size(), table["columns"].size()) << table["name"];
      for (const auto& column : table["columns"]) EXPECT_TRUE(row.contains(column["name"].get<std::string>()));
    }
  }
}

TEST_F(CommandLine, ExportSaysWhatItWroteUnlessQuiet) {
  const std::string trace = (folder_ / "trace.json").string();
  const Outcome loud = run_ddpprof({"export", database_, "--format", "chrome", "--out", trace});
  EXPECT_EQ(loud.code, 0);
  EXPECT_THAT(loud.out, IsEmpty());
  EXPECT_THAT(loud.messages, HasSubstr(" events in " + trace));
  EXPECT_TRUE(nlohmann::json::accept(test::read_all(trace)));
  const std::string csv = (folder_ / "csv").string();
  const Outcome quiet = run_ddpprof({"export", database_, "--format", "csv", "--out", csv, "-q"});
  EXPECT_EQ(quiet.code, 0);
  EXPECT_THAT(quiet.messages, IsEmpty());
  EXPECT_TRUE(fs::exists(fs::path(csv) / "step.csv"));
}

TEST_F(CommandLine, APathThatCannotBeIsTwoAndAFullDeviceFour) {
  const Outcome missing = run_ddpprof({"export", database_, "--format", "chrome", "--out", "/nowhere/trace.json"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.messages, HasSubstr("--out: /nowhere is not a folder"));
  const Outcome full = run_ddpprof({"report", database_}, "/dev/full");
  EXPECT_EQ(full.code, 4);
  EXPECT_THAT(full.messages, HasSubstr("ddpprof report: standard output cannot be written"));
}

TEST_F(CommandLine, CompareSaysWhatDiffersAndInWhichKeys) {
  const std::string other = (folder_ / "other.db").string();
  {
    test::SyntheticRun run(other);
    run.fill();
    SQLite::Statement update(run.database.sql(), "UPDATE scenario SET resolved = ?");
    update.bind(1, std::string(test::scenario) + "measure: {steps: 77}\n");
    update.exec();
    run.database.sql().exec("UPDATE step SET duration_ns = 2 * duration_ns");
  }
  const Outcome compared = run_ddpprof({"compare", database_, other, "--format", "json"});
  ASSERT_EQ(compared.code, 0) << compared.messages;
  EXPECT_THAT(compared.messages, IsEmpty());
  const auto document = nlohmann::json::parse(compared.out);
  EXPECT_EQ(document["report"], "compare");
  bool keys = false, steps = false;
  for (const auto& table : document["tables"]) {
    for (const auto& row : table["rows"]) {
      if (table["name"] == "compare_settings" && row["name"] == "measure.steps") {
        keys = true;
        EXPECT_EQ(row["a"], "30") << "the default";
        EXPECT_EQ(row["b"], "77");
      }
      if (table["name"] == "compare_time" && row["what"] == "step") {
        steps = true;
        EXPECT_NEAR(row["ratio"].get<double>(), 2.0, 1e-9) << row;
      }
    }
  }
  EXPECT_TRUE(keys);
  EXPECT_TRUE(steps);
  const Outcome nothing = run_ddpprof({"compare", database_, (folder_ / "empty.db").string()});
  EXPECT_EQ(nothing.code, 5) << "no configuration was compared";
  EXPECT_THAT(nothing.out, HasSubstr("Cannot compare: "));
  EXPECT_EQ(run_ddpprof({"compare", file("no.db", "text"), other}).code, 5);
}

TEST_F(CommandLine, ScenariosThatAreNotUnderstoodDifferOnlyInTheirText) {
  const auto stored = [&](const std::string& name, const std::string& text) {
    const std::string path = (folder_ / name).string();
    test::SyntheticRun run(path);
    SQLite::Statement update(run.database.sql(), "UPDATE scenario SET resolved = ?");
    update.bind(1, text);
    update.exec();
    return path;
  };
  const std::string newer = std::string(test::scenario) + "of_tomorrow: 1\n";
  const std::string one = stored("tomorrow.db", newer), same = stored("same.db", newer),
                    other = stored("other_tomorrow.db", newer + "more: 2\n");
  const auto keys = [&](const std::string& a, const std::string& b) {
    const Outcome compared = run_ddpprof({"compare", a, b, "--format", "json"});
    EXPECT_EQ(compared.code, 5) << "no step was measured: " << compared.messages;
    std::vector<nlohmann::json> rows;
    const auto document = nlohmann::json::parse(compared.out);
    for (const auto& table : document["tables"])
      for (const auto& row : table["rows"])
        if (table["name"] == "compare_settings" && row["area"] == "scenario") rows.push_back(row);
    return rows;
  };
  EXPECT_THAT(keys(one, same), IsEmpty());
  ASSERT_EQ(keys(one, other).size(), 1U);
  EXPECT_EQ(keys(one, other)[0]["name"], "(whole)");
  EXPECT_THAT(keys(one, other)[0]["a"].get<std::string>(), StartsWith("not understood: "));
  EXPECT_EQ(keys(one, database_).size(), 1U) << "this version can read one of the scenarios";
}

// Sets an environment variable for the programs that a test starts.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  }
  ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST_F(CommandLine, GuiBecomesTheDesktopProgramWithTheFile) {
  const std::string program = file("stand-in", "#!/bin/sh\necho \"$$: $*\"\nexit 7\n");
  fs::permissions(program, fs::perms::owner_all);
  const Variable gui("DDPPROF_GUI_PROGRAM", program.c_str()), display("QT_QPA_PLATFORM", "offscreen");
  const Outcome started = run_ddpprof({"gui", database_, "--page", "Timeline"});
  EXPECT_EQ(started.code, 7) << "the command returns its exit code";
  EXPECT_THAT(started.out, testing::EndsWith(": --page Timeline -- " + database_ + "\n"));
  EXPECT_THAT(run_ddpprof({"gui"}).out, testing::EndsWith(": \n")) << "without a file";
  // The shell prints its process number, then exec replaces it by ddpprof and the program: the process stays the same.
  const std::string said = (folder_ / "number").string();
  const std::string inner =
      "echo \"$$: \"; exec " + test::shell_quoted(test::built_program()) + " gui >>" + test::shell_quoted(said);
  const std::string outer = "sh -c " + test::shell_quoted(inner) + " >" + test::shell_quoted(said);
  EXPECT_NE(std::system(outer.c_str()), 0) << "it ends with exit code 7";
  std::istringstream lines(test::read_all(said));
  std::string before, after;
  std::getline(lines, before);
  std::getline(lines, after);
  EXPECT_THAT(before, testing::MatchesRegex("[0-9]+: "));
  EXPECT_EQ(after, before);
}

TEST_F(CommandLine, ANameThatCannotBeLookedUpIsSaidInTheUsualForm) {
  const std::string name(300, 'x');  // longer than any file system supports
  const Variable display("QT_QPA_PLATFORM", "offscreen");
  const Outcome file = run_ddpprof({"gui", name});
  EXPECT_EQ(file.code, 2);
  EXPECT_EQ(file.messages,
            "ddpprof gui: " + name +
                ": File name too long (expected a trace database, or files that ddpprof import reads); correct "
                "the name, or omit it and open a file in the window\n");
  const Variable gui("DDPPROF_GUI_PROGRAM", name.c_str());
  const Outcome program = run_ddpprof({"gui", database_});
  EXPECT_EQ(program.code, 3);
  EXPECT_EQ(program.messages, "ddpprof gui: DDPPROF_GUI_PROGRAM names '" + name +
                                  "', which cannot be accessed: File name too long (expected the path of "
                                  "ddpprof-gui); correct the variable, or unset it to use the one beside ddpprof\n");
}

TEST_F(CommandLine, GuiWithoutAProgramOrADisplayEndsWithThree) {
  {
    const Variable gui("DDPPROF_GUI_PROGRAM", "/nowhere/ddpprof-gui"), display("QT_QPA_PLATFORM", "offscreen");
    const Outcome none = run_ddpprof({"gui", database_});
    EXPECT_EQ(none.code, 3);
    EXPECT_EQ(
        none.messages,
        "ddpprof gui: DDPPROF_GUI_PROGRAM names '/nowhere/ddpprof-gui', which does not exist (expected the path of "
        "ddpprof-gui); correct the variable, or unset it to use the one beside ddpprof\n");
  }
  const Variable gui("DDPPROF_GUI_PROGRAM", "/bin/true"), platform("QT_QPA_PLATFORM", nullptr),
      display("DISPLAY", nullptr), wayland("WAYLAND_DISPLAY", nullptr);
  const Outcome none = run_ddpprof({"gui", database_});
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(none.messages,
              StartsWith("ddpprof gui: cannot open a window: this session has no display (expected DISPLAY or "));
  EXPECT_THAT(none.messages, HasSubstr("ddpprof report"));
}

// Regression: paths of a scenario depended on the folder in which the command was started.
TEST_F(CommandLine, PathsOfAScenarioAreRelativeToItsFolder) {
  const std::filesystem::path place = folder_ / "elsewhere";
  std::filesystem::create_directories(place);
  const std::string job = "name: job\nworkload: {command: ['true']}\nworkers: [1]\nmeasure: {tracer: own}\n";
  file("elsewhere/job.yaml", job + "output: {database: made.db}\n");
  file("elsewhere/exports.yaml", job + "output: {database: made.db, chrome: missing/trace.json}\n");
  const auto run = [](const std::string& arguments) {
    return test::run_program({"sh", "-c",
                              "cd " + test::shell_quoted(folder_.string()) + " && exec " +
                                  test::shell_quoted(test::built_program()) + " run elsewhere/" + arguments});
  };
  const Outcome refused = run("exports.yaml");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.messages, HasSubstr("output.chrome: elsewhere/missing is not a folder"));
  EXPECT_THAT(run("exports.yaml --set output.chrome=missing/trace.json").messages,
              HasSubstr("output.chrome: missing is not a folder"))
      << "paths of the command line are relative to the current folder";
  const Outcome ran = run("job.yaml");
  EXPECT_EQ(ran.code, 4) << "the job wrote no trace: " << ran.messages;
  EXPECT_TRUE(std::filesystem::exists(place / "made.db")) << ran.messages;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "made.db"));
}

TEST_F(CommandLine, AWrongFormOfProgressIsSaidBeforeAnythingRuns) {
  const Outcome wrong =
      run_ddpprof({"run", file("sound.yaml", test::scenario), "--dry-run", "--progress", "json-line"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.messages,
              HasSubstr("--progress: unknown value 'json-line' (expected one of auto, json-lines, none)"));
}

TEST_F(CommandLine, ValidateSaysEverythingThatIsWrong) {
  const std::string bad = file("bad.yaml", "name: x\nworkload:\n  model: {kind: mpl}\n  batch_per_worker: 0\n");
  const Outcome outcome = run_ddpprof({"validate", bad});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.messages, HasSubstr(bad + ":3:"));
  EXPECT_THAT(outcome.messages, HasSubstr("did you mean 'mlp'"));
  EXPECT_THAT(outcome.messages, HasSubstr(bad + ":4:"));
}

TEST_F(CommandLine, ValidateSaysThatAScenarioIsSound) {
  const std::string good = file("good.yaml", test::scenario);
  const Outcome outcome = run_ddpprof({"validate", good});
  EXPECT_EQ(outcome.code, 0) << outcome.messages;
  EXPECT_EQ(outcome.out, good + ": scenario 'mnist-mlp' is valid\n");
  const Outcome overridden = run_ddpprof({"validate", good, "--set", "measure.steps=oops"});
  EXPECT_EQ(overridden.code, 2);
  EXPECT_THAT(overridden.messages, HasSubstr("--set measure.steps=oops"));
  // The output of --print is a valid scenario.
  const std::string printed = run_ddpprof({"validate", good, "--print"}).out;
  EXPECT_EQ(run_ddpprof({"validate", file("printed.yaml", printed), "--print"}).out, printed);
}

TEST_F(CommandLine, AnExportNeverReplacesADatabase) {
  const std::string copy = (folder_ / "copy.db").string();
  fs::copy_file(database_, copy, fs::copy_options::overwrite_existing);
  const auto size = fs::file_size(copy);
  const std::string crooked = (folder_ / ".." / folder_.filename() / "copy.db").string();
  for (const std::string& out : {copy, crooked, database_, copy + ".d"}) {
    const Outcome refused = run_ddpprof({"export", copy, "--format", "chrome", "--out", out});
    EXPECT_EQ(refused.code, 2) << out;
    EXPECT_THAT(refused.messages, HasSubstr("database")) << out;
  }
  EXPECT_EQ(fs::file_size(copy), size);
  const Outcome folder = run_ddpprof({"export", copy, "--format", "chrome", "--out", folder_.string()});
  EXPECT_EQ(folder.code, 2);
  EXPECT_THAT(folder.messages, HasSubstr("is a folder"));
  EXPECT_EQ(run_ddpprof({"export", copy, "--format", "csv", "--out", "/no/such/folder/csv"}).code, 2);
}

}  // namespace
}  // namespace ddpprof
