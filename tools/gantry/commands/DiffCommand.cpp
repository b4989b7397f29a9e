// gantry diff: two graphs or plans, and what changed between them in placement, copies, memory and
// prediction. Like diff(1), the exit status says whether anything did.
#include "Commands.h"
#include "Console.h"
#include "Model.h"
#include "Print.h"

#include "gantry/Show/PlanDiff.h"

namespace gantry::tool {

namespace {

/// Flags are for graphs; a plan beside one does not mind them.
Expected<Model> loadOne(const Options &options, const std::string &file, const std::string &other) {
  Options one = options;
  one.file = file;
  if (isPlanFile(file) && !isPlanFile(other))
    one.compileFlags.clear();
  return Model::load(one, Purpose::tell);
}

} // namespace

int diffCommand(const Options &options) {
  if (options.file == "-" && options.other == "-")
    return report(Status::invalidArgument("only one of the two can be standard input"));
  if (Status status = checkOutputs(options, {}); !status.ok())
    return report(status);
  auto before = loadOne(options, options.file, options.other);
  if (!before)
    return report(before.status());
  auto after = loadOne(options, options.other, options.file);
  if (!after)
    return report(after.status());
  const PlanDiff diff = diffPlans(before->plan(), after->plan());
  const std::string text =
      options.json ? diffAsJSON(diff) + "\n" : diffForPeople(diff, options.all, outputWidth());
  std::fwrite(text.data(), 1, text.size(), stdout);
  return diff.same() ? exitSuccess : exitUserError;
}

} // namespace gantry::tool
