// ddpprof compare --fail-if: exit codes of two databases with chosen times, so that ratios and intervals are known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/subcommand.hpp"
#include "tests/analysis/report/two_files.hpp"

namespace ddpprof {
namespace {

using nlohmann::json;
using test::Times;
using testing::HasSubstr;

struct Answer {
  int code = -1;
  std::string out, messages;
};

class CompareLimits : public test::TwoFiles {
 protected:
  Answer run(const std::vector<std::string>& limits, const std::string& format = "json") {
    a_.reset();
    b_.reset();
    std::vector<std::string> words = {"compare", a_path_.string(), b_path_.string(), "--format", format};
    for (const std::string& limit : limits) words.insert(words.end(), {"--fail-if", limit});
    std::ostringstream out, messages;
    cli::Context context{.out = out, .messages = messages};
    const int code = cli::run_command_line(words, context);
    return {code, out.str(), messages.str()};
  }

  void measure(const Times& a, const Times& b) {
    add(*a_, test::train("ddp", 2), a);
    add(*b_, test::train("ddp", 2), b);
  }

  static std::vector<std::string> results(const Answer& answer) {
    std::vector<std::string> all;
    for (const json& row : rows(json::parse(answer.out), "compare_limits")) all.push_back(row["result"]);
    return all;
  }
};

// 110 against 100 ms in three repeats without any spread: the interval is the point 1.1.
TEST_F(CompareLimits, AStepThatIsTenPercentLongerExceedsFiveAndNotTwenty) {
  measure({.repeats = 3}, {.step_ms = 110, .repeats = 3});
  const Answer exceeded = run({"step>20%", "step>5%", "throughput<-5%"});
  EXPECT_EQ(exceeded.code, 1) << exceeded.messages;
  EXPECT_EQ(results(exceeded), (std::vector<std::string>{"not exceeded", "exceeded", "exceeded"}));
  const json row = rows(json::parse(exceeded.out), "compare_limits")[1];
  EXPECT_DOUBLE_EQ(row["ratio"], 1.1);
  EXPECT_EQ(row["workers"], 2);
  EXPECT_EQ(run({"step>20%", "throughput<-20%"}).code, 0);
  EXPECT_EQ(run({}).code, 0);
}

TEST_F(CompareLimits, AFasterStepExceedsNoLimitOfTheOtherDirection) {
  measure({.repeats = 3}, {.step_ms = 80, .repeats = 3});
  EXPECT_EQ(run({"step>3%", "throughput<-3%"}).code, 0);
  EXPECT_EQ(run({"step<-10%"}).code, 1);
}

TEST_F(CompareLimits, AnIntervalThatIncludesTheLimitCannotTell) {
  // Repeats of 100, 110 and 120 ms against 108, 118 and 128 ms.
  measure({.repeats = 3, .spread_us = 10'000}, {.step_ms = 108, .repeats = 3, .spread_us = 10'000});
  const Answer answer = run({"step>3%"});
  EXPECT_EQ(answer.code, 0) << answer.messages;
  EXPECT_EQ(results(answer), std::vector<std::string>{"cannot tell"});
}

// Equal steps of N = 4 and N = 2: the throughput is halved.
TEST_F(CompareLimits, AHalvedThroughputOfEqualStepsExceedsTheLimit) {
  add(*a_, test::train("ddp", 4), {.repeats = 3});
  add(*b_, test::train("ddp", 2), {.repeats = 3});
  const Answer answer = run({"throughput<-20%", "step>3%"});
  EXPECT_EQ(answer.code, 1) << answer.messages;
  EXPECT_EQ(results(answer), (std::vector<std::string>{"exceeded", "not exceeded"}));
}

// With one repeat two runs of the same may differ by 10 %.
TEST_F(CompareLimits, OneRepeatCannotTellFivePercent) {
  measure({}, {.step_ms = 105});
  const Answer five = run({"step>3%"});
  EXPECT_EQ(five.code, 0) << five.messages;
  EXPECT_EQ(results(five), std::vector<std::string>{"cannot tell"});
}

TEST_F(CompareLimits, EachConfigurationIsJudged) {
  measure({.repeats = 3}, {.repeats = 3});
  add(*a_, test::train("ddp", 4), {.repeats = 3});
  add(*b_, test::train("ddp", 4), {.step_ms = 150, .repeats = 3});
  const Answer answer = run({"step>3%"});
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(results(answer), testing::UnorderedElementsAre("exceeded", "not exceeded"));
  EXPECT_THAT(run({"step>3%"}, "markdown").out, HasSubstr("| step>3% | exceeded "));
}

TEST_F(CompareLimits, APartThatTheJobDoesNotHaveCannotTell) {
  measure({.repeats = 3}, {.repeats = 3});
  const Answer answer = run({"host>3%", "copies>3%"});
  EXPECT_EQ(answer.code, 0) << answer.messages;
  EXPECT_EQ(results(answer), std::vector<std::string>(2, "cannot tell"));
  EXPECT_TRUE(rows(json::parse(answer.out), "compare_limits")[0]["ratio"].is_null());
}

TEST_F(CompareLimits, WhatIsNoLimitIsRefused) {
  measure({.repeats = 3}, {.repeats = 3});
  for (const char* wrong : {"step", "step>", "step>3", ">3%", "step>%", "step>x%", "step>nan%", "step=3%", "step>-3%",
                            "throughput<3%", "step<-100%", ""}) {
    const Answer answer = run({wrong});
    EXPECT_EQ(answer.code, 2) << wrong;
    EXPECT_THAT(answer.messages, HasSubstr("--fail-if")) << wrong;
  }
  const Answer unknown = run({"memory>3%"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.messages, HasSubstr("no part 'memory' (expected one of "));
}

}  // namespace
}  // namespace ddpprof
