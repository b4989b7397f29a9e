// After the solver: what has no node of its own. Results of control flow get homes, generators go
// to their users, and a view that asked for a device gets its operand there.
#pragma once

#include "PlacementInput.h"

namespace gantry::place {

/// Where values live once ops have devices; constants live nowhere in particular.
class Homes {
public:
  Homes(const Input &in, const std::vector<placement::Decision> &decisions)
      : in(in), decisions(decisions) {}

  /// Finds the homes of all values and sets `gantry.homes` on control flow.
  void run();

  std::optional<uint32_t> of(mlir::Value value) const {
    auto found = homes.find(value);
    return found == homes.end() ? std::nullopt : std::optional(found->second);
  }
  /// Where operand `use` is wanted; nothing for a use that takes the value where it is.
  std::optional<uint32_t> wantedBy(mlir::OpOperand &use) const;

private:
  void visit(mlir::Block &block);
  void visitIf(IfOp op);
  void visitWhile(WhileOp op);
  void set(mlir::Value value, std::optional<uint32_t> device);
  uint32_t firstUse(mlir::Value value) const;

  const Input &in;
  const std::vector<placement::Decision> &decisions;
  llvm::DenseMap<mlir::Value, uint32_t> homes;
};

/// Puts each generator without a node on the devices of its users, a clone on each.
void placeGenerators(const Input &in, const Homes &homes,
                     llvm::ArrayRef<mlir::Attribute> deviceAttrs);

} // namespace gantry::place
