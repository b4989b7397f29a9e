//===- CollectiveOps.td - What devices of several tasks do together -------===//
#ifndef GANTRY_COLLECTIVE_OPS_TD
#define GANTRY_COLLECTIVE_OPS_TD

include "gantry/Dialect/Gantry/IR/GantryBase.td"
include "gantry/Dialect/Gantry/IR/SeveralDevices.td"

def Gantry_ExchangeOp : Op<Gantry_Dialect, "exchange", [Pure,
    DeclareOpInterfaceMethods<SeveralDevicesOpInterface, ["getMemberOfResult"]>]> {
  let summary = "move elements between devices of several tasks";
  let description = [{
    Moves, and computes nothing. All values are flat and of one type of elements; `devices` are the
    members, each of a task of its own, in the order in which their values come.

    - `all_gather`: each member gets what all of them bring, one behind the other;
    - `all_to_all`: what a member brings has a chunk for each member, one behind the other, and each gets
      its own of all of them. Chunk j has as many elements whoever brings it, which may be none. With
      `rows` a member brings so many rows of each chunk, one behind the other, without it one;
    - `broadcast`: the first member brings a value, all others get it.

    There is an operand for each member, and a result; a broadcast has the first one's operand and the
    others' results. Made by Replicate of collectives whose devices are in several tasks; Schedule
    makes a part for each member of it.

    Example, with chunks of 3 and 1:
    ```mlir
    func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<6xf32>, tensor<2xf32>) {
      %0:2 = gantry.exchange all_to_all %a, %b on ["/job:worker/task:0/CPU:0", "/job:worker/task:1/CPU:0"]
          : (tensor<4xf32>, tensor<4xf32>) -> (tensor<6xf32>, tensor<2xf32>)
      return %0#0, %0#1 : tensor<6xf32>, tensor<2xf32>
    }
    ```
  }];
  let arguments = (ins Gantry_ExchangeKind:$kind, Variadic<Gantry_Tensor>:$values,
                       Gantry_DeviceArray:$devices, OptionalAttr<DenseI64ArrayAttr>:$rows);
  let results = (outs Variadic<Gantry_Tensor>:$results);
  let assemblyFormat = [{
    custom<ExchangeKind>($kind) $values `on` custom<Devices>($devices) (`rows` $rows^)? attr-dict `:`
    functional-type($values, $results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    size_t countMembers() { return getDevices().size(); }
    /// How many rows of each chunk a member brings.
    int64_t countRows(size_t member) { return getRows() ? (*getRows())[member] : 1; }
    /// The same of all members.
    int64_t countRows();
    /// Elements, by member: of a row of its chunk in an all_to_all, else of what it brings.
    ::llvm::SmallVector<int64_t> getSizes();
  }];
}

def Gantry_AddRowsOp : Gantry_InferredOp<"add_rows", "AddN", "Opaque", [CostOpInterface]> {
  let summary = "add up the rows of one value";
  let description = [{
    The sum over the first dimension, of which there is at least one: rows from the first to the last, as
    `gantry.add_n` adds values, so that no zero is added to the first and -0 stays. With `parts` row i is the
    sum of so many parts of a batch, and the rows are added in the balanced tree of `gantry.all_reduce`, of
    which each is a whole subtree.

    Example: `%s = gantry.add_rows %x : (tensor<8x3xf32>) -> tensor<3xf32>`
  }];
  let arguments = (ins Gantry_NumberTensor:$rows, OptionalAttr<DenseI64ArrayAttr>:$parts);
  let results = (outs Gantry_NumberTensor:$result);
  let assemblyFormat = functionalFormat;
  let hasVerifier = 1;
}

#endif
