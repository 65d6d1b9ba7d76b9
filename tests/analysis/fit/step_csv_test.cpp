// Tables of step times as users write them, and the errors for other files.
#include "analysis/fit/table/step_csv.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace ddpprof::fit {
namespace {

using testing::HasSubstr;

class StepCsv : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return path_;
  }
  std::string refusal(const std::string& text) {
    try {
      read_step_csv(write(text));
    } catch (const CsvError& error) {
      return error.what();
    }
    return "";
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("ddpprof_steps_" + std::to_string(getpid()) + ".csv");
};

TEST_F(StepCsv, ColumnsInAnyOrderAndLinesAsAnyProgramEndsThem) {
  const auto rows =
      read_step_csv(write("\xef\xbb\xbfstep_time_s,workers,\"nodes\",batch_per_worker,sync_time_s,devices_per_node\r\n"
                          "0.25,1,1,32,0,1\r\n"
                          "\r\n"
                          "2.75e-1, 6 ,2,\"32\",0.02,4\n"
                          "0.5,8,2,64,0.1,4"));
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].workers, 1);
  EXPECT_EQ(rows[1].step_s, 0.275);
  EXPECT_EQ(rows[1].workers, 6);
  EXPECT_EQ(rows[1].devices(), 4);
  EXPECT_EQ(rows[1].sync_s, 0.02);
  EXPECT_EQ(rows[2].batch_per_worker, 64);
}

TEST_F(StepCsv, AccumulationIsOneWithoutItsColumn) {
  const auto rows = read_step_csv(write("workers,nodes,accumulation,batch_per_worker,step_time_s\n7,2,4,8,0.1\n"));
  EXPECT_EQ(rows.at(0).accumulation, 4);
  EXPECT_EQ(read_step_csv(write("workers,nodes,batch_per_worker,step_time_s\n7,2,8,0.1\n")).at(0).accumulation, 1);
  EXPECT_THAT(refusal("workers,nodes,accumulation,batch_per_worker,step_time_s\n7,2,0,8,0.1\n"),
              HasSubstr(":2: accumulation is '0'; expected a whole number from 1"));
}

TEST_F(StepCsv, AStrategyHasTheSpellingOfItsProgram) {
  const auto rows = read_step_csv(
      write("workers,nodes,strategy,batch_per_worker,step_time_s\n1,1,ddp,8,0.1\n2,1,FSDP2,8,0.1\n4,1,ZeRO-3,8,0.1\n"));
  EXPECT_EQ(rows.at(0).strategy, "ddp");
  EXPECT_EQ(rows.at(1).strategy, "fsdp");
  EXPECT_EQ(rows.at(2).strategy, "zero3");
  EXPECT_EQ(read_step_csv(write("workers,nodes,batch_per_worker,step_time_s\n7,2,8,0.1\n")).at(0).strategy, "ddp");
  EXPECT_THAT(refusal("workers,nodes,strategy,batch_per_worker,step_time_s\n7,2,horovod,8,0.1\n"),
              HasSubstr(":2: strategy is 'horovod'; expected ddp, fsdp, hsdp, zero1, zero2 or zero3"));
}

TEST_F(StepCsv, DevicesANodeAreRoundedUpWithoutTheirColumn) {
  const auto rows = read_step_csv(write("workers,nodes,batch_per_worker,step_time_s\n7,2,8,0.1\n"));
  EXPECT_EQ(rows.at(0).devices(), 4);
}

// Habits of spreadsheets and programs: comments, names with capitals, whole numbers with a point, empty columns and
// lines at the end, unknown optional values.
TEST_F(StepCsv, ExportsOfOtherProgramsAreRead) {
  const auto rows = read_step_csv(
      write("# ResNet-50, A100\nWorkers,Nodes,Batch_per_worker,Step_time_s,sync_time_s,strategy,,\n"
            "1.0,1.0,32.0,0.1,,,,\n# two nodes, full\n16,2.00,32,0.12,0.01,FULL_SHARD,,\n,,,,,,,\n"));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].batch_per_worker, 32);
  EXPECT_LT(rows[0].sync_s, 0.0);
  EXPECT_EQ(rows[0].strategy, "ddp");
  EXPECT_EQ(rows[1].nodes, 2);
  EXPECT_EQ(rows[1].sync_s, 0.01);
  EXPECT_EQ(rows[1].strategy, "fsdp");
  const std::string head = "workers,nodes,batch_per_worker,step_time_s\n";
  EXPECT_THAT(refusal(head + "1.5,1,8,0.1\n"), HasSubstr("workers is '1.5'; expected a whole number"));
  EXPECT_THAT(refusal(head + "1,1,8,0,1\n"), HasSubstr(":2: 5 cells; expected 4"));
  EXPECT_THAT(refusal(head + "1,1,8,0,1\n"), HasSubstr("numbers need a point"));
  EXPECT_THAT(refusal(head + "1,1,8,\"0,1\"\n"), HasSubstr("with a point: 0.35"));
  EXPECT_THAT(refusal(head + "\"1,024\",1,8,0.1\n"),
              testing::AllOf(HasSubstr("without separators: 1024"), testing::Not(HasSubstr("point"))));
  EXPECT_THAT(refusal(head + "16,1,0.125,0.1\n"), HasSubstr("give the batch in tokens"));
  EXPECT_EQ(read_step_csv(write("sep=,\n" + head + "1,1,8,\xc2\xa0" "0.12\n")).at(0).step_s, 0.12);
  EXPECT_THAT(refusal("\xff\xfew"), HasSubstr("is UTF-16"));
}

