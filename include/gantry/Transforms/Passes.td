//===- Passes.td - From a graph to commands over buffers ------------------===//
#ifndef GANTRY_TRANSFORMS_PASSES_TD
#define GANTRY_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

// No pass has statistics: Pass::Statistic is made inside libMLIR, which Debian builds with NDEBUG. There it is
// empty and counts nothing. In a build without NDEBUG (preset dev) it has 40 bytes that nobody initialises.
// What is counted in the end is in `gantry explain`. tools/dev/check_pass_tests.py holds this.

//===----------------------------------------------------------------------===//
// In front of all phases
//===----------------------------------------------------------------------===//

def SetTargetsPass : Pass<"gantry-set-targets", "::mlir::ModuleOp"> {
  let summary = "say what a module is compiled for, in the place of an import";
  let description = [{
    Puts `gantry.targets` on the module, as the compiler does by its flags when it imports a graph. Of one that is
    there, what no option names stays. Whether there are such drivers and machines is not checked.
  }];
  let options = [
    ListOption<"drivers", "drivers", "std::string", "drivers that the plan is to run with beside those of its devices">,
    ListOption<"machines", "machines", "std::string", "TARGET=MACHINE, what a target makes code for, best first">,
    Option<"math", "math", "::gantry::Math", "::gantry::Math::f32", "what products of f32 multiply", [{::llvm::cl::values(
      clEnumValN(::gantry::Math::f32, "f32", "the factors as they are"),
      clEnumValN(::gantry::Math::tf32, "tf32", "factors of 10 bits, where tensor cores have them"),
      clEnumValN(::gantry::Math::bf16, "bf16", "factors of bf16"),
      clEnumValN(::gantry::Math::f16, "f16", "factors of f16"))}]>];
  let dependentDialects = ["::gantry::GantryDialect"];
}

//===----------------------------------------------------------------------===//
// Resolve
//===----------------------------------------------------------------------===//

