// The parts of an explanation for people.
#pragma once

#include "gantry/Device/Task.h"
#include "gantry/Plan/Ledger.h"
#include "gantry/Show/Explain.h"

#include <map>

namespace gantry::show {

/// The first page about a function: what runs where and why, what takes time, what is copied, what
/// memory it takes. Rows that say the same are one; `rows` of a table at most.
void printPage(Page &page, const Subject &subject, const plan::fb::Function &function, size_t rows);

/// Of a job: its tasks, hosts and network, and what each task sends and receives. Of a plan of one
/// task nothing.
void printTasks(Page &page, const Subject &subject, const plan::fb::Function &function,
                const plan::Ledger &ledger);

/// What leaves and enters a task in a run, and what its devices hold.
struct TaskTraffic {
  uint64_t copies = 0, sent = 0, received = 0;
  uint64_t memory = 0;
};
std::map<TaskName, TaskTraffic>
trafficOf(const Subject &subject, const plan::fb::Function &function, const plan::Ledger &ledger);

/// Every op, copy and kernel, or those of Question.op, a row each.
void printDetails(Page &page, const Subject &subject, const plan::fb::Function &function);

/// Arenas, peaks and the largest values at them; with Question.all every value that has a place.
void printMemory(Page &page, const Subject &subject, const plan::fb::Function &function);

/// Bytes of inputs and outputs that are on a device.
uint64_t boundBytes(const plan::fb::Function &function, uint32_t device);

/// A table of inputs and outputs, of each at most `rows`.
void printBindings(Page &page, const Subject &subject, const plan::fb::Function &function,
                   size_t rows);

/// "requested: asked at model.mlir:4:8, fell back".
std::string why(const Subject &subject, const plan::fb::PlacedOp &op);

/// Why ops are where they are: a row for those on one device for one reason, in a job on the same
/// devices of several tasks.
struct Reason {
  std::vector<uint32_t> devices;
  std::string why;
  std::vector<std::string_view> ops; ///< as nodeOf says
};
/// The one with most ops first; `byRule`: by the kind of reason alone.
std::vector<Reason> reasonsOf(const Subject &subject, const plan::fb::Function &function,
                              bool byRule);

/// Of all ops, as nodeOf says.
std::vector<std::string_view> nodeNamesOf(const plan::fb::Function &function);

/// Reasons why devices were not taken, each with the ops that it holds for, as they come.
struct Rejected {
  std::string reason;
  std::vector<std::string_view> ops;
};
std::vector<Rejected> rejectedOf(const Subject &subject, const plan::fb::Function &function);

/// "predicted 2.1 ms a run, 1.2 times the 1.8 ms that ..."; "" without a prediction.
std::string predictionOf(const Subject &subject, const plan::fb::Function &function);

/// Where the live bytes of an arena are most, in words; "" of an empty one.
std::string peakOf(const Subject &subject, const plan::fb::Function &function, uint32_t device,
                   uint32_t arena);

} // namespace gantry::show
