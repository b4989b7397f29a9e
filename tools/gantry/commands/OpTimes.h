// Where the time of a function's runs goes, command by command: what `bench --ops` shows.
#pragma once

#include "gantry/Plan/Plan_generated.h"
#include "gantry/Show/CommandNames.h"
#include "gantry/Support/JSONWriter.h"

#include <string>
#include <vector>

namespace gantry::tool {

/// What a device can do at best: what times are held against.
struct Roof {
  double flops = 0;     ///< f32 operations a second
  double bandwidth = 0; ///< of its memory, bytes a second
  std::string origin;   ///< where both are from: "measured now", "the plan's topology", …

  /// The least seconds for that much work.
  double seconds(uint64_t operations, uint64_t bytes) const;
};

/// A launch, copy or fill in one run, its passes of a loop together.
struct CommandCost {
  const plan::fb::Command *command = nullptr;
  uint64_t calls = 0;
  double seconds = 0;   ///< median over the runs
  double least = 0;     ///< seconds of the fastest run: what a busy machine tells best
  double predicted = 0; ///< seconds, by the plan's own clock
  uint64_t flops = 0;   ///< as the plan counts them
  uint64_t bytes = 0;   ///< that it reads and writes, or copies
};

struct OpTimes {
  const plan::fb::Plan *plan = nullptr;
  show::CommandNames names;
  const plan::fb::Function *function = nullptr;
  std::vector<Roof> roofs = {};           ///< by device of the plan
  std::vector<CommandCost> commands = {}; ///< the longest first
  size_t runs = 0;                        ///< in which they were timed
  bool isVirtual = false;                 ///< times are those of the simulator's clock
};

/// Tables by kind of op and by command, the longest first. Commands that hardly count are one line,
/// unless `all` asks for them.
std::string opTimesText(const OpTimes &times, bool all);

/// Members "rooflines", "ops" and "commands" of an object.
void addOpTimes(JSONWriter &json, const OpTimes &times);

/// What a command computes, of a launch in the names of the log: "Conv2D+AddV2+Relu", "copy".
std::string kindOf(const plan::fb::Command &command);
/// The kernel's symbol; "copy", "fill" or "check" for those.
std::string kernelOf(const plan::fb::Plan &plan, const plan::fb::Command &command);

} // namespace gantry::tool
