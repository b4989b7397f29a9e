// What the ways of one gantry.all_reduce have in common: who has what of it, and the ops that they
// make of it.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Support/PartsTree.h"

#include "mlir/IR/Builders.h"

namespace gantry {

/// What a rank has to give: one of the values, or of a tree the sum of several.
struct Addend {
  mlir::Value value;
  size_t rank;
  PartRange range; ///< the values that it is the sum of
};

class CollectiveBuilder {
public:
  explicit CollectiveBuilder(AllReduceOp op);

  size_t ranks() const { return devices.size(); }
  size_t count() const { return owners.size(); }
  bool hasEqualShares() { return !op.getWeights() || llvm::all_equal(*op.getWeights()); }
  /// A mean of values that count alike is a sum and one product behind it.
  bool isEqualMean();
  /// Whether anything reads the results of each rank.
  mlir::SmallVector<bool> readers();

  /// Makes an op a rank's. Names say what it is for and where.
  mlir::Value place(mlir::Operation *made, size_t rank, const llvm::Twine &what);
  /// Attributes of the request that the op has.
  void inheritSoftness(mlir::Operation *made);
  mlir::Value scale(mlir::Value value, double factor, size_t rank, const llvm::Twine &what);
  mlir::Value flatten(mlir::Value value);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::Value concat(llvm::ArrayRef<mlir::Value> values, size_t rank, const llvm::Twine &what);
  /// A part along the last dimension.
  mlir::Value cut(mlir::Value value, int64_t begin, int64_t size, size_t rank,
                  const llvm::Twine &what);

  AllReduceOp op;
  mlir::OpBuilder builder;
  mlir::RankedTensorType type;
  mlir::SmallVector<DeviceAttr> devices; ///< by rank, as they were asked for; of a tree each once
  mlir::SmallVector<size_t> owners;      ///< for each value the rank that has it
};

/// Does it by exchanges between tasks (TaskExchange.cpp): `taskOf` is the task of each rank, and
/// the terms of a task follow each other. Below `gatherBytes` of all terms together everybody adds.
/// Gives a value for each rank.
mlir::SmallVector<mlir::Value> exchangeBetweenTasks(CollectiveBuilder &collective,
                                                    llvm::ArrayRef<Addend> terms,
                                                    llvm::ArrayRef<uint32_t> taskOf,
                                                    uint64_t gatherBytes);

} // namespace gantry
