// ddpprof predict, as a user calls it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/command_line.hpp"

namespace ddpprof {
namespace {

using test::CommandLine;
using test::Outcome;
using test::run_ddpprof;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST_F(CommandLine, PredictAnswersForTheWorkersAskedFor) {
  const Outcome outcome = run_ddpprof({"predict", database_, "--workers", "8,4", "--format", "json"});
  ASSERT_EQ(outcome.code, 0) << outcome.messages;
  const auto document = nlohmann::json::parse(outcome.out);
  std::vector<std::int64_t> ddp;
  for (const auto& row : document["tables"][0]["rows"]) {
    EXPECT_LE(row["step_low_s"], row["step_s"]);
    EXPECT_LE(row["step_s"], row["step_high_s"]);
    if (row["strategy"] == "ddp") ddp.push_back(row["workers"]);
  }
  EXPECT_EQ(ddp, (std::vector<std::int64_t>{4, 8}));
}

// The knee is searched among all N, independent of the N in the table of predictions.
TEST_F(CommandLine, PredictNamesOneKneeWhicheverNAreListed) {
  const auto knee = [&](const std::string& listed) {
    const Outcome outcome =
        run_ddpprof({"predict", database_, "--workers", listed, "--what-if", "bandwidth=0.25x", "--format", "json"});
    EXPECT_EQ(outcome.code, 0) << outcome.messages;
    const auto document = nlohmann::json::parse(outcome.out);
    for (const auto& table : document["tables"])
      if (table["name"] == "knee") return table["rows"];
    return nlohmann::json();
  };
  const nlohmann::json rows = knee("1,2,3,4,8,16");
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows, knee("8"));
  std::size_t changed = 0;
  for (const auto& row : rows) changed += row["what_if"] == "bandwidth=0.25x" ? 1 : 0;
  EXPECT_EQ(changed, 6U) << "three shares for each strategy";
}

// Larger N than requested have no effect. A strategy that cannot be simulated does not affect the others.
TEST_F(CommandLine, PredictAnswersWhereSomeNCannotBeSimulated) {
  const auto ask = [&](const std::string& workers, const std::vector<std::string>& changes) {
    std::vector<std::string> command = {"predict", database_, "--workers", workers, "--format", "json"};
    for (const std::string& change : changes) command.insert(command.end(), {"--what-if", change});
    const Outcome outcome = run_ddpprof(command);
    EXPECT_EQ(outcome.code, 0) << outcome.messages;
    const auto document = nlohmann::json::parse(outcome.out);
    std::map<std::string, nlohmann::json> tables;
    for (const auto& table : document["tables"]) tables[table["name"].get<std::string>()] = table;
    return tables;
  };
  auto servers = ask("8,12", {"strategy=ps", "servers=10", "bandwidth=1000x"});
  std::size_t changed = 0;
  for (const auto& row : servers["knee"]["rows"]) {
    if (row["what_if"].is_null()) continue;
    ++changed;
    EXPECT_GE(row["largest_workers"], 10);
    EXPECT_LE(row["largest_workers"], 12);
  }
  EXPECT_EQ(changed, 3U) << "DataParallel has no servers";
  EXPECT_THAT(servers["knee"]["note"].get<std::string>(),
              HasSubstr("the search ends at the largest requested or measured N"));
  EXPECT_THAT(servers["knee"]["note"].get<std::string>(), HasSubstr("ddp with the change: "));
  EXPECT_THAT(servers["knee"]["note"].get<std::string>(), HasSubstr("from 2 to 9"));
  auto rounds = ask("8", {"strategy=zero2", "accumulation=50000"});
  EXPECT_FALSE(rounds["predictions"]["rows"].empty());
  EXPECT_FALSE(rounds["knee"]["rows"].empty());
  EXPECT_THAT(rounds["notes"]["rows"].dump(), HasSubstr("what_if_none"));
}

TEST_F(CommandLine, PredictNamesStepsOfAGlobalBatchThatAreWithoutTheChange) {
  const auto ask = [&](const std::vector<std::string>& more) {
    std::vector<std::string> command = {"predict",  database_, "--workers",      "2,8",
                                        "--format", "json",    "--global-batch", "128"};
    command.insert(command.end(), more.begin(), more.end());
    return run_ddpprof(command).out;
  };
  EXPECT_THAT(ask({"--what-if", "bandwidth=2x"}), HasSubstr("without the change of --what-if"));
  EXPECT_THAT(ask({}), Not(HasSubstr("without the change of --what-if")));
}

TEST_F(CommandLine, PredictSaysWhatAChangeWouldBringAndWhy) {
  const auto ask = [&](const std::vector<std::string>& changes) {
    std::vector<std::string> command = {"predict", database_, "--workers", "1,8", "--format", "json"};
    for (const std::string& change : changes) command.insert(command.end(), {"--what-if", change});
    const Outcome outcome = run_ddpprof(command);
    EXPECT_EQ(outcome.code, 0) << outcome.messages;
    const auto document = nlohmann::json::parse(outcome.out);
    std::map<std::string, nlohmann::json> tables;
    for (const auto& table : document["tables"]) tables[table["name"].get<std::string>()] = table["rows"];
    return tables;
  };
  const auto plain = ask({});
  EXPECT_FALSE(plain.contains("what_if"));
  for (const auto& row : plain.at("why")) {
    EXPECT_GE(row["gain_compute"], 0.0);
    EXPECT_LE(row["gain_compute"], 1.0);
    EXPECT_FALSE(row["bound"].get<std::string>().empty());
  }
  const auto changed = ask({"bandwidth=1000x", "latency=0.001x"});
  bool eight = false;
  for (const auto& row : changed.at("what_if")) {
    EXPECT_GT(row["workers"], 1) << "a single rank does not communicate";
    EXPECT_LE(row["speedup_low"], row["speedup"]);
    EXPECT_LE(row["speedup"], row["speedup_high"]);
    if (row["strategy"] != "ddp") continue;
    eight = true;
    EXPECT_GT(row["speedup"], 1.0);
    EXPECT_NEAR(row["changed_throughput_samples_per_s"].get<double>() / row["throughput_samples_per_s"].get<double>(),
                row["speedup"].get<double>(), 1e-9);
  }
  EXPECT_TRUE(eight);
  EXPECT_GT(changed.at("why").size(), plain.at("why").size());
  const std::string table = file("few.csv", "workers,nodes,batch_per_worker,step_time_s\n1,1,32,0.1\n2,2,32,0.2\n");
  EXPECT_THAT(run_ddpprof({"predict", table, "--workers", "4", "--what-if", "compute=2x"}).messages,
              HasSubstr("--what-if is for traces"));
}

// The ranks were measured on one host; one rank per host is asked for.
TEST_F(CommandLine, PredictBeginsWithTheLinksThatWereNotMeasured) {
  const auto ask = [&](const std::vector<std::string>& more) {
    std::vector<std::string> command = {"predict", database_, "--workers", "8", "--gpus-per-node", "1"};
    command.insert(command.end(), more.begin(), more.end());
    return run_ddpprof(command);
  };
  const Outcome usual = ask({}), named = ask({"--inter-node", "100Gbit/s"});
  EXPECT_THAT(usual.out, StartsWith("Predictions: links between nodes were not measured: the interval spans 25 Gbit/s "
                                    "Ethernet to 8 × 400 Gbit/s InfiniBand per node\n"));
  EXPECT_THAT(named.out, StartsWith("Predictions: links between nodes were not measured: the interval assumes "
                                    "100Gbit/s per node"));
  const auto width = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--format", "json"});
    const auto document = nlohmann::json::parse(ask(more).out);
    for (const auto& row : document["tables"][0]["rows"])
      if (row["strategy"] == "ddp") return row["step_high_s"].get<double>() / row["step_low_s"].get<double>();
    return 0.0;
  };
  EXPECT_LE(width({"--inter-node", "8xndr"}), width({})) << "this job's messages are small: the hops limit them";
  const Outcome wrong = ask({"--inter-node", "fast"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.messages, HasSubstr("'fast': expected for example 25Gbit/s"));
  EXPECT_THAT(run_ddpprof({"predict", database_, "--workers", "8"}).out, StartsWith("Predictions\n"));
}

TEST_F(CommandLine, PredictTakesWhatNcclTestsMeasured) {
  const std::string heading =
      "#  Rank  0 Group  0 Pid  1 on  node-a device  0 [0x10] NVIDIA A100\n"
      "#  Rank  1 Group  0 Pid  2 on  node-b device  0 [0x10] NVIDIA A100\n";
  const std::string times =
      "        1024           256     float     sum      -1    20.00    0.05    0.05      0\n"
      "     1048576        262144     float     sum      -1   120.00    8.74    8.74      0\n"
      "    16777216       4194304     float     sum      -1  1600.00   10.49   10.49      0\n";
  const std::string log = file("all_reduce.log", heading + times);
  const std::vector<std::string> command = {"predict", database_, "--workers", "8", "--format", "json"};
  const auto step_s = [&](std::vector<std::string> more) {
    more.insert(more.begin(), command.begin(), command.end());
    const Outcome outcome = run_ddpprof(more);
    EXPECT_EQ(outcome.code, 0) << outcome.messages;
    const auto document = nlohmann::json::parse(outcome.out);
    for (const auto& row : document["tables"][0]["rows"])
      if (row["strategy"] == "ddp") return row["step_s"].get<double>();
    return 0.0;
  };
  EXPECT_NE(step_s({"--all-reduce", log}), step_s({}));
  std::string gathered = heading + times;
  for (std::size_t at; (at = gathered.find(" sum ")) != std::string::npos;) gathered.replace(at, 5, "none ");
  EXPECT_THAT(
      run_ddpprof({"predict", database_, "--workers", "8", "--all-reduce", file("gather.log", gathered)}).messages,
      HasSubstr("gather.log: these are not all-reduces: the log's operation is \"none\""));
  const std::string scattered =
      heading +
      "     1048576        262144     float     sum      -1    60.00   17.48    8.74      0\n"
      "    16777216       4194304     float     sum      -1   800.00   20.97   10.49      0\n";
  EXPECT_THAT(
      run_ddpprof({"predict", database_, "--workers", "8", "--all-reduce", file("scatter.log", scattered)}).messages,
      HasSubstr("scatter.log: these are not all-reduces: busbw is not 2 (N-1)/N times algbw"));
  const Outcome nameless =
      run_ddpprof({"predict", database_, "--workers", "8", "--all-reduce", file("bare.log", times)});
  EXPECT_EQ(nameless.code, 5);
  EXPECT_THAT(nameless.messages, HasSubstr("the number of ranks is unknown"));
  const Outcome none =
      run_ddpprof({"predict", database_, "--workers", "8", "--all-reduce", file("no.log", "nothing\n")});
  EXPECT_EQ(none.code, 5);
  EXPECT_THAT(none.messages, HasSubstr("no.log: contains no line with a message size"));
  const std::string table = file("of.csv", "workers,nodes,batch_per_worker,step_time_s\n1,1,32,0.1\n2,2,32,0.2\n");
  EXPECT_THAT(run_ddpprof({"predict", table, "--workers", "4", "--all-reduce", log}).messages,
              HasSubstr("--all-reduce is for traces"));
}

// Two ranks with a batch of 16 each: 32,000 samples at a global batch of 32 are 1,000 steps.
TEST_F(CommandLine, LrHasTheTimeOfShardedTrainings) {
  const std::filesystem::path traces = std::filesystem::path(SHARDED_TRACES) / "mlp";
  const std::string fsdp = (folder_ / "fsdp_time.db").string();
  ASSERT_EQ(run_ddpprof({"import", (traces / "rank0.json.gz").string(), (traces / "rank1.json.gz").string(), "--out",
                         fsdp, "--batch-per-worker", "16", "--overwrite"})
                .code,
            0);
  const auto table = [](const std::vector<std::string>& command, const std::string& name) {
    const Outcome outcome = run_ddpprof(command);
    EXPECT_EQ(outcome.code, 0) << outcome.messages;
    const auto document = nlohmann::json::parse(outcome.out);
    for (const auto& one : document["tables"])
      if (one["name"] == name) return one;
    return nlohmann::json();
  };
  const double step_s =
      table({"predict", fsdp, "--workers", "2", "--format", "json"}, "predictions")["rows"].at(0)["step_s"];
  const std::vector<std::string> ask = {"lr",   fsdp,     "--workers", "2",                   "--base",
                                        "0.1",  "--format", "json",    "--samples-to-target", "32=32000"};
  const auto cost = table(ask, "target_cost")["rows"];
  ASSERT_EQ(cost.size(), 1U);
  EXPECT_EQ(cost[0]["strategy"], "fsdp");
  EXPECT_NEAR(cost[0]["time_s"].get<double>() / (1000.0 * step_s), 1.0, 0.05);
  std::vector<std::string> other = ask;
  other.insert(other.end(), {"--batch-per-worker", "32"});
  EXPECT_TRUE(table(other, "target_cost")["rows"].empty()) << "compute at another batch is not predicted";
}

// A recorded job of FSDP2 on two ranks of one host; the logs are of eight ranks on four hosts.
TEST_F(CommandLine, PredictTakesTheCollectivesOfShardedTrainings) {
  const std::filesystem::path traces = std::filesystem::path(SHARDED_TRACES) / "mlp";
  const std::string fsdp = (folder_ / "fsdp.db").string();
  ASSERT_EQ(run_ddpprof({"import", (traces / "rank0.json.gz").string(), (traces / "rank1.json.gz").string(), "--out",
                         fsdp, "--overwrite"})
                .code,
            0);
  std::string heading;
  for (int rank = 0; rank < 8; ++rank)
    heading += "#  Rank  " + std::to_string(rank) + " Group  0 Pid  1 on  node-" + std::to_string(rank / 2) +
               " device  " + std::to_string(rank % 2) + " [0x10] NVIDIA A100\n";
  const auto log = [&](const char* name, const char* operation) {
    return file(name, heading + "        8192           256     float     " + operation +
                          "      -1    20.00    0.41    0.36      0\n"
                          "     1048576         32768     float     " +
                          operation +
                          "      -1   120.00    8.74    7.65      0\n"
                          "    16777216        524288     float     " +
                          operation + "      -1  1600.00   10.49    9.18      0\n");
  };
  const std::string gathers = log("gather.log", "none"), scatters = log("scatter.log", "sum");
  const auto ask = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"predict", fsdp, "--workers", "8", "--sharing", "dedicated", "--gpus-per-node", "2"});
    return run_ddpprof(more);
  };
  EXPECT_THAT(ask({}).messages, HasSubstr("--all-gather and --reduce-scatter"));
  const Outcome predicted = ask({"--all-gather", gathers, "--reduce-scatter", scatters, "--format", "json"});
  ASSERT_EQ(predicted.code, 0) << predicted.messages;
  const auto document = nlohmann::json::parse(predicted.out);
  const auto& rows = document["tables"][0]["rows"];
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0]["workers"], 8);
  // 8 all-gathers and 4 reduce-scatters of 5 to 264 kB, which take 20 to 120 µs in the logs.
  EXPECT_GT(rows[0]["communication_s"], 12 * 15e-6);
  EXPECT_LT(rows[0]["communication_s"], 12 * 120e-6);
  EXPECT_THAT(ask({"--all-gather", gathers, "--reduce-scatter", scatters, "--global-batch", "64"}).messages,
              HasSubstr("--global-batch is for DDP and DataParallel"));
  const Outcome exchanged = ask({"--all-gather", scatters, "--reduce-scatter", scatters});
  EXPECT_EQ(exchanged.code, 5);
  EXPECT_THAT(exchanged.messages, HasSubstr("it is not all_gather_perf"));
  EXPECT_THAT(run_ddpprof({"predict", database_, "--all-gather", gathers}).messages,
              HasSubstr("are for sharded trainings (FSDP)"));
  const std::string table = file("of.csv", "workers,nodes,batch_per_worker,step_time_s\n1,1,32,0.1\n2,2,32,0.2\n");
  EXPECT_THAT(run_ddpprof({"predict", table, "--workers", "4", "--all-gather", gathers}).messages,
              HasSubstr("--all-gather and --reduce-scatter are for traces"));
}

