#include "TracedRuns.h"

#include "gantry/Formats/Archive.h"

#include <algorithm>

namespace gantry::tool {

Status TracedRuns::runTraced() {
  const bool isVirtual = execution.plan().hasVirtualClock();
  TracedRun run;
  if (runs.empty())
    watch = Stopwatch();
  // The virtual clock begins with each run: they are drawn one behind the other.
  run.start = !isVirtual ? watch.seconds() : runs.empty() ? 0 : runs.back().end;
  auto events = execution.runTraced();
  if (!events)
    return events.status();
  run.events = events.take();
  run.end = run.start;
  for (const runtime::CommandEvent &event : run.events)
    run.end = std::max(run.end, run.start + event.end);
  if (!isVirtual)
    run.end = std::max(run.end, watch.seconds());
  runs.push_back(std::move(run));
  return {};
}

Status TracedRuns::write() const {
  if (file.empty())
    return {};
  const std::string text =
      traceAsJSON(execution.plan().metadata(), *execution.function().source, runs);
  const arrays::ByteSpan parts[] = {{reinterpret_cast<const uint8_t *>(text.data()), text.size()}};
  GANTRY_RETURN_IF_ERROR(arrays::writeFile(file, parts));
  if (file != "-")
    printNote("wrote '" + file + "'; open it in https://ui.perfetto.dev");
  return {};
}

} // namespace gantry::tool
