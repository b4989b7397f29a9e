//===- Passes.td - Passes that make a plan fit ----------------------------===//
#ifndef GANTRY_TRANSFORMS_MEMORYREPAIR_PASSES_TD
#define GANTRY_TRANSFORMS_MEMORYREPAIR_PASSES_TD

include "mlir/Pass/PassBase.td"

// Of the phase Copy. They do as much as they are told to, by lib/Search, which looks for what makes a plan fit.

def RematerializeValuesPass : Pass<"gantry-recompute-values", "::mlir::ModuleOp"> {
  let summary = "compute values again instead of holding them";
  let description = [{
    Precondition: ops are placed, copies inserted. Ops of a function's body run again in front of late readers of what they
    made, products among them, chosen by the rematerialisation library: in the fewest seconds by the cost model that hold as
    many bytes less at the peak as the device is given, or else in those that hold least. Ops run again on the device
    that they are on, if they are pure; views are made again by whoever reads them. Names of their own keep ops that run again
    from being merged with the first ones. What serves updates of variables alone moves to where it can run first, since
    launches are ordered so later.

    Example, where much is held between the two readers of `%1`:
    ```mlir
    %1 = gantry.tanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    has behind it, in front of the second one,
    ```mlir
    %2 = gantry.tanh %x {gantry.name = "value/again_0"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let options = [ListOption<"bytes", "bytes", "int64_t", "bytes to free, by number of the logical device">];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def OffloadValuesPass : Pass<"gantry-swap-values", "::mlir::ModuleOp"> {
  let summary = "keep values on the host between two of their uses";
  let description = [{
    Precondition: ops are placed, copies inserted. Where a function's body holds most on a device, a value that is
    made or read before and read after that, and by nothing in between, is copied to the host behind its last use
    before, and back in front of the next one; the one with the longest way in between first. A value that the host
    has already is only copied back. Again, until as many bytes less
    are held as the device is given, or nothing is left.

    Example, where much is held between `%1` and its reader:
    ```mlir
    %1 = gantry.tanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    has behind it
    ```mlir
    %2 = gantry.copy %1 to "/job:localhost/replica:0/task:0/device:CPU:0" force {cause = "the memory limit"} : tensor<4x8xf32>
    %3 = gantry.copy %2 to "/job:localhost/replica:0/task:0/device:GPU:0" force {cause = "the memory limit"} : tensor<4x8xf32>
    ```
  }];
  let options = [ListOption<"bytes", "bytes", "int64_t", "bytes to free, by number of the logical device">];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def MoveOpsPass : Pass<"gantry-move-ops", "::mlir::ModuleOp"> {
  let summary = "run a part of a function on another device";
  let description = [{
    Precondition: ops are placed. Of the ops that a function's body runs on a device, those in a row whose constants and
    values take as many bytes as are asked for, and that have least to copy at their ends, go to
    another device. Ops with a device that was asked for stay where they are, and so does all in their row.
    The decision on the ops that moved says `inferred`, and why.
  }];
  let options = [ListOption<"bytes", "bytes", "int64_t", "bytes to free, by number of the logical device">,
                 ListOption<"to", "to", "int64_t", "number of the logical device to move to, for each">];
  let dependentDialects = ["::gantry::GantryDialect"];
}

#endif
