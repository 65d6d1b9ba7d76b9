// Files that cannot be imported: the message states what the file is and what to do.
#include "analysis/import/files/input_files.hpp"

#include <gmock/gmock.h>

#include "tests/analysis/import/load/imported.hpp"

namespace ddpprof::import {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// The form of Docker's logging driver json-file (docs.docker.com, "JSON File logging driver").
TEST(InputFiles, ADockerLogIsNamed) {
  const Folder folder;
  const std::string log =
      folder.write("run.log",
                   "{\"log\":\"# nThread 1 nGpus 1 minBytes 8 maxBytes 1024\\n\",\"stream\":\"stdout\"}\n"
                   "{\"log\":\"        1024           256     float     sum      -1    20.0    0.05    0.09      0\\n\","
                   "\"stream\":\"stdout\"}\n");
  try {
    sort_inputs({log});
    FAIL() << "the log is accepted";
  } catch (const UnusableInput& unusable) {
    EXPECT_THAT(unusable.text(),
                AllOf(HasSubstr("container's log as Docker stores it"), HasSubstr("docker logs CONTAINER > run.log")));
  }
}

}  // namespace
}  // namespace ddpprof::import
