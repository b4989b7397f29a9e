// What is told of a job whose tasks exchange bytes.
#include "SampleJob.h"

#include "gantry/Show/Explain.h"
#include "gantry/Show/PlacementLog.h"

#include "gtest/gtest.h"

using namespace gantry;
using namespace gantry::plan::test;

namespace {

TEST(Job, TellsWhoSendsWhat) {
  Expected<plan::PlanFile> file = plan::PlanFile::copyOf(makeJob().bytes());
  ASSERT_TRUE(file.ok()) << file.status().message();
  const plan::fb::Function &function = *file->plan().functions()->Get(0);
  const std::string page =
      show::explainForPeople(show::Subject(file->plan(), file->bytes().size(), {}));
  EXPECT_NE(page.find("3 tasks /job:worker/task:{0..2} on one host"), std::string::npos) << page;
  EXPECT_NE(page.find("order proven: 3 exchanges in 1 group, 2 messages"), std::string::npos)
      << page;
  // Task 0 sends 64, 128, 40, 80 bytes and the loop's condition; it receives 32 and 24.
  EXPECT_NE(page.find("313 bytes   56 bytes          5"), std::string::npos) << page;
  EXPECT_NE(page.find("128 bytes  201 bytes          5"), std::string::npos) << page;
  EXPECT_NE(page.find("24 bytes  208 bytes          3"), std::string::npos) << page;
  EXPECT_NE(page.find("every run            net   all_gather of 3"), std::string::npos) << page;
  const std::string log = show::placementLog(file->plan(), function, show::Form::people);
  EXPECT_NE(log.find("Copying 64 bytes from /job:worker/replica:0/task:0/device:CPU:0 to "
                     "/job:worker/replica:0/task:1/device:CPU:0\n"),
            std::string::npos)
      << log;
  EXPECT_NE(log.find("Copying 96 bytes by all_gather of 3 to "
                     "/job:worker/replica:0/task:2/device:CPU:0\n"),
            std::string::npos)
      << log;
  EXPECT_NE(log.find("9 copies per run, 464 bytes (net 9)"), std::string::npos) << log;
}

} // namespace
