// Plan files: any bytes are refused or give a plan that may be used, and told of, without a further
// check. The checksums are computed again first, or the fuzzer would never get past them.
#include "SamplePlan.h"

#include "gantry/Show/PlacementLog.h"
#include "gantry/Show/PlanDiff.h"
#include "gantry/Show/Report.h"

using namespace gantry;
using namespace gantry::plan;

static void tellEverything(const PlanFile &file) {
  const fb::Plan &plan = file.plan();
  for (const bool isPage : {true, false}) {
    show::Question question;
    question.all = question.memory = question.timeline = !isPage;
    const show::Subject subject(plan, file.bytes().size(), question);
    show::explainForPeople(subject);
    show::explainAsJson(subject);
    const show::Reported reported{subject, {}};
    show::reportPage({&reported, 1});
  }
  for (const fb::Function *function : *plan.functions())
    show::placementLog(plan, *function, show::Form::people);
  show::diffForPeople(show::diffPlans(plan, plan), true, show::defaultWidth);
  show::memorySummary(plan);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<uint8_t> bytes(data, data + size);
  if (size >= sizeof(FileHeader)) {
    std::memcpy(bytes.data() + offsetof(FileHeader, fileSize), &size, sizeof size);
    test::reseal(bytes);
  }
  if (Expected<PlanFile> file = PlanFile::copyOf(bytes)) {
    test::useEverything(*file);
    tellEverything(*file);
  }
  return 0;
}