def ResolveScopesPass : Pass<"gantry-resolve-scopes", "::mlir::ModuleOp"> {
  let summary = "turn device scopes into attributes on the ops inside";
  let description = [{
    Each op in a `gantry.on` gets the scope's request as `gantry.device`, its softness as `gantry.soft`
    and its location as `gantry.origin`; inner scopes are merged into outer ones part by part (spec
    D3), an op's own request counts as the innermost scope. The scopes disappear, their bodies take
    their place.

    `gantry.on "GPU:1" { %0 = gantry.relu %x }` becomes `gantry.relu %x {gantry.device = "GPU:1"}`.
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def ResolveCallsPass : Pass<"gantry-resolve-calls", "::mlir::ModuleOp"> {
  let summary = "replace calls by the bodies of their functions";
  let description = [{
    Precondition: scopes are still there. Every `func.call` is inlined, callees before callers, and
    private functions that nothing refers to any more are removed. A call that requests a device
    becomes a `gantry.on` around the body. A function that calls itself, directly or
    through others, is an error at the call.
  }];
  let dependentDialects = ["::gantry::GantryDialect", "::mlir::func::FuncDialect"];
}

def MakeTrainingStepPass : Pass<"gantry-make-training-step", "::mlir::ModuleOp"> {
  let summary = "make a step of training of a graph";
  let description = [{
    Precondition: no scopes and no calls; one public function, beside which one called `evaluate` may
    stand, of the same type, that evaluates in its place. Its constants of floats that have a name
    (`gantry.name`) become variables of that name, where they are chosen and the loss depends on them;
    constants of one name are one. The function becomes `@evaluate`. `@step`, beside it, takes the same
    inputs and gives the loss: it counts `@"RULE/step"`, differentiates the loss by `gantry.gradient` with
    respect to what the variables hold, and gives each its next value by `gantry.optimizer_step`. What the
    step draws at random depends on the number of the step.

    `loss` is an output, a scalar of floats; or it names a loss that compares the only output with labels,
    one more input. Then the function as it was is `@predict`.

    Without `trainable` constants stay that are scalars, nodes of a model, or the mean or variance of a
    `gantry.batch_norm`.
  }];
  let options = [
    Option<"loss", "loss", "std::string", "", "an output, or mse, mae, huber, bce, cce, scce">,
    Option<"optimizer", "optimizer", "std::string", "", "as --optimizer: adamw,rate=1e-3">,
    ListOption<"trainable", "trainable", "std::string", "patterns of the names of constants that are trained">];
  let dependentDialects = ["::gantry::GantryDialect", "::mlir::func::FuncDialect"];
}

def ExpandOptimizersPass : Pass<"gantry-expand-optimizers", "::mlir::ModuleOp"> {
  let summary = "replace steps of optimizers by reads, ops and assignments";
  let description = [{
    Precondition: no scopes and no calls. Each `gantry.optimizer_step` becomes what the formula of its
    rule says (`Optimizers.def`), at the same place of the program. What the rule keeps between steps is declared as variables
    `@"w/adam/m"`, with the request of `@w`, central if it is. A slot that the numbers leave without use, as
    the sum of a momentum of 0, is not made.
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def ResolveVariablesPass : Pass<"gantry-resolve-variables", "::mlir::ModuleOp"> {
  let summary = "turn variables into arguments of functions with tied results";
  let description = [{
    Precondition: no scopes and no calls. Each variable that a public function uses becomes an argument
    of it, after its own, with the attribute `gantry.variable = @w`; one that it assigns becomes a
    result with the same attribute as well: what the variable holds after the run. Reads become the
    value at that point of the program, assignments `gantry.update` and `gantry.update_add`; branches
    and loops carry the variables that they use. From then on every op is pure.

    A variable that is used in a `gantry.replicate` gets a mirror for each device but the first, named
    `@"w/replica_i"`; an assignment outside assigns to all of them. Declarations stay.
  }];
  let dependentDialects = ["::gantry::GantryDialect", "::mlir::func::FuncDialect"];
}

def KeepFirstReplicaPass : Pass<"gantry-keep-first-replica", "::mlir::ModuleOp"> {
  let summary = "run replicated regions on the first of their devices only";
  let description = [{
    Comes before everything else. Each `gantry.replicate` keeps its first device, which gets the whole of
    what is split; variables lose their mirrors. This is the program that `--check-replicas` compares the
    replicas with (spec R5). A region with values for each replica has no such form, which is an error,
    and so is a module without regions.
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def CheckCollectivesPass : Pass<"gantry-check-collectives", "::mlir::ModuleOp"> {
  let summary = "check that the replicas of a region meet in every collective";
  let description = [{
    Precondition: no scopes and no calls, variables by name. A `gantry.all_reduce` in a `gantry.if` or
    `gantry.while` needs a condition that is the same on every replica: computed from constants, values
    from outside, broadcast operands, results of `gantry.all_reduce` and variables that replicas only
    assign such values under such conditions, in all functions. Anything else is an error that says
    where it comes from. Only then may gantry-expand-replicas make one branch or loop of the replicas'.

    A mean, of a `gantry.all_reduce` or of a region's result, of what is computed from `gantry.share` is an
    error: its rows would weigh twice.
  }];
}

def CheckMirrorsPass : Pass<"gantry-check-mirrors", "::mlir::ModuleOp"> {
  let summary = "check that replicas assign mirrors the same value";
  let description = [{
    Precondition: that of gantry-check-collectives, whose analysis it uses. A `gantry.assign` or
    `gantry.assign_add` in a region, of a variable that is neither `central` nor `local`, takes a value that
    is the same on every replica, under conditions that are. Anything else is an error that says
    where the difference comes from.
  }];
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
    `gantry.split` becomes slices; a `gantry.concat` of more than 64 values becomes one of groups, so
    that the code of its kernels does not grow with their number, and so does a `gantry.add_n`, in the
    same order (of f16 and bf16 it stays whole: their sums are rounded once); the zero borders of
    convolutions become a `gantry.pad`, so that Memory plans the padded input like any value; a
    `gantry.transpose` that moves sides of one element alone becomes a `gantry.reshape`, which moves nothing, and
    a reshape goes in front of the `gantry.slice` that it alone reads, where a part of the whole in that shape is
    the same, so that the part can be read where it is by what follows; an op
    whose results have no elements becomes an empty constant, and so does an operand without elements:
    no kernel sees one. Requests and names go to the new ops.
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def FuseQDQPass : Pass<"gantry-multiply-bytes", "::mlir::func::FuncOp"> {
  let summary = "products of quantised values as exact products of bytes";
  let description = [{
    A `gantry.matmul` or `gantry.conv` in i32 of `cast(bytes) - zero point`, or in f32 of that times a
    scale, with constant weights, becomes the product of the bytes, ui8 by i8, with sums in i32; what the
    zero point of the left operand adds to the sums is taken off behind it, and so is the scale, the
    product of both. So does a `gantry.matmul` whose operands are both computed, with one zero point each:
    then sums of rows and columns of the bytes are taken off. A quantised bias with that scale is added to the sums. A division by the scale of
    the result goes into the scales and constants in front of it, through sums, relu and clamps; a clamp
    to the range of bytes goes where the cast behind it saturates; bytes that are scaled and quantised
    again with the same numbers stay as they are. Maxima over windows and moves of
    values with one scale are those of the bytes.

    Sums are those of the integers, in every bit. In f32, results may differ from those of the ops as
    they stand by their rounding, a quantised result by one step (docs/designs/precision.md). Ops that were asked to
    run elsewhere than the product stay. Precondition: canonical forms.
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def MergeConstantsPass : Pass<"gantry-merge-constants", "::mlir::func::FuncOp"> {
  let summary = "make one constant of those with the same value and request";
  let description = [{
    Constants move to the begin of the function; of several with the same value, type and request the
    first one stays, whatever their names. Those that ask for different things stay apart (spec P1).
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def TieConstantsPass : Pass<"gantry-tie-constants", "::mlir::func::FuncOp"> {
  let summary = "keep a weight once that is there plain and transposed";
  let description = [{
    A matrix that is only gathered from along its rows, and another one that is the same transposed:
    the gather reads columns of the other, and what it gives is transposed. Both must ask for the
    same (spec P1).
  }];
  let options = [Option<"least", "least", "int64_t", "262144", "bytes of the smallest matrix that is looked at">];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def BoundLoopsPass : Pass<"gantry-bound-loops", "::mlir::func::FuncOp"> {
  let summary = "end loops after the rounds that they may have";
  let description = [{
    A `gantry.while` with `at_most` loses it: its condition holds only while a counter, the loop's own or one
    that is added, is below that number, and behind the loop its condition is asked once more: where it still
    holds, a `gantry.assert_indices` ends the run. Loops that are known to go round less often, and those of
    ways back (`gantry.bounded`), lose it without a check.
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def HoistSumsPass : Pass<"gantry-hoist-sums", "::mlir::func::FuncOp"> {
  let summary = "multiply once behind a loop what its rounds multiply and add up";
  let description = [{
    Where the loop of a way back (`gantry.bounded`) carries a sum to which each round adds a product of rows,
    x^T d of [m, k] and [m, n] as weights get it of a recurrent layer, the rounds stack their
    rows instead, and one product of all rows comes behind the loop. Rows are added up in the order in which
    the rounds have them; those of rounds that a loop did not have are zeros. Left alone: sums that the rounds
    read, products whose rows are more than the sum has, and other loops, whose sums are those of the program.
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def MergeOpsPass : Pass<"gantry-merge-ops", "::mlir::ModuleOp"> {
  let summary = "make one op of those that are equal and ask for the same";
  let description = [{
    Common subexpressions, as `cse` finds them; but where a request comes from (`gantry.origin`) does
    not tell two ops apart, what is asked for does (spec P1). The first op stays, with its origin.
  }];
}

def VerifySimplifiedPass : Pass<"gantry-verify-simplified", "::mlir::ModuleOp"> {
  let summary = "check that every shape is known";
  let description = [{
    From here on every value is a tensor of known elements and static shape, of less than 2^46 bytes.
  }];
}

def CheckConstantIndicesPass : Pass<"gantry-check-constant-indices", "::mlir::func::FuncOp"> {
  let summary = "refuse constant indices that are out of range";
  let description = [{
    Precondition: static shapes. Where constants decide the indices of an op and one of them is not in
    [-size, size) of its dimension, that is an error at the op, which names the index and its place.
    Ops in branches that constants rule out and in loops that never begin are left alone, and so is
    `gantry.one_hot`, where such an index marks nothing. Runs before folding, which clamps indices as
    kernels do, and again behind it, for what became constant.
  }];
}

def InsertIndexChecksPass : Pass<"gantry-insert-index-checks", "::mlir::func::FuncOp"> {
  let summary = "make indices that are out of range end the run";
  let description = [{
    Precondition: static shapes, ops have names. In the block of an op that reads indices which no
    constant decides come a `gantry.first_bad_index` and a `gantry.assert_indices`, as early as the
    indices are there; constants are judged here, and counters of loops that stay in range need none.
    Of ops that read the same indices into the same sizes, one check on the way to them is for all. A
    check runs where the indices are: where the caller gives them, or with the op that makes them. What
    the graph computes stays as it was: nothing waits for a check but the variables that the function
    changes.
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def AnnotateTripsPass : Pass<"gantry-annotate-trips", "::mlir::func::FuncOp"> {
  let summary = "write on loops how often they go round";
  let description = [{
    A `gantry.while` whose condition compares a carried counter with a constant, and whose body adds a
    constant to it, gets `gantry.trips`, the number of times that its body runs. Others, and those that
    never begin, are left alone. Predictions of time go by it.
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def NameOpsPass : Pass<"gantry-name-ops", "::mlir::func::FuncOp"> {
  let summary = "give every compute op a stable name";
  let description = [{
    An op keeps its own `gantry.name`, else it gets the name in its location; ops that share one get
    numbers from the outputs on. Others are named by the shortest path from the outputs, as
    `MatMul/output0.1`: operand 1 of what makes output 0; long paths are hashed. A part of an op
    (`gantry.part`, which goes away) is named by its number, `AddN/output0.part3`. Names are unique in the
    function and depend neither on the order of the ops nor on how values are called (spec P12, P13).
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

//===----------------------------------------------------------------------===//
// Place
//===----------------------------------------------------------------------===//

def AssignDevicesPass : Pass<"gantry-assign-devices", "::mlir::ModuleOp"> {
  let summary = "give every compute op a device";
  let description = [{
    Precondition: `gantry.topology` on the module. What wants an op somewhere is taken by kind, the
    strongest first: where its variable lives, its request, the lock, the first rule that matches,
    what follows from other ops, what automatic placement proposes; else GPUs before CPUs, then the
    lowest id, of the devices with a kernel for it (spec section 2). Ops that share a name in
    `gantry.colocate` go to one device. What cannot hold together is an error with a minimal set of
    constraints, each with its location; softened requests are remarks.

    Every op gets `gantry.device`, a full name, and `gantry.placement`, the reason; `gantry.if` and
    `gantry.while` get `gantry.homes`. Constants and views have no device unless a constant asks for one;
    a view that asks for one has its operand copied there. Generators go to their users' devices, cloned
    for several.

    Rules, locks and defaults from outside are given to the pass parsed (gantry/Transforms/Placement.h);
    `gantry-opt --gantry-place="rules=op:MatMul=GPU:1 lock=FILE"` reads them.
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def VerifyPlacedPass : Pass<"gantry-verify-placed", "::mlir::ModuleOp"> {
  let summary = "check that every compute op has a device of the topology";
  let description = [{
    From here on `gantry.device` is a full name, not a request, and control flow says where its results
    live.
  }];
}

//===----------------------------------------------------------------------===//
// Copy
//===----------------------------------------------------------------------===//

def ElideCopiesPass : Pass<"gantry-elide-copies", "::mlir::ModuleOp"> {
  let summary = "remove the copies of a graph that move nothing";
  let description = [{
    A `gantry.copy` to the device that has the value already, or back to the one that a copied value
    came from, is replaced by the value; a copy of a copy that nothing else uses goes the direct way.
    With `force` it stays: that makes a new buffer.
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def ReducePrecisionPass : Pass<"gantry-reduce-precision", "::mlir::ModuleOp"> {
  let summary = "round what products of f32 multiply";
  let description = [{
    Where `gantry.targets` asks for `math` bf16 or f16, each `gantry.matmul` of f32 reads operands of that type instead and
    carries `accumulate_type`: its accumulators, and so its result, stay f32. So do, where all kernels of the op are one
    target's that rounds them, products of attention, which are those with the result of a softmax and those that such a
    softmax is computed from element by element, and convolutions: CPUs round both to bf16, convolutions with pairs of
    channels in each group, or one group, and more than one channel there; GPUs all of whose architectures have tensor cores
    (sm_80 on) to both types, convolutions whose matrices have at least eight rows and columns and sums of sixteen terms. What
    CPUs compute by convolutions, as transposed ones and gradients of filters, becomes such first. Simulated GPUs keep f32.

    Constants, also transposed, sliced or reshaped, are rounded here. Other operands are rounded by a `gantry.cast` behind what
    makes them, once for all that read them; of attention in front of transposes, slices and reshapes that are for the
    product alone, of convolutions in front of constant borders. Where a kernel of another device makes a value that is
    needed in f32 nowhere on the device of the product, the cast is on the former, and the value travels in half the bytes.

    Precondition: ops are placed, shapes static; copies are not made yet.
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def InsertCopiesPass : Pass<"gantry-insert-copies", "::mlir::ModuleOp"> {
  let summary = "make every edge between devices a copy";
  let description = [{
    Precondition: every op has its device. A value gets one `gantry.copy` for each other device that
    uses it, right behind its definition, with the first use that needs it as its `cause`; copies that
    the graph asks for share it. Views are made again on the other side of the copy of their source.
    Constants need none: a plan has them wherever they are read. Arguments and results of functions
    live on CPU:0 of their task unless they say otherwise, conditions on the host.

    With `explicit` an op, branch or loop whose operands are elsewhere is an error that names them, and
    a constant is where it asks to be; ends of functions are brought all the same.
  }];
  let options = [Option<"explicitOnly", "explicit", "bool", "false",
    "refuse ops whose operands are on other devices">];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def StreamPlacedConstantsPass : Pass<"gantry-stream-placed-constants", "::mlir::ModuleOp"> {
  let summary = "copy weights in each run that placement leaves on the host";
  let description = [{
    Automatic placement marks constants with `gantry.search`, the host. Each device that reads one gets a copy of it in each
    run, in front of the first op that needs it; the mark goes. One whose views are read on several devices stays as it is.
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def StreamConstantsPass : Pass<"gantry-stream-constants", "::mlir::ModuleOp"> {
  let summary = "leave weights on the host and copy them in each run";
  let description = [{
    As many bytes of constants as a device is given, spread evenly over the program, are kept by the
    host; a copy in each run brings each of them into transient memory of the device. Only constants
    that ask for no device, and that ops of one device read.
  }];
  let options = [ListOption<"bytes", "bytes", "int64_t", "bytes to free, by number of the logical device">];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def SplitBatchPass : Pass<"gantry-split-batch", "::mlir::ModuleOp"> {
  let summary = "compute one piece of the batch after the other where most is held";
  let description = [{
    Precondition: ops are placed. Around the op of a function's body at which most is held on a device, ops that
    go through operands row by row are cloned for each of so many pieces of
    the rows. Slices cut their inputs, a concat joins each of their results. Again for what holds most then, until no
    region takes a tenth off. Which ops: those that take off most, and of those that take off nearly as much, those
    that move least. What branches and loops hold is left alone.

    Example, with `pieces=1,2` for a device that is the second one:
    ```mlir
    %y = gantry.tanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    becomes
    ```mlir
    %0 = gantry.slice %x {sizes = array<i64: 2, 8>, starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<2x8xf32>
    %1 = gantry.tanh %0 : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %2 = gantry.slice %x {sizes = array<i64: 2, 8>, starts = array<i64: 2, 0>, steps = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<2x8xf32>
    %3 = gantry.tanh %2 : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %y = gantry.concat %1, %3 {axis = 0 : i64} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let options = [ListOption<"pieces", "pieces", "int64_t", "how many, by number of the logical device">];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def EvaluateLoadTimeConstantsPass : Pass<"gantry-evaluate-once", "::mlir::ModuleOp"> {
  let summary = "move what depends on constants alone to where a plan is loaded";
  let description = [{
    Ops of the body of a function that read nothing but constants, and copies of their results, move to a
    function that carries `gantry.at_load`. Each result that others read becomes an argument of theirs, which
    says in `gantry.once` the number of the result.

    Precondition: ops are placed, copies inserted. Results that are larger than the constants behind them move
    only when products or ops of their own kind read them, or more than elementwise ops, generators and moves made
    them. A function whose ops all depend on
    constants alone is left alone, and so is what a branch or loop holds, and a copy with `force`.

    It may run again: what is made of such arguments alone moves, too, and arguments that nothing uses go.
  }];
  let dependentDialects = ["::gantry::GantryDialect", "::mlir::func::FuncDialect"];
}

def CheckCopyBudgetPass : Pass<"gantry-check-copy-budget", "::mlir::ModuleOp"> {
  let summary = "hold functions to the bytes that a run may copy";
  let description = [{
    The budget is `gantry.max_copy` of a function, else the option: `d2h:0,h2d:1MiB`. More bytes in
    a direction are an error that lists its copies, the largest first; of a branch the larger side
    counts. A copy in a loop runs an unknown number of times and exceeds every budget of its direction. What constants need is brought
    at load and does not count.
  }];
  let options = [Option<"maxCopy", "max-copy", "std::string", "",
    "bytes per run by direction, for functions without gantry.max_copy">];
}

def VerifyCopiesPass : Pass<"gantry-verify-copies", "::mlir::ModuleOp"> {
  let summary = "check that every op has its operands on its device";
  let description = [{ From here on values go from device to device in `gantry.copy` only. }];
}

//===----------------------------------------------------------------------===//
// Fuse
//===----------------------------------------------------------------------===//

def SplitReductionsPass : Pass<"gantry-split-reductions", "::mlir::ModuleOp"> {
  let summary = "reduce few long rows in parts";
  let description = [{
    A reduction of which the target of its device says so becomes two: of each of some equal parts of its
    rows, and of what these gave; around them are views. The first has the name of the op and `/parts`.
    Results of the same shapes are added in the same order, whatever else is in the module. Where results of
    parts would be rounded to less than f32, sums, products and means are left alone, and means of integers always.

    Precondition: ops are placed and shapes static. All other ops are left alone.
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def ReadUpdatedVariablesPass : Pass<"gantry-read-updated-variables", "::mlir::ModuleOp"> {
  let summary = "read the next value of a variable from the variable";
  let description = [{
    Readers of the operand of a `gantry.update` read its result instead, where nothing reads the old value of the variable
    behind the op that makes the operand, which is on the same device. The update then is its only reader, and joins the
    kernel that makes it.

    Precondition: variables are arguments and results; ops are placed, copies made.
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def CloneCheapOpsPass : Pass<"gantry-clone-cheap-ops", "::mlir::ModuleOp"> {
  let summary = "compute cheap values again in the kernels that read them";
  let description = [{
    The result of a kernel that at most four elementwise ops make is made again in each kernel that reads it, where less is
    read and written then, and no more is held longer than the result itself was. It is not stored any more: a batch norm
    holds its image for its gradient, neither the normalised one nor that without its mean. A small result of a
    reduction that the ops read is stored in its place. No bit changes.

    Precondition: ops are placed and shapes static; nothing merges equal ops between here and gantry-form-kernels.
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def FormKernelsPass : Pass<"gantry-form-kernels", "::mlir::ModuleOp"> {
  let summary = "group ops into kernels";
  let description = [{
    Ops whose values are used by one group only, on the same device, join it where the target of the
    device lets them. Groups that read the same, or one what the other makes, become one with the results of
    both where the target lets them and both can run at one place. Each group becomes a `gantry.kernel` in the target's module of kernels, which
    carries `gantry.target`, and a `gantry.launch` in its place; equal groups share a kernel. Views
    and constants stay outside, but for constants of one element, which are cloned in. Where four
    kernels or more differ in such numbers alone, these are arguments of one kernel.

    Kernels say in `gantry.work` which arguments their results may overwrite. Where `gantry.targets` names more drivers,
    groups are made that the targets of those let share a kernel, too, and each has its own.

    Launches stand where an op of their group stood, the last one as a rule.
  }];
  let options = [
    Option<"fuse", "fuse", "bool", "true", "join ops; without it each op is a kernel">,
    Option<"keepOnce", "keep-once", "bool", "false", "no layout for a constant that others than products read, so that it is not kept twice">];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def PackOperandsPass : Pass<"gantry-pack-operands", "::mlir::ModuleOp"> {
  let summary = "pack operands once that several kernels, or the rounds of a loop, read";
  let description = [{
    A computed operand that kernels would pack for themselves is packed by a kernel of its own, `pack_N`, where these run so often
    that it pays: several of them, or one in a loop that does not change the operand. It is launched in front of the first of
    them, out of such loops. They get a kernel that takes the operand in its layout (`gantry.layouts`), as kernels take
    constants; what they are given is one row of all elements of the panels. Kernels that nothing launches any more go.
    No bit changes: sums have the same terms in the same order.

    Precondition: functions consist of launches. Left alone is what targets do not agree on, and what is read where it lies.
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def VerifyKernelsPass : Pass<"gantry-verify-kernels", "::mlir::ModuleOp"> {
  let summary = "check that every launch has its kernel and the right operands";
  let description = [{ From here on functions consist of launches, views, constants and control flow. }];
}

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

def LowerKernelsPass : Pass<"gantry-lower-kernels", "::mlir::ModuleOp"> {
  let summary = "bring kernels into the form of their target";
  let description = [{
    Runs on each module of kernels the passes of the target that it names. Afterwards kernels are
    functions, and their work items and their scratch memory are known: `gantry.work`.
  }];
  let options = [
    ListOption<"targets", "targets", "std::string",
               "names of those that there may be kernels for, whose dialects are loaded; none: all">];
}

//===----------------------------------------------------------------------===//
// Replicate
//===----------------------------------------------------------------------===//

def ExpandReplicasPass : Pass<"gantry-expand-replicas", "::mlir::func::FuncOp"> {
  let summary = "replace replicated regions by the ops of the replicas";
  let description = [{
    Precondition: static shapes outside of replicated regions. Of each `gantry.replicate` the body is
    cloned once for each device, with a request for it and `/replica_i` after the names, on shards that
    `gantry.slice` cuts out; types inside are inferred again from the shards. Results are joined by
    `gantry.concat`, or added up in the order of the devices. A replica with an empty shard is left out
    where nothing but its share of a result would come of it. What the replicas have in common becomes
    one `gantry.all_reduce` with an operand for each of them; a `gantry.if` or `gantry.while` that has one
    inside is one for all replicas, under the condition of the first, which gantry-check-collectives has
    found to be that of all. `gantry.share` becomes the number that it is, in all functions.

    With `parts` the body is cloned once for each part that has rows, with `/part_i` after the names; what is
    the same for all parts of a device once for each device, with `/replica_i`. Sums are `gantry.all_reduce tree`.
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def ExpandGradientsPass : Pass<"gantry-expand-gradients", "::mlir::ModuleOp"> {
  let summary = "replace gradients by the ops of the way there and back";
  let description = [{
    Precondition: calls, scopes, variables and replicas are resolved, and shapes are static where a way
    back leads. Each `gantry.gradient` becomes the ops of its region, and behind them those of the way
    back, from the last op to the first, made by the rules of GradientOpInterface; gradients inside of
    others first. An op of the way back has the request, the origin and the location of the op that it
    belongs to, and its name with `/grad` behind. Equal ops are merged before, while no op has a name that
    it did not bring. What a value gets from its uses is added one by one, from the last use to the first.
    `gantry.checkpoint`, `gantry.custom_gradient` and `gantry.stop_gradient` are gone, too: the first
    region of the one, the operand of the other. A module without any of these ops is left alone.

    An op without a rule, and an operand that the loss does not depend on, are errors.
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def ExpandCollectivesPass : Pass<"gantry-expand-collectives", "::mlir::func::FuncOp"> {
  let summary = "replace collectives by direct exchange";
  let description = [{
    A `gantry.all_reduce` of n values is cut into n chunks: replica i adds up the i-th chunks of all, in
    the order of the replicas, and every replica joins the sums (spec R3). Small values are added up
    where each result is wanted, which is fewer and not more bytes. Copies are left to the Copy phase.

    A `tree` is added by halves: what a device has of a whole half it adds itself, right behind the
    values, and the sums are exchanged as values are otherwise.

    With `exchanges` devices of several tasks do it by `gantry.exchange`: the first one of each task brings
    the values of all of its task, an all-to-all of chunks gives each the rows of its own, which
    `gantry.add_rows` adds, and an all-gather the sums. Small values are gathered, and added by each. The order of the sum
    is the same, and there are as many ops as devices. Where the devices of a task do not follow each
    other, or the topology has not all of them, it is done by slices and copies as within a task.
  }];
  let options = [Option<"exchanges", "exchanges", "bool", "false",
                        "devices of several tasks exchange what they have by collectives">,
                 Option<"gatherBytes", "gather-bytes", "uint64_t", "65536",
                        "below so many bytes of all tasks together, values are gathered and not cut into chunks">,
                 Option<"smallBytes", "small-bytes", "uint64_t", "16384",
                        "values up to so many bytes are not cut into chunks">,
                 Option<"pieceBytes", "piece-bytes", "uint64_t", "2097152",
                        "a chunk is exchanged in pieces of about so many bytes, so that copying one and adding up another overlap">];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def VerifyReplicatedPass : Pass<"gantry-verify-replicated", "::mlir::ModuleOp"> {
  let summary = "check that no replicated region and no collective is left";
  let description = [{ From here on each op runs once, on one device. }];
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

def OrderLaunchesPass : Pass<"gantry-order-launches", "::mlir::ModuleOp"> {
  let summary = "put launches in an order that holds few bytes at a time";
  let description = [{
    Where one device computes a function, its launches are put in the order that holds the fewest
    bytes at a time, of: the order of the graph, along the operands from the results, always what
    leaves the fewest bytes, and a beam over what may have run. An order counts when it is predicted
    to take at most 2 % longer than the shortest. Of equal ones the first wins, so nothing moves
    for nothing. Functions that change variables keep their order.
  }];
}

def LowerToPlanPass : Pass<"gantry-lower-to-plan", "::mlir::ModuleOp"> {
  let summary = "turn launches of values into commands over buffers";
  let description = [{
    Precondition: kernels are lowered to functions that know their items and scratch. Each public
    function becomes a `plan.func`: values become buffers, views share the buffer of their source,
    results are computed in the caller's outputs where they can be, control flow carries values by
    copies. Constants become `plan.constant`.

    An argument with `gantry.donate` is paired with an output of its type, on its device, that is computed
    behind all that reads the argument, or reads it byte by byte. The first command copies the one to the
    other, nothing else has the input, and the output gets `gantry.over`, the input's number: both may be one
    array. A remark says of an argument without such an output why.

    Commands keep the order of the ops. A `gantry.exchange` becomes a `plan.exchange` and a `plan.part` for each member, side by
    side; with `messages` a copy from one task to another does, too. The condition of a branch or loop is then
    copied to CPU:0 of each task that has commands inside.
  }];
  let options = [
    Option<"inPlace", "in-place", "bool", "true", "let results take the place of operands that end">,
    Option<"messages", "messages", "bool", "false", "copies between tasks become messages">];
  let dependentDialects = ["::gantry::plan::ir::PlanDialect"];
}

def OrderCommandsPass : Pass<"gantry-order-commands", "::mlir::ModuleOp"> {
  let summary = "put commands in the order in which they are predicted to start";
  let description = [{
    Between two control-flow commands, each compute queue runs its own in their order, each as soon
    as its values are there, and each copy queue what is ready first, for as long as the cost model
    says by the rates of the plan's devices. Commands are sorted by when they start. Memory that is
    used again is then used again by what runs later, not by what stood later in the graph. One queue
    alone stays as it is. Exchanges between tasks stay where they are, and so does what stands in front
    of them or behind.
  }];
  let dependentDialects = ["::gantry::plan::ir::PlanDialect"];
}

def CoalesceCopiesPass : Pass<"gantry-coalesce-copies", "::mlir::ModuleOp"> {
  let summary = "copy small values that go the same way at the same time as one transfer";
  let description = [{
    Copies that follow each other on a queue, between the same two devices, become one command when
    the later ones' values are predicted to be there as the first starts, and when all their bytes
    take no longer than the latency of the link: they pay it once then, and no value waits longer
    for the others than one of them gains. Each value keeps its name, its cause and its line in the
    log (spec X5).
  }];
  let dependentDialects = ["::gantry::plan::ir::PlanDialect"];
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
    nobody. Where the device's limit is too low for that, what the host keeps comes in as early as there
    is room for it (`gate`), or else commands wait for memory, and copies into the device move down to
    their first uses. Constants and variables are laid out one after the other. All offsets
    that kernels use are multiples of 64 bytes.

    First, launches go that only put buffers one behind the other (`gantry.joins`) or cut bytes out of one
    (`gantry.cuts`): the smaller buffers lie in the larger one and say so (`gantry.shares`), where none is
    written while another one of its bytes is still read, and no more bytes are live than before at the
    fullest moment. What cannot lie there is copied, when that is the smaller half.
  }];
  let options = [Option<"reuse", "reuse", "bool", "true", "let values that end make room for others">,
                 Option<"gate", "gate", "bool", "true", "let copies into a device come when it has room">,
                 Option<"trial", "trial", "bool", "false", "search for layouts briefly: the plan is one of many">];
  let dependentDialects = ["::gantry::plan::ir::PlanDialect"];
}

def OrderQueuesPass : Pass<"gantry-order-queues", "::mlir::ModuleOp"> {
  let summary = "put signals and waits where queues meet";
  let description = [{
    Two commands on different queues that use a byte which one of them writes run in the order of the
    plan: a `plan.signal` after the one, a `plan.wait` before the other. That holds for values that
    go from queue to queue and for memory that is used again. What queues, other waits, and the
    joining of all queues at control flow imply already gets none, so no wait can be taken away.
  }];
  let dependentDialects = ["::gantry::plan::ir::PlanDialect"];
}

def CheckLimitsPass : Pass<"gantry-check-limits", "::mlir::ModuleOp"> {
  let summary = "refuse a plan that a device has no room for";
  let description = [{
    The constants, variables, inputs and outputs, and the transient memory of one session on a device
    must be within its limit (spec M2). Else the error names the device, the sum with its parts, the
    command at the fullest moment, the largest values there, and a limit that would do; the tools'
    exit status is 3.
  }];
  let options = [
    Option<"isRepaired", "is-repaired", "bool", "false",
           "plans that fit are looked for: the error does not say that they could be">
  ];
  let dependentDialects = ["::gantry::plan::ir::PlanDialect"];
}

def VerifyPlanPass : Pass<"gantry-verify-plan", "::mlir::ModuleOp"> {
  let summary = "check that every buffer has its place in an arena";
  let description = [{ From here on the module can be written as a plan file. }];
}

def VerifyCommandsPass : Pass<"gantry-verify-commands", "::mlir::ModuleOp"> {
  let summary = "check that uses of the same bytes are in order, and live buffers apart";
  let description = [{
    Precondition: every buffer has its place. From commands and bytes alone, an independent judge
    (`Judge/QueueProgram.h`) derives two things, for both ways of a branch and any number of rounds of a
    loop. Two commands that use a byte, one of them writing it, are in an order: of their queue, by
    signals and waits, or by the joining of all queues at control flow. And what a command reads from
    a buffer was last written to that buffer, so no two that hold a value share a byte; outputs are
    written, constants and variables kept.
  }];
}

#endif
