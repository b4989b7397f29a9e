// Scalars hoisted to kernel parameters: numbers in which kernels differ that are alike otherwise,
// such as the scales of quantised layers.
//
// A number is a constant of one element, and a part of the kernels that read it: as an argument it
// would be no faster. But code takes longer to make than to read a number, so where several groups
// of ops differ in some of their numbers alone, these are arguments of one kernel.
#pragma once

#include "gantry/Analysis/KernelGroups.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace gantry {

class ScalarParameters {
public:
  /// The numbers that a kernel of these ops could have as arguments: those that are read element by
  /// element and nothing else, from which no code follows.
  static llvm::SetVector<mlir::Value> find(llvm::ArrayRef<mlir::Operation *> ops);

  /// A group, and the text of its kernel with these numbers as arguments.
  void add(mlir::Operation *root, llvm::ArrayRef<mlir::Value> numbers, llvm::StringRef text);

  /// Whether a number is an argument of the kernel that ends with `root`; once all groups are
  /// added.
  bool has(mlir::Operation *root, mlir::Value number) const;

private:
  /// Groups whose kernels differ in numbers alone.
  struct Alike {
    llvm::SetVector<mlir::Attribute> values; ///< lists of the numbers
    llvm::BitVector differ;                  ///< for each of the numbers
  };
  struct Group {
    llvm::SmallVector<mlir::Value> numbers;
    const Alike *alike;
  };

  llvm::StringMap<Alike> alikes; ///< by text
  llvm::DenseMap<mlir::Operation *, Group> groups;
};

} // namespace gantry