TEST_F(StepCsv, AUsualColumnIsConvertedByTheMessage) {
  EXPECT_THAT(refusal("gpus,nodes\n"), HasSubstr("call the number of ranks workers"));
  EXPECT_THAT(refusal("workers,images_per_sec\n"), HasSubstr("step_time_s = workers × batch_per_worker"));
  EXPECT_THAT(refusal("workers,step_time_ms\n"), HasSubstr("milliseconds / 1000"));
  EXPECT_THAT(refusal("workers,seconds_per_step\n"), HasSubstr("seconds per step are step_time_s"));
  EXPECT_THAT(refusal("workers,steps_per_s\n"), HasSubstr("step_time_s = 1 / it"));
  EXPECT_THAT(refusal("workers,samples/s/gpu\n"), HasSubstr("one rank: step_time_s = batch_per_worker"));
  EXPECT_THAT(refusal("workers,tokens_per_s\n"), HasSubstr("with batch_per_worker in tokens"));
  EXPECT_THAT(refusal(",workers,nodes\n"), HasSubstr("index=False"));
  EXPECT_THAT(refusal("# workers,nodes\n1,1\n"), HasSubstr("without a # before them"));
}

TEST_F(StepCsv, EveryErrorNamesItsLine) {
  const std::string head = "workers,nodes,batch_per_worker,step_time_s\n";
  EXPECT_THAT(refusal(""), HasSubstr("is empty; expected a first line with workers, nodes"));
  EXPECT_THAT(refusal("workers,nodes,batch_per_worker\n"), HasSubstr(":1: column 'step_time_s' is missing"));
  EXPECT_THAT(refusal("workers,workers,nodes\n"), HasSubstr(":1: column 'workers' is there twice"));
  EXPECT_THAT(refusal("workers,gpus\n"), HasSubstr(":1: unknown column 'gpus'; expected workers, nodes"));
  EXPECT_THAT(refusal(head + "1,1,8,0.1\n\n2,1,8\n"), HasSubstr(":4: 3 cells; expected 4"));
  EXPECT_THAT(refusal(head + "1,1,8,0.1\ntwo,1,8,0.1\n"),
              HasSubstr(":3: workers is 'two'; expected a whole number from 1"));
  EXPECT_THAT(refusal(head + "1,1,8,0.1s\n"), HasSubstr(":2: step_time_s is '0.1s'; expected seconds"));
  EXPECT_THAT(refusal(head + "1,1,8,nan\n"), HasSubstr("step_time_s is 'nan'"));
  EXPECT_THAT(refusal("workers,nodes,batch_per_worker,step_time_s,sync_time_s\n2,1,8,0.1,0.1\n"),
              HasSubstr(":2: sync_time_s is not below step_time_s"));
  EXPECT_THAT(refusal(head + "1,1,8,-1\n"), HasSubstr("step_time_s is '-1'"));
  EXPECT_THAT(refusal(head + "2,3,8,0.1\n"), HasSubstr("nodes is '3'; expected a whole number from 1 to 2"));
  EXPECT_THAT(refusal(head + "99999999999999999999,1,8,0.1\n"), HasSubstr("workers is '99999999999999999999'"));
  EXPECT_THAT(refusal(head + "1,1,8,\"0.1\n"), HasSubstr("is not a comma-separated table"));
  std::string many = head;
  for (int i = 0; i < 20001; ++i) many += "1,1,8,0.1\n";
  EXPECT_THAT(refusal(many), HasSubstr(":20002: more than 20000 rows"));
  EXPECT_THAT(refusal(std::string(17 << 20, 'x')), HasSubstr("is larger than 16 MiB"));
  try {
    read_step_csv("/no/such/file.csv");
    FAIL();
  } catch (const CsvError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/no/such/file.csv: cannot be read"));
  }
}

TEST_F(StepCsv, AnotherSeparatorIsNamed) {
  const std::pair<const char*, const char*> tables[] = {
      {"workers;nodes;batch_per_worker;step_time_s\n1;1;8;0,35\n", "semicolons"},
      {"\"workers\";\"nodes\";\"batch_per_worker\";\"step_time_s\"\r\n", "semicolons"},
      {"\xef\xbb\xbfWorkers;Nodes;Batch;Time\n", "semicolons"},
      {"sep=;\nworkers;nodes;batch_per_worker;step_time_s\n", "semicolons"},
      {"workers\tnodes\tbatch_per_worker\tstep_time_s\n1\t1\t8\t0.35\n", "tabs"},
      {"workers|nodes|batch_per_worker|step_time_s\n", "vertical bars"},
      {"workers nodes batch_per_worker step_time_s\n", "blanks"}};
  for (const auto& [text, name] : tables)
    EXPECT_THAT(refusal(text), HasSubstr(std::string(":1: the columns are separated by ") + name)) << text;
  EXPECT_THAT(refusal("a;b\n"), HasSubstr("unknown column 'a;b'"));
}

TEST_F(StepCsv, IsDistinguishedFromADatabase) {
  EXPECT_TRUE(looks_like_csv(write("workers,nodes\n")));
  EXPECT_FALSE(looks_like_csv(write(std::string("SQLite format 3\0,,,", 19))));
  EXPECT_TRUE(looks_like_csv(write("")));  // by its name
  EXPECT_FALSE(looks_like_csv(std::filesystem::temp_directory_path()));
  EXPECT_FALSE(looks_like_csv("/no/such/file.csv"));
}

}  // namespace
}  // namespace ddpprof::fit
