//===- StructureOps.td - Scopes, control flow, copies, kernels ------------===//
#ifndef GANTRY_STRUCTURE_OPS_TD
#define GANTRY_STRUCTURE_OPS_TD

include "gantry/Dialect/Gantry/IR/GantryBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"

def Gantry_YieldOp : Op<Gantry_Dialect, "yield", [Pure, Terminator,
    DeclareOpInterfaceMethods<RegionBranchTerminatorOpInterface>]> {
  let summary = "end a region and give its values";
  let description = [{
    Terminator of the regions of this dialect. What the condition of a loop yields says where to go
    and goes nowhere itself.

    Example:
    ```mlir
    func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = gantry.on "CPU:0" -> (tensor<4xf32>) {
        %0 = gantry.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        gantry.yield %0 : tensor<4xf32>
      }
      return %y : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ }]>];
}

def Gantry_OnOp : Op<Gantry_Dialect, "on", [SingleBlock, RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "request a device for the ops inside";
  let description = [{
    Every op inside requests `device`; inner scopes are merged into outer ones part by part (spec
    D3). `soft` says what may become of the request (spec P5): `strict` obeys or refuses, `prefer`
    falls back with a remark, `any` only breaks ties; without it the tools' `--soft-placement`
    decides. Resolve turns scopes into attributes, none remain after it.

    Example:
    ```mlir
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = gantry.on "GPU:1" -> (tensor<4xf32>) {
        %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
        gantry.yield %0 : tensor<4xf32>
      }
      return %y : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Gantry_DeviceAttr:$device, OptionalAttr<Gantry_SoftModeAttr>:$soft);
  let results = (outs Variadic<Gantry_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "custom<Device>($device) (`soft` custom<SoftMode>($soft)^)? (`->` `(` type($results)^ `)`)? $body attr-dict";
  let hasVerifier = 1;
}

def Gantry_CopyOp : Op<Gantry_Dialect, "copy", [AlwaysSpeculatable, SameOperandsAndResultType,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "bring a value to a device";
  let description = [{
    The same value on `device`; nothing happens when it is there already. With `force` the result is
    always a new buffer, another one for each copy, and memory effects say so. Inserted by Copy for
    every edge between devices; after Copy `device` is a full name, no other copies are left, and
    `cause` says in words which use was the first to need it.

    Example: `%y = gantry.copy %x to "GPU:1" : tensor<4xf32>`
  }];
  let arguments = (ins Gantry_Tensor:$input, Gantry_DeviceAttr:$device, UnitAttr:$force,
                       OptionalAttr<StrAttr>:$cause);
  let results = (outs Gantry_Tensor:$result);
  let assemblyFormat = "$input `to` custom<Device>($device) (`force` $force^)? attr-dict `:` type($input)";
}

/// What may go along an edge of control flow: types that differ in open dimensions alone.
defvar compatibleEdges = [{
  bool areTypesCompatible(::mlir::Type lhs, ::mlir::Type rhs) {
    return ::gantry::detail::areCompatibleTypes(lhs, rhs);
  }
}];

def Gantry_IfOp : Op<Gantry_Dialect, "if", [SingleBlock, RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"YieldOp">,
    DeclareOpInterfaceMethods<RegionBranchOpInterface>]> {
  let summary = "run one of two regions";
  let description = [{
    `condition` is a scalar i1 on the host. Both regions yield the results' types.

    Example:
    ```mlir
    func.func @choose(%c: tensor<i1>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
      %y = gantry.if %c -> (tensor<4xf32>) {
        gantry.yield %a : tensor<4xf32>
      } else {
        gantry.yield %b : tensor<4xf32>
      } : tensor<i1>
      return %y : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Gantry_BoolTensor:$condition);
  let results = (outs Variadic<Gantry_Tensor>:$results);
  let regions = (region SizedRegion<1>:$then_body, SizedRegion<1>:$else_body);
  let assemblyFormat = "$condition (`->` `(` type($results)^ `)`)? $then_body `else` $else_body attr-dict `:` type($condition)";
  let hasVerifier = 1;
  let extraClassDeclaration = compatibleEdges;
}

def Gantry_WhileOp : Op<Gantry_Dialect, "while", [SingleBlock, RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"YieldOp">,
    DeclareOpInterfaceMethods<RegionBranchOpInterface, ["getEntrySuccessorOperands"]>]> {
  let summary = "run a region while a condition holds";
  let description = [{
    Carried values start as `inits`. The condition region takes them and yields one scalar i1; while
    it is true, the body region takes them and yields the next ones. The results are the last ones.

    With `at_most N` the body runs at most N times: a condition that still holds then ends the run with an
    error, as an index out of range does (`gantry-bound-loops`). A loop whose rounds no constants tell has a
    gradient by it: so many rows are kept for the way back.

    As a `RegionBranchOpInterface` it tells the flow of values exactly: `inits`, and what the body
    yields, become the arguments of both regions and the results. MLIR forwards only operands of a
    terminator, and the condition yields the flag alone; so the edges that carry values go around the
    condition, and the edges from it carry none.

    Example:
    ```mlir
    func.func @count(%x: tensor<i64>, %n: tensor<i64>, %one: tensor<i64>) -> tensor<i64> {
      %y = gantry.while (%x) : (tensor<i64>) -> (tensor<i64>) {
      ^bb0(%i: tensor<i64>):
        %0 = gantry.compare lt, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
        gantry.yield %0 : tensor<i1>
      } do {
      ^bb0(%i: tensor<i64>):
        %1 = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
        gantry.yield %1 : tensor<i64>
      }
      return %y : tensor<i64>
    }
    ```
  }];
  let arguments = (ins Variadic<Gantry_Tensor>:$inits, OptionalAttr<I64Attr>:$at_most);
  let results = (outs Variadic<Gantry_Tensor>:$results);
  let regions = (region SizedRegion<1>:$condition_body, SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $inits `)` (`at_most` $at_most^)? `:` functional-type($inits, $results) $condition_body `do` $body
    attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = compatibleEdges;
}

//===----------------------------------------------------------------------===//
// Kernels: made by Fuse, lowered by Target
//===----------------------------------------------------------------------===//

def Gantry_KernelOp : Op<Gantry_Dialect, "kernel", [IsolatedFromAbove, Symbol, SingleBlock,
    NoTerminator, HasParent<"::mlir::ModuleOp">]> {
  let summary = "hold the ops that become one kernel";
  let description = [{
    The body computes its yielded values from its arguments. Made by Fuse, one per group of ops that
    differ from every other group; none remain after Target.

    Example:
    ```mlir
    module {
      gantry.kernel @relu_0 {
      ^bb0(%x: tensor<4xf32>):
        %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
        gantry.yield %0 : tensor<4xf32>
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Gantry_LaunchOp : Op<Gantry_Dialect, "launch", [Pure]> {
  let summary = "run a kernel";
  let description = [{
    Computes the kernel's yielded values from the operands. `kernel` is that of the target of the
    device; `also` are the same kernel for the targets of other drivers that the plan is to run with.
    `ops` lists the ops that went into the kernel, in order, for the placement log.

    Example: `%y = gantry.launch @kernels_cpu::@relu_0(%x) ops [#gantry.launched<"Relu">] : (tensor<4xf32>) -> tensor<4xf32>`
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Variadic<Gantry_Tensor>:$operands_,
                       DefaultValuedAttr<TypedArrayAttrBase<SymbolRefAttr, "kernels of other targets">, "{}">:$also,
                       DefaultValuedAttr<TypedArrayAttrBase<Gantry_LaunchedOpAttr, "ops of a kernel">, "{}">:$ops);
  let results = (outs Variadic<Gantry_Tensor>:$results);
  let assemblyFormat = [{
    $kernel `(` $operands_ `)` (`also` $also^)? (`ops` $ops^)? attr-dict `:`
    functional-type($operands_, $results)
  }];
}

#endif
