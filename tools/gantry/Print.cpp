#include "Print.h"

#include "Console.h"

#include "gantry/Support/Environment.h"

#include <algorithm>
#include <charconv>
#include <sys/ioctl.h>
#include <unistd.h>

namespace gantry::tool {

size_t outputWidth() {
  constexpr size_t least = 40;
  size_t width = 0;
  const std::string columns = environment("COLUMNS");
  std::from_chars(columns.data(), columns.data() + columns.size(), width);
  winsize size = {};
  if (width == 0 && ::isatty(STDOUT_FILENO) == 1 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
    width = size.ws_col;
  return width == 0 ? defaultWidth : std::max(width, least);
}

std::string linesOf(const Table &table) { return table.text(Long::wrap, outputWidth()); }

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
