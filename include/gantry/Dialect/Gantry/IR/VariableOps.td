//===- VariableOps.td - Variables, replicas, collectives ------------------===//
#ifndef GANTRY_VARIABLE_OPS_TD
#define GANTRY_VARIABLE_OPS_TD

include "gantry/Dialect/Gantry/IR/ElementwiseOps.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Variables: values that outlive a run
//===----------------------------------------------------------------------===//

def Gantry_VariableOp : Op<Gantry_Dialect, "variable", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "declare a value that outlives a run";
  let description = [{
    All functions of the module share it; before the first run it is `value`. Its `gantry.device`
    says where it lives and softens like any other request (spec P8). Where it is used in a
    `gantry.replicate`, each replica has a mirror of it, or, when it is `central`, all use the one
    (spec R4). Mirrors hold the same value, so replicas assign them what is the same for all; those of
    a `local` variable may differ. Resolve turns variables into arguments of functions with tied results.

    Example:
    ```mlir
    module {
      gantry.variable @step {gantry.device = #gantry.device<"CPU:0">} = dense<0> : tensor<i64>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ElementsAttr:$value, UnitAttr:$central, UnitAttr:$local,
                       OptionalAttr<FlatSymbolRefAttr>:$mirror_of);
  let assemblyFormat = "(`central` $central^)? (`local` $local^)? $sym_name (`mirror` `of` $mirror_of^)? attr-dict `=` $value";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getValue().getType());
    }
  }];
}

/// What reads or writes a variable by name; none remains after Resolve.
class Gantry_VariableAccessOp<string mnemonic, string logName, list<Trait> traits>
    : Op<Gantry_Dialect, mnemonic, traits # [
        KernelOpInterface, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let extraClassDeclaration = [{
    ::llvm::StringRef getLogName() { return "}] # logName # [{"; }
    ::gantry::FusionKind getFusionKind() { return ::gantry::FusionKind::Opaque; }
  }];
}

def Gantry_ReadOp : Gantry_VariableAccessOp<"read", "ReadVariableOp", [MemoryEffects<[MemRead]>]> {
  let summary = "give the value of a variable";
  let description = [{
    The value at this point of the program: later assignments do not change what was read. A device
    request elsewhere than where the variable lives is a copy of it (spec P8). Resolve replaces it.

    Example:
    ```mlir
    module {
      gantry.variable @w = dense<0.5> : tensor<4xf32>
      func.func @weights() -> tensor<4xf32> {
        %0 = gantry.read @w : tensor<4xf32>
        return %0 : tensor<4xf32>
      }
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$variable);
  let results = (outs Gantry_Tensor:$result);
  let assemblyFormat = "$variable attr-dict `:` type($result)";
}

def Gantry_AssignOp : Gantry_VariableAccessOp<"assign", "AssignVariableOp", [MemoryEffects<[MemWrite]>]> {
  let summary = "give a variable another value";
  let description = [{
    Runs where the variable lives; requesting another device is an error, or a remark where the
    request is soft (spec P8). Resolve replaces it by `gantry.update`.

    Example:
    ```mlir
    module {
      gantry.variable @w = dense<0.5> : tensor<4xf32>
      func.func @set(%x: tensor<4xf32>) {
        gantry.assign @w, %x : tensor<4xf32>
        return
      }
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$variable, Gantry_Tensor:$value);
  let assemblyFormat = "$variable `,` $value attr-dict `:` type($value)";
}

def Gantry_AssignAddOp : Gantry_VariableAccessOp<"assign_add", "AssignAddVariableOp",
    [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "add to a variable";
  let description = [{
    As `gantry.assign` of the sum. Resolve replaces it by `gantry.update_add`.

    Example:
    ```mlir
    module {
      gantry.variable @step = dense<0> : tensor<i64>
      func.func @count(%one: tensor<i64>) -> tensor<i64> {
        gantry.assign_add @step, %one : tensor<i64>
        %0 = gantry.read @step : tensor<i64>
        return %0 : tensor<i64>
      }
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$variable, Gantry_NumberTensor:$value);
  let assemblyFormat = "$variable `,` $value attr-dict `:` type($value)";
}

def Gantry_OptimizerStepOp : Op<Gantry_Dialect, "optimizer_step", [
    MemoryEffects<[MemRead, MemWrite]>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "give a variable its next value by the rule of an optimizer";
  let description = [{
    Assigns the variable, whose elements are floats, the value that `rule` makes of it, of the gradient, of the rate and of the
    number of the step, which is 1 at the first one. The rules and their numbers are in `Optimizers.md`;
    `numbers` says those that are not as there. Each rule knows two more: `l2` is added to the gradient
    times the variable, `decay` times the rate is taken off the variable before.

    What a rule keeps between steps are variables `@"w/adam/m"`, beside the variable and mirrored as it
    is. `slots` is the name in the middle, the rule's where none is given: optimizers that differ in
    it share nothing. Scalars are computed in f64 and rounded once, elements of f16 and bf16 in f32. Resolve
    replaces the op.

    Example:
    ```mlir
    module {
      gantry.variable @w = dense<0.5> : tensor<4xf32>
      func.func @step(%g: tensor<4xf32>, %rate: tensor<f64>, %step: tensor<i64>) {
        gantry.optimizer_step "adam" @w, %g, %rate, %step {numbers = {beta2 = 0.99}} : tensor<4xf32>, tensor<f64>, tensor<i64>
        return
      }
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$variable, StrAttr:$rule, Gantry_FloatTensor:$gradient,
                       RankedTensorOf<[F64]>:$rate, RankedTensorOf<[I64]>:$step,
                       OptionalAttr<DictionaryAttr>:$numbers, OptionalAttr<StrAttr>:$slots);
  let assemblyFormat = [{
    $rule $variable `,` $gradient `,` $rate `,` $step attr-dict `:` type($gradient) `,` type($rate) `,` type($step)
  }];
  let hasVerifier = 1;
}

def Gantry_UpdateOp : Gantry_ElementwiseOp<"update", "AssignVariableOp"> {
  let summary = "be the next value of a variable";
  let description = [{
    The operand, as an op of its own: it is placed where the variable lives and has a line in the
    placement log. Made by Resolve of `gantry.assign`.

    Example: `%y = gantry.update %x : (tensor<4xf32>) -> tensor<4xf32>`
  }];
  let arguments = (ins Gantry_Tensor:$value);
  let results = (outs Gantry_Tensor:$result);
}

def Gantry_UpdateAddOp : Gantry_ElementwiseOp<"update_add", "AssignAddVariableOp", [SameTypeOperands]> {
  let summary = "be the next value of a variable that is added to";
  let description = [{
    `current` + `value`, element by element. Made by Resolve of `gantry.assign_add`.

    Example: `%y = gantry.update_add %w, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>`
  }];
  let arguments = (ins Gantry_NumberTensor:$current, Gantry_NumberTensor:$value);
  let results = (outs Gantry_NumberTensor:$result);
}

//===----------------------------------------------------------------------===//
// Replicas
//===----------------------------------------------------------------------===//

def Gantry_ReplicateOp : Op<Gantry_Dialect, "replicate", [SingleBlock, RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "run a region once on each of several devices";
  let description = [{
    The region has one argument for each entry of `inputs`:

    - `split N`: the operand's shard along axis N. Shards are rows in order, ceil(size / replicas)
      each as far as they go, or in proportion to `weights`; the last ones may be smaller or empty.
      The argument's dimension N is open;
    - `broadcast`: the operand itself. Values from outside are the same;
    - `per_replica`: as many operands as there are devices, one for each.

    and yields one value for each entry of `outputs`:

    - `gather N`: joined along axis N in the order of the devices;
    - `sum`: added up in the order of the devices;
    - `mean`: added up, each with the share of the global batch that its replica had;
    - `same`: the replicas agree by construction; the first one's value;
    - `per_replica`: as many results as there are devices.

    A replica whose shard is empty computes nothing but what is needed of it. The Replicate phase
    replaces the op by the ops of the replicas (spec R1, R2).

    With `parts` N the batch is cut into N parts, ceil(size / N) rows each as far as they go, and those that
    have rows are dealt to the devices in ranges, equally or in proportion to `weights`. The region runs
    once for each part; what is the same for all parts of a device, it computes once. What parts
    give is added in a balanced tree over their numbers, as `gantry.all_reduce` has it, so that the bytes
    of the results depend on N and not on the devices (spec T4). Modes `per_replica` are of devices.

    Example:
    ```mlir
    func.func @dense(%x: tensor<8x4xf32>, %w: tensor<4x2xf32>) -> tensor<8x2xf32> {
      %y = gantry.replicate (%x, %w) on ["GPU:0", "GPU:1"] takes [split 0, broadcast] gives [gather 0]
          : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32> {
      ^bb0(%shard: tensor<?x4xf32>, %v: tensor<4x2xf32>):
        %0 = gantry.matmul %shard, %v : (tensor<?x4xf32>, tensor<4x2xf32>) -> tensor<?x2xf32>
        gantry.yield %0 : tensor<?x2xf32>
      }
      return %y : tensor<8x2xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Gantry_Tensor>:$values, Gantry_DeviceArray:$devices,
                       OptionalAttr<DenseI64ArrayAttr>:$weights, OptionalAttr<I64Attr>:$parts,
                       Gantry_ReplicaModeArray:$inputs, Gantry_ReplicaModeArray:$outputs);
  let results = (outs Variadic<Gantry_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $values `)` `on` custom<Devices>($devices) (`weights` $weights^)? (`parts` $parts^)?
    `takes` custom<ReplicaModes>($inputs) `gives` custom<ReplicaModes>($outputs) `:`
    functional-type($values, $results) $body attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    DeviceAttr getDevice(size_t replica) {
      return ::llvm::cast<DeviceAttr>(getDevices()[replica]);
    }
    auto getInputModes() { return getInputs().getAsRange<ReplicaModeAttr>(); }
    auto getOutputModes() { return getOutputs().getAsRange<ReplicaModeAttr>(); }
    /// Each part is all ops of the region.
    static constexpr int64_t kMostParts = 64;
    /// Whether the region runs more than once.
    bool isSplit() { return getDevices().size() > 1 || getParts().value_or(1) > 1; }
  }];
}

def Gantry_ShareOp : Op<Gantry_Dialect, "share", [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "tell which share of the batch a replica has";
  let description = [{
    In a `gantry.replicate` the rows of this replica's shard over all rows, an f32 scalar; where nothing
    is split, 1 over the number of replicas. Elsewhere it is 1. A loss that is a mean over rows is seeded
    with it: then the sum over all replicas of what they give is the gradient of the mean over the whole
    batch, also for shards of different sizes. Replicate makes a number of it.

    Example:
    ```mlir
    func.func @slope(%x: tensor<6xf32>, %w: tensor<f32>) -> tensor<f32> {
      %0 = gantry.replicate (%x, %w) on ["GPU:0", "GPU:1"] takes [split 0, broadcast] gives [same]
          : (tensor<6xf32>, tensor<f32>) -> tensor<f32> {
      ^bb0(%shard: tensor<?xf32>, %v: tensor<f32>):
        %share = gantry.share : tensor<f32>
        %loss, %dv = gantry.gradient (%v, %share) seeds 1 : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>) {
        ^bb0(%u: tensor<f32>):
          %1 = gantry.mul %shard, %u : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
          %2 = gantry.reduce_mean %1 {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
          gantry.yield %2 : tensor<f32>
        }
        %sum = gantry.all_reduce sum %dv : (tensor<f32>) -> tensor<f32>
        gantry.yield %sum : tensor<f32>
      }
      return %0 : tensor<f32>
    }
    ```
  }];
  let results = (outs RankedTensorOf<[F32]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Gantry_AllReduceOp : Op<Gantry_Dialect, "all_reduce", [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "combine values of replicas and give each the outcome";
  let description = [{
    One operand inside of a `gantry.replicate`, or in a private function that is called there: the
    replicas' values are combined. In a branch or a loop the condition must be the same on every
    replica. Elsewhere one operand and one result for each of `devices`. `sum` adds in the order of the replicas, for each
    element the same on every device (spec R3); `mean` takes each with its share of `weights`, in a
    region with the replica's share of the global batch. Replaced in the Replicate phase by the
    slices, copies, sums and joins of a direct exchange.

    With `tree` the values are those of parts, by number, and are added in a balanced tree: every 2^k of
    them that begin at a multiple of 2^k are one sum, of two sums of 2^(k-1); of the last ones as many as
    there are. Devices may be listed more than once then. A device adds the sums of which it has all values,
    and sends these alone. In a region `parts` of that decides it.

    Where a library may do it instead
    (`--collectives=nccl`), one part for each device, with its `gantry.rank`, stays in the region of a
    `gantry.if` that the library decides.

    Example: `%y:2 = gantry.all_reduce sum %a, %b on ["GPU:0", "GPU:1"] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)`
  }];
  let arguments = (ins Variadic<Gantry_NumberTensor>:$values, Gantry_CombineKindAttr:$kind,
                       OptionalAttr<Gantry_DeviceArray>:$devices,
                       OptionalAttr<DenseI64ArrayAttr>:$weights, UnitAttr:$tree);
  let results = (outs Variadic<Gantry_NumberTensor>:$results);
  let assemblyFormat = [{
    custom<CombineKind>($kind) (`tree` $tree^)? $values (`on` custom<Devices>($devices)^)? (`weights` $weights^)? attr-dict `:`
    functional-type($values, $results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = compatibleTypes;
}

#endif
