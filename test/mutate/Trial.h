// What a user may do with a plan: open it, have it told of, and run its functions.
#pragma once

#include "gantry-c/compiler.h"
#include "gantry/Support/AlignedBuffer.h"
#include "gantry/Support/Cancel.h"

#include <atomic>
#include <cstdint>
#include <string>

namespace gantry::runtime::test {

/// Where a trial is, or ended.
enum class Stage : uint8_t { open, tell, load, session, bind, run, done };
inline constexpr const char *stageNames[] = {"open", "tell", "load", "session",
                                             "bind", "run",  "done"};

struct Outcome {
  Stage stage = Stage::open; ///< where it ended; done: everything was done
  std::string message;       ///< why, unless it is done
};

/// The compiler's reader of plans, of a library that was opened; null: it is not asked.
struct TextReader {
  decltype(&gantry_plan_to_text) read = nullptr;
  decltype(&gantry_artifact_destroy) destroy = nullptr;
};

/// How a plan is tried.
struct TrialOptions {
  bool emulate = false;  ///< GPUs are emulated
  bool tellsAll = false; ///< pages and differences as well
  uint64_t seed = 0;     ///< of the bytes of inputs
  TextReader reader;     ///< asked when all is told
};

/// Takes the bytes of a plan file. `stage` tells somebody else where it is; runs end when `cancel`
/// is set.
Outcome tryPlan(const AlignedBuffer &bytes, const TrialOptions &options, const Cancel &cancel,
                std::atomic<Stage> &stage);

} // namespace gantry::runtime::test
