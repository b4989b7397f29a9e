// How filters of convolutions lie in the memory of GPUs: a constant one with the channels
// innermost, [o, window..., c], in the order in which a convolution adds up, so that neighbouring
// terms are neighbours (docs/designs/gpu-code.md). All others lie as the graph has them.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry::gpu {

/// The layout (Analysis/PanelLayout.h) that a kernel wants for the constant that is its argument:
/// that of a filter which has channels and a window, and which nothing else reads. Null for others.
mlir::Attribute layoutOfConstant(KernelOp kernel, unsigned argument);

/// By how many elements a step along each dimension of a kernel's argument moves, in the layout
/// that it has by the attributes of the kernel's function; 0 along dimensions of one element.
llvm::SmallVector<int64_t> stridesOfArgument(mlir::BlockArgument argument);

/// Whether that is another layout than the plain one.
bool isPacked(mlir::BlockArgument argument);

} // namespace gantry::gpu
