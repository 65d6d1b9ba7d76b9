// Process groups with their descriptions, and what calls report of peers, splits and waiting.
#include <gmock/gmock.h>

#include "tests/analysis/import/cases/made_trace.hpp"
#include "tests/analysis/import/load/imported.hpp"

namespace ddpprof::import {
namespace {

using testing::ElementsAre;

std::vector<std::string> rows(const std::string& text, const std::string& sql) {
  const Folder folder;
  const Imported imported = import_files(folder, {folder.write("trace.json", text)});
  EXPECT_EQ(imported.error, "");
  store::Database database = store::Database::open_read(folder.path() / "imported.db");
  SQLite::Statement query(database.sql(), sql);
  std::vector<std::string> found;
  while (query.executeStep()) {
    std::string row;
    for (int i = 0; i < query.getColumnCount(); ++i)
      row += (i > 0 ? "|" : "") + (query.getColumn(i).isNull() ? std::string("-") : query.getColumn(i).getString());
    found.push_back(row);
  }
  return found;
}

const std::string groups = "SELECT name, description, size, ranks FROM process_group ORDER BY ranks";

TEST(ProcessGroups, AreDescribedByTheirCalls) {
  MadeTrace made;
  made.group += R"(, "Process Group Description": "mesh_dp_shard")";
  EXPECT_THAT(rows(made.text(), groups), ElementsAre("0|mesh_dp_shard|2|[0,1]"));
}

TEST(ProcessGroups, AreDescribedByDistributedInfo) {
  MadeTrace made;
  made.distributed = R"("distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 4, "pg_config": [)"
                     R"({"pg_name": "0", "pg_desc": "default_pg", "pg_size": 4, "ranks": [0, 1, 2, 3]}, )"
                     R"({"pg_name": "7", "pg_desc": "mesh_tp", "pg_size": 2, "ranks": [0, 1]}]})";
  made.group = R"("Group size": 2, "Process Group Name": "7", "Process Group Ranks": "[0, 1]")";
  EXPECT_THAT(rows(made.text(), groups), ElementsAre("7|mesh_tp|2|[0,1]"));
  // Without ranks the name decides.
  made.group = R"("Group size": 2, "Process Group Name": "7")";
  EXPECT_THAT(rows(made.text(), groups), ElementsAre("7|mesh_tp|2|"));
}

TEST(ProcessGroups, RanksFollowFromStartAndStride) {
  MadeTrace made;
  made.group = R"("Group size": 2, "Process Group Name": "3", "Global rank start": 1, "Global rank stride": 2)";
  made.distributed = R"("distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 4})";
  EXPECT_THAT(rows(made.text(), groups), ElementsAre("3||2|[1,3]"));
}

TEST(ProcessGroups, OfOneNameAndOtherCommunicatorsAreApart) {
  MadeTrace made;
  made.steps = 2;
  made.group = R"("Group size": 2, "Comms Id": "17")";
  TraceText trace = made.trace();
  std::string& last = *std::find_if(trace.events.rbegin(), trace.events.rend(), [](const std::string& event) {
    return event.find("record_param_comms") != std::string::npos;
  });
  last = replaced(last, R"("17")", R"("18")");
  EXPECT_THAT(rows(trace.text(), "SELECT COUNT(DISTINCT communicator) FROM collective"), ElementsAre("2"));
}

TEST(ProcessGroups, CallsReportSplitsAndWaiting) {
  MadeTrace made;
  made.group += R"(, "In split size": "[1, 1, 6]", "Out split size": "[]", "Is asynchronized op": false)";
  EXPECT_THAT(rows(made.text(), "SELECT DISTINCT peer, asynchronous, largest_split FROM collective"),
              ElementsAre("-|0|2.25"));
  made.group = R"("Group size": 2, "Is asynchronized op": 1, "In split size": [4, 4])";
  EXPECT_THAT(rows(made.text(), "SELECT DISTINCT peer, asynchronous, largest_split FROM collective"),
              ElementsAre("-|1|-"));
}

TEST(ProcessGroups, SendsAndReceivesHaveAPeer) {
  for (const auto& [name, key, expected] :
       {std::tuple{"send", "Dst Rank", "1|send"}, {"recv", "Src Rank", "3|receive"}}) {
    MadeTrace made;
    made.kernel = "ncclDevKernel_SendRecv";
    made.kernel_arguments = std::string(R"("Collective name": ")") + name + R"(", "Src Rank": 3, "Dst Rank": 1)";
    made.calls = false;
    EXPECT_THAT(rows(made.text(), "SELECT DISTINCT peer || '|' || op FROM collective"), ElementsAre(expected)) << key;
  }
}

}  // namespace
}  // namespace ddpprof::import
