// Panels: how a packed B matrix, a constant, lies in a plan when kernels want it so.
//
// A product reads one of its operands column by column and term by term. In panels what is read one
// after the other lies one after the other: [matrix][panel][row][column of the panel], a panel has
// `width` columns, and the last one is filled up with zeros. Rows are the terms of the product's
// sums. Where processors take several narrow terms at once, rows come in groups: [group][column of
// the panel][row of the group], the last group filled up with zeros, too. Where an element comes
// from is said by nested loops, each a number of steps of so many elements of the plain form; so a
// transposed matrix, or the weights of a convolution, is a layout like any other, and nobody
// transposes them before.
//
// Whoever forms a kernel asks its target for the layouts of constants and records them on the
// kernel (`kLayoutsAttr`); the plan's constants carry their own (`kLayoutAttr`), and their bytes
// are packed piece by piece on the way into the file.
#pragma once

#include "gantry/Dialect/Gantry/IR/Attributes.h"
#include "gantry/Support/Status.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace gantry {

struct PanelLayout {
  /// A loop over a plain tensor.
  struct Loop {
    int64_t size, step;
    bool operator==(const Loop &) const = default;
  };
  using Loops = llvm::SmallVector<Loop, 2>; ///< the last one fastest

  Loops matrices, rows, columns;
  int64_t width = 0;         ///< columns of a panel
  int64_t packingFactor = 1; ///< rows of which a column's elements lie side by side

  bool operator==(const PanelLayout &) const = default;

  static int64_t count(llvm::ArrayRef<Loop> loops);
  int64_t panels() const { return (count(columns) + width - 1) / width; }
  /// Rows of a panel, those that fill up the last group included.
  int64_t panelRows() const {
    return (count(rows) + packingFactor - 1) / packingFactor * packingFactor;
  }
  /// All elements, those that fill up the last panel included.
  int64_t elements() const { return count(matrices) * panels() * panelRows() * width; }

  mlir::DictionaryAttr toAttr(mlir::MLIRContext *context) const;
  /// Nothing for an attribute that is no layout.
  static std::optional<PanelLayout> of(mlir::Attribute attr);
  /// That of an argument, by the attributes of its kernel.
  static std::optional<PanelLayout> ofArgument(mlir::Operation *kernel, unsigned argument);

  using Sink = std::function<Status(std::span<const uint8_t>)>;
  /// Gives the packed bytes of `plain` to `sink`, in pieces that fit a cache.
  Status pack(std::span<const uint8_t> plain, unsigned elementBytes, const Sink &sink) const;
};

} // namespace gantry
