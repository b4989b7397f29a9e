// The placement log (spec P9): where every op runs and what is copied, read from a plan.
//
// Lines stand in the order in which a run does things: copies at load first, then each op as the
// kernel that contains it is launched, with the copies of a run in between, where they are started.
#pragma once

#include "gantry/Plan/Ledger.h"

#include <string>

namespace gantry::show {

/// What a text is for.
enum class Form { people, programs };

/// A line of the log: an op or a copy.
struct LogEntry {
  const plan::fb::PlacedOp *op = nullptr;
  const plan::LedgerCopy *copy = nullptr;
  const plan::fb::Command *launch = nullptr; ///< of the op; null when nothing launches it
};

/// Ops and copies of a function in the order above. Points into `ledger`, which is the function's.
std::vector<LogEntry> executionOrder(const plan::fb::Plan &plan, const plan::fb::Function &function,
                                     const plan::Ledger &ledger);

/// Lines with newlines, the summary last; for programs a JSON object a line, without a summary.
std::string placementLog(const plan::fb::Plan &plan, const plan::fb::Function &function, Form form);

/// The copies alone, in the same lines.
std::string copyLog(const plan::fb::Plan &plan, const plan::fb::Function &function, Form form);

/// `placed 412 ops: GPU:0 201, CPU:0 3; 0 fall-backs; 2 copies per run, 1.5 MiB (h2d 1, d2d 1); 1
/// at load`, without a newline.
std::string placementSummary(const plan::fb::Plan &plan, const plan::fb::Function &function,
                             const plan::Ledger &ledger);

/// ` (h2d 1, d2d 1)` of the kinds that are there; nothing of none.
std::string copiesPerKind(const plan::CopyTally &tally);

/// "all_gather of 4", of what a member gets of a collective.
std::string collectiveOf(const plan::fb::Plan &plan, const plan::LedgerCopy &copy);

/// " in 2 transfers" where some copies go together, else nothing (spec X5).
std::string inTransfers(const plan::CopyCount &count);

} // namespace gantry::show
