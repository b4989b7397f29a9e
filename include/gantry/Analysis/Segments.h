// What the passes over commands share: the lists between which all queues join, and how long their
// commands are predicted to take.
//
// Where a branch or a loop begins or ends, all queues come together; the commands between two such
// places are a segment, and order between queues is a matter within it.
#pragma once

#include "gantry/Device/CostModel.h"
#include "gantry/Dialect/Plan/IR/Exchanges.h"
#include "gantry/Queues/Predict.h"

#include "mlir/IR/BuiltinOps.h"

namespace gantry::schedule {

/// Of a plan.copy, while memory is planned: how many launches of its target's device it comes
/// after, of those in its segment.
inline constexpr llvm::StringLiteral kGatedAttr = "plan.gated";

inline bool isCommand(mlir::Operation *op) {
  return mlir::isa<plan::ir::LaunchOp, plan::ir::CopyOp, plan::ir::CheckOp, plan::ir::PartOp>(op);
}

/// Queues of a device for what goes to other tasks: messages out, messages in, all else. A part of
/// a broadcast is on one of the first two.
inline constexpr int64_t kSendQueue = 4, kReceiveQueue = 5, kCollectiveQueue = 6;

/// Device and number.
using QueueName = std::pair<mlir::Attribute, int64_t>;
QueueName queueOf(mlir::Operation *command);

/// Calls `visit` with the commands of each segment of the block and of those nested in it, in
/// program order. What `visit` inserts is not visited.
void forEachSegment(mlir::Block &block,
                    llvm::function_ref<void(llvm::ArrayRef<mlir::Operation *>)> visit);

/// Of the parts of the exchange that the command is one of; any other op is alone. In front of a
/// branch or loop are its conditions.
mlir::Operation *firstOfExchange(mlir::Operation *op);
mlir::Operation *lastOfExchange(mlir::Operation *op);

/// The commands of a segment between exchanges, which stay where they are with what stands in front
/// of them and behind: lists that may be put in another order.
llvm::SmallVector<llvm::ArrayRef<mlir::Operation *>>
betweenExchanges(llvm::ArrayRef<mlir::Operation *> commands);

/// Bytes of a declared buffer.
uint64_t sizeOf(mlir::Value buffer);

/// Calls `use` with each buffer of a command and whether it is written.
void forEachBuffer(mlir::Operation *command, llvm::function_ref<void(mlir::Value, bool)> use);

/// Numbers the queues of a segment.
llvm::DenseMap<QueueName, uint32_t> numberQueues(llvm::ArrayRef<mlir::Operation *> commands);

/// Seconds of commands, by the rates that the plan states.
class CommandCosts {
public:
  explicit CommandCosts(mlir::ModuleOp module);

  /// More than 0. Of a launch that says nothing, what moving its operands takes.
  double seconds(mlir::Operation *command) const;

  /// Of the same launch, or the same move within one device, if it ran on another device.
  double secondsOn(uint32_t device, mlir::Operation *command) const;

  /// The device of a launch, or of a move within one device; nothing for other commands.
  std::optional<uint32_t> runsOn(mlir::Operation *command) const;

  /// The part of a copy's seconds that does not depend on its bytes.
  double latency(plan::ir::CopyOp copy) const;

  uint32_t deviceOf(mlir::Value buffer) const;
  /// From which device a copy goes, and to which.
  std::pair<uint32_t, uint32_t> endsOf(plan::ir::CopyOp copy) const;

  uint32_t device(mlir::Attribute symbol) const;

private:
  double secondsOf(plan::ir::ExchangeOp exchange) const;

  llvm::DenseMap<mlir::Attribute, uint32_t> devices; ///< by symbol
  llvm::DenseMap<mlir::Attribute, double> exchanges; ///< seconds, by symbol
  /// Of constants and variables, symbol to that of the device.
  llvm::DenseMap<mlir::Attribute, mlir::Attribute> residents;
  CostModel costs;
  std::optional<NetworkModel> network; ///< of topologies that have one
  llvm::SmallVector<uint32_t> taskAt;  ///< by device, number of the network's task
};

/// The commands of a segment with what they take and which ones they come after, as long as no two
/// buffers share bytes. Queues are numbered as in numberQueues.
std::vector<queues::Task> describeTasks(llvm::ArrayRef<mlir::Operation *> commands,
                                        const CommandCosts &costs);

} // namespace gantry::schedule
