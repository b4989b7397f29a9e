//===- ExchangeOps.td - What goes between tasks, in a plan ----------------===//
//
// In a file of its own: few look at these (see gantry/Dialect/Plan/IR/Exchanges.h).
//
#ifndef GANTRY_EXCHANGE_OPS_TD
#define GANTRY_EXCHANGE_OPS_TD

include "gantry/Dialect/Plan/IR/PlanOps.td"
include "gantry/Dialect/Gantry/IR/SeveralDevices.td"

def Plan_ExchangeOp : Plan_Op<"exchange", [Symbol]> {
  let summary = "describe what tasks exchange";
  let description = [{
    `members` are devices of different tasks, each of which has one `plan.part` of it; `sizes` are bytes. Of a
    `message`, from the first member to the second, and of a `broadcast`, from the first to all others, the
    one number of what goes; of an `all_gather` what each member brings; of an `all_to_all` a row of each
    member's chunk, of which a member brings so many `rows`, or one. `cause` is the use that made it.
    Example: `plan.exchange @x0 message of [@d0, @d1] sizes [64] for "fc1" "x"`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Gantry_ExchangeKind:$kind,
                       TypedArrayAttrBase<FlatSymbolRefAttr, "devices">:$members, DenseI64ArrayAttr:$sizes,
                       OptionalAttr<DenseI64ArrayAttr>:$rows, DefaultValuedStrAttr<StrAttr, "">:$cause,
                       StrAttr:$name);
  let assemblyFormat = [{
    $sym_name custom<ExchangeKind>($kind) `of` $members `sizes` $sizes (`rows` $rows^)? (`for` $cause^)? $name
    attr-dict
  }];
}

def Plan_PartOp : Plan_Op<"part", [AttrSizedOperandSegments]> {
  let summary = "do what one member of an exchange does";
  let description = [{
    Member `rank` brings what is in `source` and gets what it gets in `target`; who brings or gets
    nothing has none. The part of a message's first member sends, that of the second receives. The parts of an
    exchange stand side by side in one block, by rank: so each task does its own in the order of the plan,
    and none waits for one that waits for it. `queue`, of the member's device: 4 for messages that
    go out, 5 for those that come in, 6 for all else.

    Example: `plan.part 0 of @x0 from %a on @d0 queue 4 "x" at "model.onnx"`, or
    `plan.part 1 of @x1 from %a to %b on @d1 queue 6 "sum" at "model.onnx"`
  }];
  let arguments = (ins I64Attr:$rank, FlatSymbolRefAttr:$exchange, Optional<Plan_BufferType>:$source,
                       Optional<Plan_BufferType>:$target, FlatSymbolRefAttr:$device, Plan_Count:$queue,
                       StrAttr:$name, StrAttr:$location);
  let assemblyFormat = [{
    $rank `of` $exchange (`from` $source^)? (`to` $target^)? `on` $device (`queue` $queue^)? $name `at` $location
    attr-dict
  }];
  let hasVerifier = 1;
}

def Plan_ConditionsOp : Plan_Op<"conditions"> {
  let summary = "give a branch or loop the conditions of other tasks";
  let description = [{
    Where commands of several tasks are inside of the `plan.if` or `plan.while` that comes next, each task has
    the condition on its own host: these are those of all tasks but the first, in their order.

    Example:
    ```mlir
    module {
      plan.func @main inputs [] outputs [] {
        %c = plan.buffer size 1 on @d0 "condition" : tensor<i1>
        %d = plan.buffer size 1 on @d1 "condition" : tensor<i1>
        plan.conditions %d
        plan.if %c {
        } else {
        }
      }
    }
    ```
  }];
  let arguments = (ins Variadic<Plan_BufferType>:$others);
  let assemblyFormat = "$others attr-dict";
}

#endif
