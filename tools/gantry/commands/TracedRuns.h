// Runs that may leave a trace: what `run --trace` writes.
#pragma once

#include "Console.h"
#include "Execution.h"
#include "Trace.h"

namespace gantry::tool {

class TracedRuns {
public:
  /// Without a file the runs are ordinary ones. The execution must outlive this.
  TracedRuns(Execution &execution, std::string file)
      : execution(execution), file(std::move(file)) {}

  Status run() { return file.empty() ? execution.run() : runTraced(); }

  /// Writes the file, if there is to be one; "-" is standard output.
  Status write() const;

private:
  Status runTraced();

  Execution &execution;
  const std::string file;
  Stopwatch watch; ///< since the first run began
  std::vector<TracedRun> runs;
};

} // namespace gantry::tool
