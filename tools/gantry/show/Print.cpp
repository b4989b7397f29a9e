#include "Print.h"

#include "Console.h"

namespace gantry::tool {

void printRemarks(const plan::fb::Plan &plan) {
  for (const auto *remark : listOf(plan.remarks()))
    printRemark(textOf(remark));
}

void printPlacementLog(const plan::fb::Plan &plan, const std::string &name, PlacementLog style) {
  if (style == PlacementLog::off)
    return;
  const auto functions = listOf(plan.functions());
  for (const auto *function : functions) {
    if (!name.empty() && textOf(function->name()) != name)
      continue;
    if (name.empty() && functions.size() > 1 && style == PlacementLog::text)
      std::fprintf(stderr, "function %s:\n", function->name()->c_str());
    const Form form = style == PlacementLog::json ? Form::programs : Form::people;
    std::fputs(placementLog(plan, *function, form).c_str(), stderr);
  }
}

} // namespace gantry::tool
