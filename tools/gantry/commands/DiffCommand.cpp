// gantry diff: two graphs or plans, and what changed between them in placement, copies, memory and
// prediction. Like diff(1), the exit status says whether anything did.
#include "Commands.h"
#include "Console.h"
#include "Model.h"
#include "Print.h"

#include "gantry/Show/PlanDiff.h"

namespace gantry::tool {

int diffCommand(const Options &options) {
  if (Status status = checkOutputs(options, {}); !status.ok())
    return report(status);
  auto before = Model::loadOfTwo(options, options.file, options.other);
  if (!before)
    return report(before.status());
  auto after = Model::loadOfTwo(options, options.other, options.file);
  if (!after)
    return report(after.status());
  const PlanDiff diff = diffPlans(before->plan(), after->plan());
  const std::string text =
      options.json ? diffAsJSON(diff) + "\n" : diffForPeople(diff, options.all, outputWidth());
  std::fwrite(text.data(), 1, text.size(), stdout);
  return diff.same() ? exitSuccess : exitUserError;
}

} // namespace gantry::tool
