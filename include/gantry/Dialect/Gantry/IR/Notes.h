// Attributes that passes leave for later ones: what a graph's author does not write, and what is
// lost by the time that it is needed.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace mlir {
class Operation;
} // namespace mlir

namespace gantry {

/// Of an argument: callers may give its array away, and a result is then computed in it.
inline constexpr llvm::StringLiteral kDonateAttr = "gantry.donate";
/// Of an op that was made as a part of its user: which part. Until it has a name.
inline constexpr llvm::StringLiteral kPartAttr = "gantry.part";
/// Of a plan.output: the input, by number, whose array it may be, too (decision 0060). The first
/// command with either copies the one to the other, and no other command has the input.
inline constexpr llvm::StringLiteral kOverAttr = "gantry.over";
/// Of a gantry.while: how often its body is known to run.
inline constexpr llvm::StringLiteral kTripsAttr = "gantry.trips";
/// Of a gantry.if, and of the plan.if that it becomes: the library that decides it when the plan is
/// loaded. The first region runs where the library does all that is in it, the second one
/// everywhere else.
inline constexpr llvm::StringLiteral kLibraryAttr = "gantry.library";
/// Of a gantry.all_reduce in such a region: which of the devices it is the part of.
inline constexpr llvm::StringLiteral kRankAttr = "gantry.rank";
/// Of a plan.device: seconds from one start of a kernel to the next, where they are known.
inline constexpr llvm::StringLiteral kLaunchSecondsAttr = "gantry.launch_seconds";
/// Of the module of a graph: names of the libraries of GPUs that may compute in the place of
/// kernels and of exchanges, in the words of the plan, or "auto" for products that are estimated to
/// be faster by one.
inline constexpr llvm::StringLiteral kLibrariesAttr = "gantry.libraries";
/// Of a product: a library of GPUs is asked for it first. It has a kernel of its own.
inline constexpr llvm::StringLiteral kByLibraryAttr = "gantry.by_library";

/// Whether the graph that `op` is in names the library.
bool asksForLibrary(mlir::Operation *op, llvm::StringRef library);

} // namespace gantry
