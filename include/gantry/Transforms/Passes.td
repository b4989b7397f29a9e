//===- Passes.td - From a graph to commands over buffers ------------------===//
#ifndef GANTRY_TRANSFORMS_PASSES_TD
#define GANTRY_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

// No pass has statistics: a counter's layout depends on NDEBUG, which Debian's libMLIR is built with
// and our daily build is not. What is counted in the end is in `gantry explain`.

//===----------------------------------------------------------------------===//
// Resolve
//===----------------------------------------------------------------------===//

def ResolveScopesPass : Pass<"gantry-resolve-scopes", "::mlir::ModuleOp"> {
  let summary = "turn device scopes into attributes on the ops inside";
  let description = [{
    Each op in a `gantry.on` gets the scope's request as `gantry.device`; inner scopes are merged
    into outer ones part by part (spec D3), an op's own request counts as the innermost scope. The
    scopes disappear, their bodies take their place.

    `gantry.on "GPU:1" { %0 = gantry.relu %x }` becomes `gantry.relu %x {gantry.device = "GPU:1"}`.
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def ResolveCallsPass : Pass<"gantry-resolve-calls", "::mlir::ModuleOp"> {
  let summary = "replace calls by the bodies of their functions";
  let description = [{
    Every `func.call` is inlined, callees before callers, and private functions that nothing refers
    to any more are removed; requests on the call become requests of the ops that have none. A
    function that calls itself, directly or through others, is an error at the call.
  }];
  let dependentDialects = ["::gantry::GantryDialect", "::mlir::func::FuncDialect"];
}

def VerifyResolvedPass : Pass<"gantry-verify-resolved", "::mlir::ModuleOp"> {
  let summary = "check that no scope and no call is left";
  let description = [{
    From here on every function is one list of pure ops with their requests, under a name that plans do
    not use themselves, and there is one to run.
  }];
}

//===----------------------------------------------------------------------===//
// Simplify
//===----------------------------------------------------------------------===//

def SpecializeShapesPass : Pass<"gantry-specialize-shapes", "::mlir::ModuleOp"> {
  let summary = "give open dimensions their sizes";
  let description = [{
    `dims` lists `name=size`; an argument's open dimension `i` is called by entry `i` of its
    `gantry.dims` attribute (an array of strings), or `<argument's name>:<i>`. Result types are
    inferred again from there on. An open dimension without a size, and a size without a dimension,
    are errors that list what there is.
  }];
  let options = [ListOption<"dims", "dims", "std::string", "size of an open dimension, as name=size">];
  let dependentDialects = ["::gantry::GantryDialect", "::mlir::func::FuncDialect"];
}

def DecomposeOpsPass : Pass<"gantry-decompose-ops", "::mlir::func::FuncOp"> {
  let summary = "express rare ops and padding by common ones";
  let description = [{
    `gantry.split` becomes slices; the zero borders of convolutions become a `gantry.pad`, so that
    Memory plans the padded input like any value; an op whose results have no elements becomes an
    empty constant. Requests and names go to the new ops.
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def VerifySimplifiedPass : Pass<"gantry-verify-simplified", "::mlir::ModuleOp"> {
  let summary = "check that every shape is known";
  let description = [{
    From here on every value is a tensor of known elements and static shape, of less than 2^46 bytes.
  }];
}

//===----------------------------------------------------------------------===//
// Place
//===----------------------------------------------------------------------===//

def AssignDevicesPass : Pass<"gantry-assign-devices", "::mlir::ModuleOp"> {
  let summary = "give every compute op a device";
  let description = [{
    Precondition: `gantry.topology` on the module. An op's request is obeyed when a device of the
    topology matches it, else it is an error that lists the devices; ops without a request go to the
    first device. Constants and views get none: they follow their uses.
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def VerifyPlacedPass : Pass<"gantry-verify-placed", "::mlir::ModuleOp"> {
  let summary = "check that every compute op has a device of the topology";
  let description = [{ From here on `gantry.device` is a full name, not a request. }];
}

//===----------------------------------------------------------------------===//
// Fuse
//===----------------------------------------------------------------------===//

def FormKernelsPass : Pass<"gantry-form-kernels", "::mlir::ModuleOp"> {
  let summary = "group ops into kernels";
  let description = [{
    Ops whose values are used by one group only, on the same device and over the same index space,
    join it: elementwise ops before and after, a contraction or reduction with elementwise ops after.
    Each group becomes a `gantry.kernel` in the nested module `@kernels` and a `gantry.launch` in
    its place; equal groups share a kernel. Views and constants stay outside, but for constants of
    one element, which are cloned in.

    Launches stand where the last op of their group stood.
  }];
  let options = [Option<"fuse", "fuse", "bool", "true", "join ops; without it each op is a kernel">];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def VerifyKernelsPass : Pass<"gantry-verify-kernels", "::mlir::ModuleOp"> {
  let summary = "check that every launch has its kernel and the right operands";
  let description = [{ From here on functions consist of launches, views, constants and control flow. }];
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

def LowerToPlanPass : Pass<"gantry-lower-to-plan", "::mlir::ModuleOp"> {
  let summary = "turn launches of values into commands over buffers";
  let description = [{
    Precondition: kernels are lowered to functions that know their items and scratch. Each public
    function becomes a `plan.func`: values become buffers, views share the buffer of their source,
    results are computed in the caller's outputs where they can be, control flow carries values by
    copies. Constants become `plan.constant`.

    Commands keep the order of the ops.
  }];
  let dependentDialects = ["::gantry::planir::PlanDialect"];
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

def PlanMemoryPass : Pass<"gantry-plan-memory", "::mlir::ModuleOp"> {
  let summary = "give every buffer an arena and an offset";
  let description = [{
    A buffer lives from the command that writes it first to the one that uses it last; what is used
    in a loop and lives beyond one iteration lives through the whole loop. Buffers that live at the
    same time share no byte: the packing library plans, and its independent validator checks. What
    other queues are predicted to do meanwhile counts as the same time, so that sharing memory delays
    nobody, unless the device's limit is too low for that. Constants are laid out one after the
    other. All offsets are multiples of 64 bytes.
  }];
  let dependentDialects = ["::gantry::planir::PlanDialect"];
}

def OrderQueuesPass : Pass<"gantry-order-queues", "::mlir::ModuleOp"> {
  let summary = "put signals and waits where queues meet";
  let description = [{
    Two commands on different queues that use a byte which one of them writes run in the order of the
    plan: a `plan.signal` after the one, a `plan.wait` before the other. That holds for values that
    go from queue to queue and for memory that is used again. What queues, other waits, and the
    joining of all queues at control flow imply already gets none, so no wait can be taken away.
  }];
  let dependentDialects = ["::gantry::planir::PlanDialect"];
}

def CheckLimitsPass : Pass<"gantry-check-limits", "::mlir::ModuleOp"> {
  let summary = "refuse a plan that a device has no room for";
  let description = [{
    The constants, variables, inputs and outputs, and the transient memory of one session on a device
    must be within its limit (spec M2). Else the error names the device, the sum with its parts, the
    command at the fullest moment, the largest values there, and a limit that would do; the tools'
    exit status is 3.
  }];
  let dependentDialects = ["::gantry::planir::PlanDialect"];
}

def VerifyPlanPass : Pass<"gantry-verify-plan", "::mlir::ModuleOp"> {
  let summary = "check that every buffer has its place in an arena";
  let description = [{ From here on the module can be written as a plan file. }];
}

#endif
def OrderCommandsPass : Pass<"gantry-order-commands", "::mlir::ModuleOp"> {
  let summary = "put commands in the order in which they are predicted to start";
  let description = [{
    Between two control-flow commands, each queue runs its own in their order, each as soon as its
    values are there, for as long as the cost model says by the rates of the plan's devices. Commands
    of different queues are sorted by when they start. Memory that is used again is then used again
    by what runs later, not by what stood later in the graph. One queue alone stays as it is.
  }];
  let dependentDialects = ["::gantry::planir::PlanDialect"];
}

