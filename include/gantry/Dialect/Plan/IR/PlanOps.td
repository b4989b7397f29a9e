//===- PlanOps.td - The plan dialect: how, where and when -----------------===//
#ifndef GANTRY_PLAN_OPS_TD
#define GANTRY_PLAN_OPS_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::gantry::plan::ir";
  let summary = "how, where and when";
  let description = [{
    The plan file in words: devices, arenas, constants and kernels of a module, and for each function
    the commands that run, over buffers. Made by Schedule from placed and fused gantry ops; after
    Memory every buffer has an arena and an offset.
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

def Plan_BufferType : TypeDef<Plan_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "a range of bytes with a place";
  let description = [{ Example: `!plan.buffer` }];
}

class Plan_Op<string mnemonic, list<Trait> traits = []> : Op<Plan_Dialect, mnemonic, traits>;

def Plan_ArenaKind : I32EnumAttr<"ArenaKind", "what lives in an arena and how long", [
  I32EnumAttrCase<"Constants", 0, "constants">, I32EnumAttrCase<"Variables", 1, "variables">,
  I32EnumAttrCase<"Transient", 2, "transient">]> {
  let cppNamespace = "::gantry::plan::ir";
  let genSpecializedAttr = 0;
}
def Plan_ArenaKindAttr : EnumAttr<Plan_Dialect, Plan_ArenaKind, "arena_kind">;

def Plan_CodeKind : I32EnumAttr<"CodeKind", "form of machine code", [
  I32EnumAttrCase<"ElfSharedObject", 0, "elf">, I32EnumAttrCase<"PTX", 1, "ptx">,
  I32EnumAttrCase<"Cubin", 2, "cubin">]> {
  let cppNamespace = "::gantry::plan::ir";
  let genSpecializedAttr = 0;
}
def Plan_CodeKindAttr : EnumAttr<Plan_Dialect, Plan_CodeKind, "code_kind">;

class Plan_Attr<string name, string attrMnemonic> : AttrDef<Plan_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Plan_BindingAttr : Plan_Attr<"Binding", "binding"> {
  let summary = "describe an input or output of a function";
  let description = [{
    Bound per run; `device` is where the function wants its bytes.
    Example: `#plan.binding<"x" : tensor<16xf32> on @d0>`
  }];
  let parameters = (ins StringRefParameter<"name">:$name, "::mlir::Type":$type,
                        "::mlir::FlatSymbolRefAttr":$device);
  let assemblyFormat = "`<` $name `:` $type `on` $device `>`";
}

def Plan_PlacedAttr : Plan_Attr<"Placed", "placed"> {
  let summary = "say where an op of the graph is and why";
  let description = [{
    A line of the placement log: the op's TensorFlow-style name, its device, the kernel it is a part
    of, its stable name, where it comes from, what it costs, which rule decided, the devices that
    were rejected before, the seconds that it is predicted to take alone, the node of the model that
    it is (a part of), the model's own name for its type, its kind in placement rules, and whether it runs
    `once`, at load.
    Example: `#plan.placed<"MatMul" on @d0 in @matmul_add_0, name = "fc1", location = "model.onnx", flops = 256, bytes = 64, rule = "requested", reason = "asked for", rejected = ["GPU:7: unknown device"], fall_back = true, node = "fc1", source_op = "Gemm", kind = "contraction">`
  }];
  let parameters = (ins StringRefParameter<"name in the log">:$log_name,
                        "::mlir::FlatSymbolRefAttr":$device, "::mlir::FlatSymbolRefAttr":$kernel,
                        StringRefParameter<"stable name", "\"\"">:$name,
                        StringRefParameter<"where it comes from", "\"\"">:$location,
                        DefaultValuedParameter<"uint64_t", "0">:$flops,
                        DefaultValuedParameter<"uint64_t", "0">:$bytes,
                        StringRefParameter<"kind of constraint", "\"default\"">:$rule,
                        StringRefParameter<"where the constraint came from", "\"\"">:$reason,
                        OptionalParameter<"::mlir::ArrayAttr">:$rejected,
                        DefaultValuedParameter<"bool", "false">:$fall_back,
                        OptionalParameter<"::mlir::FloatAttr">:$predicted_seconds,
                        StringRefParameter<"node of the model", "\"\"">:$node,
                        StringRefParameter<"the model's own op type", "\"\"">:$source_op,
                        StringRefParameter<"kind in placement rules", "\"\"">:$kind,
                        DefaultValuedParameter<"bool", "false">:$once);
  let assemblyFormat = [{
    `<` $log_name `on` $device `in` $kernel (`,` struct($name, $location, $flops, $bytes, $rule,
    $reason, $rejected, $fall_back, $predicted_seconds, $node, $source_op, $kind, $once)^)? `>`
  }];
}

def Plan_VariantAttr : Plan_Attr<"Variant", "variant"> {
  let summary = "give one way to run a kernel";
  let description = [{
    For devices of `driver`: the function `symbol` (the kernel's name, if not said) in a `plan.code`;
    or in a `library` of at least `version`; or a `registered` one. Needs besides those of the code are
    CPU `features` and a range of architectures `arch` = [first, last], 0 being no bound. `items`,
    `grain` and `scratch` are its own where they are not those of the kernel; `grid`, `block` and
    `shared` bytes are how a GPU launches it.

    Examples: `#plan.variant<"host", code = @code0>`,
    `#plan.variant<"cuda", code = @code1, symbol = "relu_v4", arch = [75, 0], grid = [64, 1, 1], block = [256, 1, 1]>`,
    `#plan.variant<"cuda", library = "cublasLt", version = "12.0", symbol = "matmul", scratch = 4194304>`
  }];
  let parameters = (ins StringRefParameter<"driver">:$driver,
                        OptionalParameter<"::mlir::FlatSymbolRefAttr">:$code,
                        StringRefParameter<"library", "\"\"">:$library,
                        StringRefParameter<"oldest version", "\"\"">:$version,
                        DefaultValuedParameter<"bool", "false">:$registered,
                        StringRefParameter<"function", "\"\"">:$symbol,
                        OptionalParameter<"::mlir::ArrayAttr">:$features,
                        OptionalParameter<"::mlir::DenseI64ArrayAttr">:$arch,
                        DefaultValuedParameter<"uint64_t", "0">:$items,
                        DefaultValuedParameter<"uint64_t", "0">:$grain,
                        DefaultValuedParameter<"uint64_t", "0">:$scratch,
                        OptionalParameter<"::mlir::DenseI64ArrayAttr">:$grid,
                        OptionalParameter<"::mlir::DenseI64ArrayAttr">:$block,
                        DefaultValuedParameter<"uint64_t", "0">:$shared);
  let builders = [AttrBuilder<(ins "::llvm::StringRef":$driver, "::mlir::FlatSymbolRefAttr":$code), [{
    return $_get($_ctxt, driver, code, "", "", false, "", ::mlir::ArrayAttr(),
                 ::mlir::DenseI64ArrayAttr(), 0, 0, 0, ::mlir::DenseI64ArrayAttr(),
                 ::mlir::DenseI64ArrayAttr(), 0);
  }]>];
  let assemblyFormat = [{
    `<` $driver (`,` struct($code, $library, $version, $registered, $symbol, $features, $arch,
    $items, $grain, $scratch, $grid, $block, $shared)^)? `>`
  }];
}

def Plan_CopiedAttr : Plan_Attr<"Copied", "copied"> {
  let summary = "say what is known of a further value of a copy";
  let description = [{ Example: `#plan.copied<"y" at "model.onnx" for "fc1">` }];
  let parameters = (ins StringRefParameter<"name">:$name,
                        StringRefParameter<"where it comes from">:$location,
                        StringRefParameter<"the use that made it", "\"\"">:$cause);
  let assemblyFormat = "`<` $name `at` $location (`for` $cause^)? `>`";
}

//===----------------------------------------------------------------------===//
// The module: what functions refer to
//===----------------------------------------------------------------------===//

// Written as the ops of the gantry dialect write it.
def Plan_DeviceName : Attr<CPred<"::llvm::isa<::gantry::DeviceAttr>($_self)">, "device name"> {
  let storageType = "::gantry::DeviceAttr";
  let returnType = "::gantry::DeviceAttr";
  let convertFromStorage = "$_self";
}

// What is not known is 0 and not printed.
defvar Plan_Count = DefaultValuedAttr<I64Attr, "0">;
defvar Plan_Rate = DefaultValuedAttr<F64Attr, "0.0">;

def Plan_DeviceOp : Plan_Op<"device", [Symbol]> {
  let summary = "name a device of the plan";
  let description = [{
    `physical` is the number of the device of the machine that it is, or is a part of; `limit` the
    bytes that the plan may use there; `flops` f32 operations and `bandwidth` bytes of memory, both a
    second. The drivers of `also` stand in, in order, where the first is not there.
    Example: `plan.device @d1 "/job:localhost/replica:0/task:0/device:GPU:0" on "sim" physical 1 limit 1073741824`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Plan_DeviceName:$device, StrAttr:$driver, Plan_Count:$physical,
                       Plan_Count:$limit, Plan_Rate:$flops, Plan_Rate:$bandwidth,
                       DefaultValuedAttr<StrArrayAttr, "{}">:$also);
  let assemblyFormat = [{
    $sym_name custom<Device>($device) `on` $driver (`also` $also^)? (`physical` $physical^)? (`limit` $limit^)? (`flops` $flops^)?
    (`bandwidth` $bandwidth^)? attr-dict
  }];
}

def Plan_LinkOp : Plan_Op<"link"> {
  let summary = "state how fast copies go from one device to another";
  let description = [{
    Bytes a second, and seconds.
    Example: `plan.link @d0 to @d1 bandwidth 1.6e+10 latency 1.0e-5`
  }];
  let arguments = (ins FlatSymbolRefAttr:$source, FlatSymbolRefAttr:$target, F64Attr:$bandwidth, F64Attr:$latency);
  let assemblyFormat = "$source `to` $target `bandwidth` $bandwidth `latency` $latency attr-dict";
}

def Plan_ArenaOp : Plan_Op<"arena", [Symbol]> {
  let summary = "state the size of an arena";
  let description = [{
    `size` in bytes; `lower_bound` is the largest sum of bytes live at the same time. Of a transient arena,
    `load_size` is what the function that runs at load uses, before there are sessions.
    Example: `plan.arena @transient0 transient on @d0 size 4096 lower_bound 4096`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Plan_ArenaKindAttr:$kind, FlatSymbolRefAttr:$device,
                       I64Attr:$size, I64Attr:$lower_bound,
                       DefaultValuedAttr<I64Attr, "0">:$load_size);
  let assemblyFormat = [{
    $sym_name $kind `on` $device `size` $size `lower_bound` $lower_bound (`load_size` $load_size^)? attr-dict
  }];
}

def Plan_ConstantOp : Plan_Op<"constant", [Symbol]> {
  let summary = "place a constant";
  let description = [{
    `offset` in `arena`, the constants arena of `device`, in bytes; Memory adds both. A constant that two devices use is two of
    these, and once in the file. When the graph wants it on another device, that is `home`, and to
    bring it here is a copy at load, made for the use `cause`. `value` is absent when the plan was
    read from a file, where the bytes stay in their segment, and where the constant is computed: then it is
    output `made` of the function that runs at load.
    Example: `plan.constant @c0 "weight" on @d1 home @d0 for "fc1" in @constants_d1 offset 0 size 64 : tensor<16xf32>`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$name, FlatSymbolRefAttr:$device, I64Attr:$offset,
                       I64Attr:$size, TypeAttr:$type, OptionalAttr<ElementsAttr>:$value,
                       OptionalAttr<FlatSymbolRefAttr>:$home, DefaultValuedStrAttr<StrAttr, "">:$cause,
                       OptionalAttr<FlatSymbolRefAttr>:$arena, OptionalAttr<I64Attr>:$made);
  let assemblyFormat = [{
    $sym_name $name `on` $device (`home` $home^ `for` $cause)? (`in` $arena^)? `offset` $offset `size` $size `:` $type
    (`=` $value^)? (`made` $made^)? attr-dict
  }];
}

def Plan_VariableOp : Plan_Op<"variable", [Symbol]> {
  let summary = "place a variable";
  let description = [{
    `offset` in `arena`, the variables arena of `device`, in bytes; Memory adds both. `value` is what a new state
    holds, absent when the plan was read from a file. A replica's copy names the variable it mirrors.
    Example: `plan.variable @v1 "w/replica_1" on @d1 mirror of "w" in @variables_d1 offset 0 size 64 : tensor<16xf32>`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$name, FlatSymbolRefAttr:$device,
                       DefaultValuedStrAttr<StrAttr, "">:$mirror_of, OptionalAttr<I64Attr>:$offset,
                       I64Attr:$size, TypeAttr:$type, OptionalAttr<ElementsAttr>:$value,
                       OptionalAttr<FlatSymbolRefAttr>:$arena);
  let assemblyFormat = [{
    $sym_name $name `on` $device (`mirror` `of` $mirror_of^)? (`in` $arena^)? (`offset` $offset^)? `size` $size `:`
    $type (`=` $value^)? attr-dict
  }];
}

def Plan_KernelOp : Plan_Op<"kernel", [Symbol]> {
  let summary = "describe a kernel";
  let description = [{
    `items` work items, at least `grain` of them to a thread, and `scratch` bytes of its own. The
    `variants` are the ways to run it: of those for a device's driver, the first whose needs the
    machine meets is taken at load. Made when code is made, after Memory.
    Example: `plan.kernel @matmul_0 items 16 grain 1 scratch 0 variants [#plan.variant<"host", code = @code0>]`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$items, I64Attr:$grain, I64Attr:$scratch,
                       DefaultValuedAttr<TypedArrayAttrBase<Plan_VariantAttr, "variants">, "{}">:$variants);
  let assemblyFormat = [{
    $sym_name `items` $items `grain` $grain `scratch` $scratch (`variants` $variants^)? attr-dict
  }];
}

def Plan_CodeOp : Plan_Op<"code", [Symbol]> {
  let summary = "carry an object of machine code";
  let description = [{
    For `machine`, an architecture; `needs` are the features it must have. `value` is absent when the
    plan was read from a file, where the bytes stay in their segment.
    Example: `plan.code @code0 elf for "x86-64" needs ["avx2", "fma"] size 4096`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Plan_CodeKindAttr:$kind, StrAttr:$machine,
                       DefaultValuedAttr<StrArrayAttr, "{}">:$needs, I64Attr:$size,
                       OptionalAttr<ElementsAttr>:$value);
  let assemblyFormat = [{
    $sym_name $kind `for` $machine (`needs` $needs^)? `size` $size (`=` $value^)? attr-dict
  }];
}

//===----------------------------------------------------------------------===//
// Functions: buffers and commands
//===----------------------------------------------------------------------===//

defvar Plan_Bindings = TypedArrayAttrBase<Plan_BindingAttr, "inputs or outputs">;

def Plan_FuncOp : Plan_Op<"func", [Symbol, IsolatedFromAbove, SingleBlock, NoTerminator]> {
  let summary = "list the commands of a function";
  let description = [{
    `inputs` and `outputs` are bound per run. `placed` lists the graph's ops for the placement log. The
    function that is `at_load` has no inputs; it runs when the plan is loaded, and its outputs are constants.

    Example:
    ```mlir
    module {
      plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
      plan.func @main inputs [#plan.binding<"x" : tensor<16xf32> on @d0>]
          outputs [#plan.binding<"y" : tensor<16xf32> on @d0>] {
        %x = plan.input 0 size 64
        %y = plan.output 0 size 64
        plan.copy %x to %y on @d0 "y" at "model.onnx"
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Plan_Bindings:$inputs, Plan_Bindings:$outputs,
                       DefaultValuedAttr<TypedArrayAttrBase<Plan_PlacedAttr, "placed ops">, "{}">:$placed,
                       UnitAttr:$at_load);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name (`at_load` $at_load^)? `inputs` $inputs `outputs` $outputs (`placed` $placed^)? attr-dict-with-keyword $body
  }];
}

class Plan_BufferOp<string mnemonic, list<Trait> traits = []> : Plan_Op<mnemonic, traits # [Pure]> {
  let results = (outs Plan_BufferType:$result);
}

def Plan_InputOp : Plan_BufferOp<"input"> {
  let summary = "stand for the caller's input";
  let description = [{ Example: `%0 = plan.input 0 size 64` }];
  let arguments = (ins I64Attr:$index, I64Attr:$size);
  let assemblyFormat = "$index `size` $size attr-dict";
}
def Plan_OutputOp : Plan_BufferOp<"output"> {
  let summary = "stand for the caller's output";
  let description = [{
    With `gantry.over`, it may be the array of the input of that number: the first command with either copies
    the input to it, and no other command has the input.

    Example: `%0 = plan.output 0 size 64`
  }];
  let arguments = (ins I64Attr:$index, I64Attr:$size);
  let assemblyFormat = "$index `size` $size attr-dict";
}
def Plan_UseOp : Plan_BufferOp<"use"> {
  let summary = "stand for a constant";
  let description = [{ Example: `%0 = plan.use @c0 size 64` }];
  let arguments = (ins FlatSymbolRefAttr:$constant, I64Attr:$size);
  let assemblyFormat = "$constant `size` $size attr-dict";
}
def Plan_StateOp : Plan_BufferOp<"state"> {
  let summary = "stand for a variable";
  let description = [{
    What the commands of a function write there is there in the next run.
    Example: `%0 = plan.state @v0 size 64`
  }];
  let arguments = (ins FlatSymbolRefAttr:$variable, I64Attr:$size);
  let assemblyFormat = "$variable `size` $size attr-dict";
}
def Plan_BufferDeclOp : Plan_Op<"buffer"> {
  let summary = "declare a transient buffer";
  let description = [{
    `size` bytes on `device`; Memory adds the arena and the offset. `value` names the graph's value
    that lives there and `type` is its type.
    Example: `%0 = plan.buffer size 64 on @d0 in @transient0 at 128 "relu" : tensor<16xf32>`
  }];
  let arguments = (ins I64Attr:$size, FlatSymbolRefAttr:$device, OptionalAttr<FlatSymbolRefAttr>:$arena,
                       OptionalAttr<I64Attr>:$offset, StrAttr:$value, TypeAttr:$type);
  let results = (outs Plan_BufferType:$result);
  let assemblyFormat = "`size` $size `on` $device (`in` $arena^ `at` $offset)? $value `:` $type attr-dict";
}

def Plan_LaunchOp : Plan_Op<"launch", [AttrSizedOperandSegments]> {
  let summary = "run a kernel";
  let description = [{
    Reads `operands`, writes `results`, may use `scratch`. `name` is the stable name of the last op
    inside, `log_names` the TensorFlow-style names of all. `flops` operations, and `bytes` moved to
    and from memory, are for the clock that predicts.
    Example: `plan.launch @matmul_0(%a, %b) -> (%c) items 16 grain 1 on @d0 "fc1" ["MatMul"] at "model.onnx"`
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, FlatSymbolRefAttr:$device, StrAttr:$name, StrAttr:$location,
                       ArrayAttr:$log_names, I64Attr:$items, I64Attr:$grain,
                       Variadic<Plan_BufferType>:$inputs, Variadic<Plan_BufferType>:$outputs,
                       Optional<Plan_BufferType>:$scratch, Plan_Count:$flops, Plan_Count:$bytes);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` `->` `(` $outputs `)` (`scratch` $scratch^)? `items` $items `grain` $grain
    (`flops` $flops^)? (`bytes` $bytes^)? `on` $device $name $log_names `at` $location attr-dict
  }];
}
def Plan_CopyOp : Plan_Op<"copy", [SameVariadicOperandSize]> {
  let summary = "copy buffers from one device to another, or within one";
  let description = [{
    `device` is the GPU of the two, the target's between GPUs. `queue`, of that device: 0 inside a
    device, 1 from the host, 2 to the host, 3 from another GPU. `cause` is the use that made it.
    Several values between the same two devices may go as one transfer: `name`, `location` and
    `cause` are then those of the first, and `also` has those of the others.
    Example: `plan.copy %a to %b on @d1 queue 1 for "fc1" "x" at "model.onnx"`, or
    `plan.copy %a, %c to %b, %d on @d1 queue 1 for "fc1" "x" at "model.onnx" also [#plan.copied<"y" at "model.onnx" for "fc1">]`
  }];
  let arguments = (ins Variadic<Plan_BufferType>:$sources, Variadic<Plan_BufferType>:$targets,
                       FlatSymbolRefAttr:$device, StrAttr:$name, StrAttr:$location,
                       Plan_Count:$queue, DefaultValuedStrAttr<StrAttr, "">:$cause,
                       DefaultValuedAttr<TypedArrayAttrBase<Plan_CopiedAttr, "names of further values">, "{}">:$also);
  let assemblyFormat = [{
    $sources `to` $targets `on` $device (`queue` $queue^)? (`for` $cause^)? $name `at` $location
    (`also` $also^)? attr-dict
  }];
  let extraClassDeclaration = [{
    /// One value, below the number of sources.
    struct Copied {
      ::mlir::Value source, target;
      ::mlir::StringAttr name, location, cause;
    };
    Copied getCopied(unsigned value);
  }];
  let hasVerifier = 1;
}

def Plan_CheckOp : Plan_Op<"check"> {
  let summary = "end the run when an index was out of range";
  let description = [{
    `first` holds two i64 in host memory: the position of the first bad index and its value, or -1.
    What is in `held` is not written before; that keeps variables as they were. The rest is for the
    error: `name` and `source_op` are those of the op that reads the indices, `indices` the name of
    what holds them, in that `shape`; they belong into [-size, size), with one of `sizes` for each
    component of a tuple or one for all. With `says` that is the whole error.
    Example: `plan.check %f held(%v) of "ids" shape [2, 3] sizes [9] on @d0 "embedding" is "Gather" at "model.onnx"`
  }];
  let arguments = (ins Plan_BufferType:$first, Variadic<Plan_BufferType>:$held, StrAttr:$indices,
                       DenseI64ArrayAttr:$shape, DenseI64ArrayAttr:$sizes, FlatSymbolRefAttr:$device,
                       StrAttr:$name, StrAttr:$source_op, StrAttr:$location, OptionalAttr<StrAttr>:$says);
  let assemblyFormat = [{
    $first (`held` `(` $held^ `)`)? `of` $indices `shape` $shape `sizes` $sizes `on` $device $name
    `is` $source_op `at` $location (`says` $says^)? attr-dict
  }];
}

// Queues of one function run at the same time; what is on one queue runs in order. Where a branch or
// a loop begins or ends, all queues come together.
def Plan_SignalOp : Plan_Op<"signal"> {
  let summary = "tell other queues that what stands before is done";
  let description = [{
    Sets the semaphore when the commands before it on its queue are done. Each semaphore has one.
    Example: `plan.signal 3 on @d1 queue 1`
  }];
  let arguments = (ins I64Attr:$semaphore, FlatSymbolRefAttr:$device, Plan_Count:$queue);
  let assemblyFormat = "$semaphore `on` $device (`queue` $queue^)? attr-dict";
}
def Plan_WaitOp : Plan_Op<"wait"> {
  let summary = "hold a queue until a semaphore is set";
  let description = [{ Example: `plan.wait 3 on @d1 queue 2` }];
  let arguments = (ins I64Attr:$semaphore, FlatSymbolRefAttr:$device, Plan_Count:$queue);
  let assemblyFormat = "$semaphore `on` $device (`queue` $queue^)? attr-dict";
}
def Plan_IfOp : Plan_Op<"if", [NoRegionArguments, NoTerminator, SingleBlock]> {
  let summary = "run one of two lists of commands";
  let description = [{
    `condition` holds one i1 in host memory.

    Example:
    ```mlir
    module {
      plan.func @main inputs [] outputs [] {
        %c = plan.input 0 size 1
        %x = plan.input 1 size 64
        %y = plan.output 0 size 64
        plan.if %c {
          plan.copy %x to %y on @d0 "y" at "model.onnx"
        } else {
        }
      }
    }
    ```
  }];
  let arguments = (ins Plan_BufferType:$condition);
  let regions = (region SizedRegion<1>:$then_body, SizedRegion<1>:$else_body);
  let assemblyFormat = "$condition $then_body `else` $else_body attr-dict";
}
def Plan_WhileOp : Plan_Op<"while", [NoRegionArguments, NoTerminator, SingleBlock]> {
  let summary = "run commands while a condition holds";
  let description = [{
    Runs the condition's commands, then, while `condition` holds true, body and condition. `trips` is how
    often the body is known to run, for predictions.

    Example:
    ```mlir
    module {
      plan.func @main inputs [] outputs [] {
        %c = plan.buffer size 1 on @d0 "more" : tensor<i1>
        %x = plan.input 0 size 64
        %y = plan.output 0 size 64
        plan.while %c trips 3 {
          plan.launch @is_more(%y) -> (%c) items 1 grain 1 on @d0 "more" ["Less"] at "model.onnx"
        } do {
          plan.copy %x to %y on @d0 "y" at "model.onnx"
        }
      }
    }
    ```
  }];
  let arguments = (ins Plan_BufferType:$condition, OptionalAttr<I64Attr>:$trips);
  let regions = (region SizedRegion<1>:$condition_body, SizedRegion<1>:$body);
  let assemblyFormat = "$condition (`trips` $trips^)? $condition_body `do` $body attr-dict";
}

#endif