TEST_F(CommandLine, PredictTakesATableOfStepTimes) {
  const std::string table = file("steps.csv",
                                 "workers,nodes,batch_per_worker,step_time_s\n"
                                 "1,1,32,0.100\n1,1,64,0.190\n2,2,32,0.130\n2,2,64,0.200\n3,3,32,0.140\n"
                                 "3,3,64,0.205\n4,4,32,0.145\n4,4,64,0.210\n4,4,64,0.208\n");
  const Outcome outcome = run_ddpprof({"predict", table, "--workers", "4,16", "--format", "json"});
  ASSERT_EQ(outcome.code, 0) << outcome.messages;
  const auto document = nlohmann::json::parse(outcome.out);
  const auto& rows = document["tables"][0]["rows"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1]["nodes"], 16);             // one device per node, as in the table
  EXPECT_EQ(rows[1]["batch_per_worker"], 64);  // the most frequent batch
  EXPECT_EQ(rows[1]["extrapolation"], 4.0);
  EXPECT_NEAR(rows[0]["step_s"].get<double>(), 0.209, 0.01);
  EXPECT_GT(rows[1]["step_s"], 0.19);
  EXPECT_LT(rows[1]["step_low_s"], rows[1]["step_high_s"]);
  EXPECT_EQ(rows[1]["accumulation"], 1);
  const auto twice = run_ddpprof({"predict", table, "--workers", "16", "--accumulation", "2", "--format", "json"});
  ASSERT_EQ(twice.code, 0) << twice.messages;
  const auto twice_row = nlohmann::json::parse(twice.out)["tables"][0]["rows"][0];
  // The second micro-batch does not communicate: it costs compute, with its skew and sharing.
  EXPECT_GT(twice_row["step_s"].get<double>() - rows[1]["step_s"].get<double>(),
            0.8 * rows[1]["compute_s"].get<double>());
  EXPECT_LT(twice_row["step_s"].get<double>(), 2.0 * rows[1]["step_s"].get<double>());
  EXPECT_THAT(run_ddpprof({"predict", database_, "--workers", "16", "--accumulation", "2"}).messages,
              HasSubstr("--accumulation is for tables of step times"));
  EXPECT_EQ(document["tables"][1]["name"], "knees");
  EXPECT_THAT(document["tables"][0]["note"].get<std::string>(), HasSubstr("A physical model, fitted to the batches"));
  const Outcome small = run_ddpprof({"predict", table, "--workers", "16", "--batch-per-worker", "32"});
  EXPECT_EQ(small.code, 0) << small.messages;
  // One batch: carried on as published tables. The batch per worker halves: the global batch of N = 4 is kept.
  const Outcome strong = run_ddpprof(
      {"predict",
       file("strong.csv", "workers,nodes,batch_per_worker,step_time_s\n1,1,64,0.074\n2,2,32,0.042\n4,4,16,0.026\n"),
       "--workers", "8", "--format", "json"});
  ASSERT_EQ(strong.code, 0) << strong.messages;
  const auto kept = nlohmann::json::parse(strong.out)["tables"][0];
  EXPECT_EQ(kept["rows"][0]["batch_per_worker"], 8);
  EXPECT_NEAR(kept["rows"][0]["step_s"].get<double>(), 0.018, 0.002);
  EXPECT_THAT(kept["note"].get<std::string>(), HasSubstr("the step grows as published tables do"));

  // The largest N of --workers is evaluated, and N whose batch was not measured are passed over.
  const Outcome accumulated = run_ddpprof(
      {"predict",
       file("accumulated.csv",
            "workers,nodes,batch_per_worker,step_time_s,accumulation\n8,1,8,4,64\n16,2,8,2.03,32\n32,4,8,1.05,16\n"
            "64,8,8,.55,8\n"),
       "--workers", "128,512", "--format", "json"});
  ASSERT_EQ(accumulated.code, 0) << accumulated.messages;
  const auto exposed = nlohmann::json::parse(accumulated.out)["tables"][1]["rows"];
  EXPECT_EQ(exposed[0]["workers"], 128);
  EXPECT_EQ(exposed[0]["largest_workers"], 512);
  const Outcome far = run_ddpprof(
      {"predict",
       file("far.csv", "workers,nodes,batch_per_worker,step_time_s\n1,1,64,.1\n8,1,64,.1\n16,2,64,.1\n"),
       "--workers", "1000", "--format", "json"});
  EXPECT_EQ(nlohmann::json::parse(far.out)["tables"][1]["rows"][0]["largest_workers"], 1000);

  const Outcome strategies = run_ddpprof(
      {"predict",
       file("strategies.csv",
            "workers,nodes,batch_per_worker,step_time_s,strategy\n1,1,8,0.1,ddp\n2,1,8,0.2,FSDP\n4,1,8,0.11,ddp\n"
            "4,1,8,0.22,FSDP\n4,1,8,0.3,hsdp\n"),
       "--workers", "8", "--format", "json"});
  ASSERT_EQ(strategies.code, 0) << strategies.messages;
  const auto of_both = nlohmann::json::parse(strategies.out);
  ASSERT_EQ(of_both["tables"][0]["rows"].size(), 2U);
  EXPECT_EQ(of_both["tables"][0]["rows"][1]["strategy"], "fsdp");
  EXPECT_GT(of_both["tables"][0]["rows"][1]["step_s"], 0.2);
  EXPECT_THAT(of_both["tables"][2].dump(), HasSubstr("hsdp is not predicted: all steps were measured at 4 workers"));

  const Outcome no_strategy = run_ddpprof({"predict",
                                           file("thin_strategies.csv",
                                                "workers,nodes,batch_per_worker,step_time_s,strategy\n4,1,8,0.1,fsdp\n"
                                                "8,1,8,0.1,hsdp\n"),
                                           "--workers", "8"});
  EXPECT_EQ(no_strategy.code, 5);
  EXPECT_THAT(no_strategy.messages, HasSubstr("fsdp is not predicted: all steps were measured at 4 workers"));
  EXPECT_THAT(no_strategy.messages, HasSubstr("hsdp is not predicted: all steps were measured at 8 workers"));

  EXPECT_THAT(run_ddpprof({"predict", table, "--workers", "4", "--sharing", "machine"}).messages,
              HasSubstr("a table of step times has no cores"));
  const Outcome batch = run_ddpprof({"predict", database_, "--workers", "4", "--batch-per-worker", "8"});
  EXPECT_EQ(batch.code, 2);
  EXPECT_THAT(batch.messages, HasSubstr("batch_per_worker=8"));
  EXPECT_THAT(batch.messages, Not(HasSubstr("one batch")));
  const Outcome wrong = run_ddpprof({"predict", file("wrong.csv", "workers,gpus\n"), "--workers", "4"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.messages, HasSubstr("wrong.csv:1: unknown column 'gpus'"));
  const Outcome thin = run_ddpprof(
      {"predict", file("thin.csv", "workers,nodes,batch_per_worker,step_time_s\n4,4,8,0.1\n"), "--workers", "64"});
  EXPECT_EQ(thin.code, 5);
  EXPECT_THAT(thin.messages, HasSubstr("all steps were measured at 4 workers"));
}

