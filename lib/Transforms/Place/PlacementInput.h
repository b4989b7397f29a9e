// What Place asks the placement library about: the module's ops, variables and ends as nodes of a
// problem, with everything that wants them somewhere, and where that was said.
#pragma once

#include "gantry/Device/Topology.h"
#include "gantry/Dialect/Gantry/IR/Views.h"
#include "gantry/Placement/Placement.h"
#include "gantry/Transforms/Placement.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace gantry::place {

/// Something that has a device.
struct Node {
  enum Type { op, view, constant, copy, argument, result, variable } type = op;
  mlir::Operation *owner = nullptr; ///< the op, the function of an end, the declaration
  unsigned index = 0;               ///< of an end

  /// "MatMul", "argument 0", "variable 'w'": what errors call it.
  std::string what() const;
  /// Its stable name, perhaps empty.
  llvm::StringRef name() const;
  mlir::Location loc() const;
  bool isEnd() const { return type == argument || type == result; }
};

/// Where a constraint comes from.
struct Origin {
  mlir::Location loc;
  std::string text; ///< "asked for at model.mlir:3:4", "--place 'op:MatMul=GPU:1'"
  bool isScope = false;
};

/// Who makes a value: a node, or nobody that has a device (constants).
using Makers = llvm::DenseMap<mlir::Value, uint32_t>;

struct Input {
  Input(mlir::ModuleOp module, const Topology &topology, const PlacementRequests &requests)
      : module(module), topology(topology), requests(requests), problem(topology),
        rules(requests.rules) {}

  mutable mlir::ModuleOp module; ///< a handle; nobody changes the op through it
  const Topology &topology;
  const PlacementRequests &requests;
  placement::Problem problem;
  std::vector<Node> nodes; ///< by op of the problem
  llvm::DenseMap<mlir::Operation *, uint32_t> nodeOf;
  /// Nodes of arguments and results that have one; the others are on the host.
  llvm::DenseMap<std::pair<mlir::Operation *, unsigned>, uint32_t> argumentNodes, resultNodes;
  std::vector<Origin> origins;
  llvm::MapVector<llvm::StringRef, uint32_t> groups; ///< numbers of gantry.colocate's names
  std::vector<mlir::Operation *> generators;         ///< without a node: they go with their users
  llvm::DenseSet<mlir::Operation *> hostArithmetic;
  placement::RuleSet rules;
  uint32_t host = 0; ///< CPU:0, where ends are that say nothing

  /// Reads the module. Reports rules that match nothing, and locks that are stale.
  mlir::LogicalResult build();

  /// Whether a node is a constant that asks for a device only because a scope around it does.
  bool isConstantOfScope(uint32_t node) const {
    return nodes[node].type == Node::constant && nodes[node].owner->hasAttr(kOriginAttr);
  }

  /// "/job:..." for several tasks, "GPU:0" for one.
  std::string shortName(const DeviceName &name) const;
  bool isOneTask() const;
};

/// What patterns see of an op: its types, names and kinds. Borrowed from the op.
struct OpTexts {
  llvm::SmallVector<std::string_view, 2> ops, names, kinds;

  OpTexts(mlir::Operation *op, llvm::StringRef kind);
  placement::Subject subject() const { return {ops, names, kinds}; }
};

/// Small integer ops whose values steer control flow or are read on the host.
llvm::DenseSet<mlir::Operation *> findHostArithmetic(mlir::ModuleOp module);

/// Like views, constants that ask for nothing have no device but those of their uses.
bool isConstant(mlir::Operation *op);

} // namespace gantry::place