// Of two strategies, one keeps its global batch.
TEST_F(CommandLine, TablesNameTheEfficiencyThatTheyHave) {
  const auto header = [&](const std::string& name, const std::string& rows) {
    const Outcome outcome =
        run_ddpprof({"predict", file(name, "workers,nodes,batch_per_worker,step_time_s,strategy\n" + rows), "--workers",
                     "4,8", "--format", "markdown"});
    EXPECT_EQ(outcome.code, 0) << outcome.messages;
    return outcome.out;
  };
  const std::string weak = "1,1,8,0.1,fsdp\n2,1,8,0.102,fsdp\n4,1,8,0.11,fsdp\n";
  const std::string strong = "1,1,64,0.074,ddp\n2,1,32,0.042,ddp\n4,1,16,0.026,ddp\n";
  EXPECT_THAT(header("weak.csv", weak), HasSubstr("| weak efficiency"));
  EXPECT_THAT(header("strong_only.csv", strong), HasSubstr("| strong efficiency"));
  EXPECT_THAT(header("mixed.csv", weak + strong),
              AllOf(HasSubstr("| efficiency"), HasSubstr("64 samples, and the efficiency is the strong efficiency")));
}

TEST_F(CommandLine, WithoutMeasurementsPredictEndsWithFive) {
  const Outcome outcome = run_ddpprof({"predict", (folder_ / "empty.db").string(), "--workers", "8"});
  EXPECT_EQ(outcome.code, 5) << outcome.messages;
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.messages, StartsWith("ddpprof predict: "));
}

}  // namespace
}  // namespace ddpprof
