//===- GantryBase.td - The gantry dialect, its attributes and op classes --===//
#ifndef GANTRY_BASE_TD
#define GANTRY_BASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "gantry/Dialect/Gantry/IR/GantryInterfaces.td"

def Gantry_Dialect : Dialect {
  let name = "gantry";
  let cppNamespace = "::gantry";
  let summary = "what is computed, and on which device";
  let description = [{
    Tensor ops of real networks with field-standard names, each able to say on which device it
    should run and why. The values are ranked tensors in row-major order; shapes may have open
    dimensions (`?`) until Simplify specialises them.

    What changes or licenses what an op computes is an attribute of the op. Beside its own, any op of
    any dialect may carry those of `Attributes.def`: notes of placement, and marks that passes leave each
    other. Others whose name begins with `gantry.` are errors.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

class Gantry_Attr<string name, string attrMnemonic> : AttrDef<Gantry_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Gantry_DeviceAttr : Gantry_Attr<"Device", "device"> {
  let summary = "name a device, fully or partly";
  let description = [{
    A device name as in the tools' flags: any subset of job, replica, task, type and id.
    Text goes through the one device grammar (`gantry/Device/DeviceName.h`), so IR, flags and files
    agree by construction; the attribute holds the parts, so that two spellings of one name are one
    attribute, and prints them in one way. Ops that name a device in their own syntax write the name
    alone: `to "GPU:1"`.

    Example: `#gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">`
  }];
  let parameters = (ins AttrParameter<"::gantry::DeviceName", "the parts that are given",
                                      "const ::gantry::DeviceName &">:$name);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// "GPU:1" where no part but the device is given, else "/job:localhost/.../device:GPU:1".
    std::string getSpelling() const;
  }];
}

def Gantry_TopologyAttr : Gantry_Attr<"Topology", "topology"> {
  let summary = "list the devices that a module is compiled for";
  let description = [{
    The logical devices of the module, in order, and what is known of the machine behind them (spec
    D4, D5): the only thing passes read about it. Stands on the module as `gantry.topology`;
    `getTopology` and `setTopology` translate between it and `gantry::Topology`, which says what the
    keys mean.

    Without `details`, each device is one physical device of its own with nothing known about it:
    CPUs run on the host, GPUs are simulated.

    Example: `#gantry.topology<[#gantry.device<"/device:CPU:0">, #gantry.device<"/device:GPU:0">]>`

    With details, one GPU of which placement sees a part:
    ```mlir
    #gantry.topology<[<"/device:CPU:0">, <"/device:GPU:0">], {
      physical = [{driver = "host", name = "/physical_device:CPU:0"},
                  {driver = "cuda", memory = 85899345920, name = "/physical_device:GPU:0",
                   bandwidth = 3.35e12, peak_flops = {f32 = 6.7e13}} ],
      logical = [{physical = 0}, {limit = 1073741824, physical = 1} ],
      links = [{bandwidth = 2.5e10, from = 0, latency = 1.0e-5, to = 1} ]}>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"DeviceAttr">:$devices,
                        OptionalParameter<"::mlir::DictionaryAttr">:$details);
  let builders = [AttrBuilder<(ins "::llvm::ArrayRef<DeviceAttr>":$devices), [{
    return $_get($_ctxt, devices, ::mlir::DictionaryAttr());
  }]>];
  let assemblyFormat = "`<` `[` $devices `]` (`,` $details^)? `>`";
  let genVerifyDecl = 1;
}

def Gantry_DecisionAttr : Gantry_Attr<"Decision", "decision"> {
  let summary = "say why an op is on its device";
  let description = [{
    `rule` is the kind of the constraint that decided: assigned, resource, requested, lock, rule,
    inferred, default, follow or auto. `reason` says in words where it came from. `rejected` lists
    the devices that were considered before, each as `device: why not`. `fall_back` when a request
    could not be met and was softened. Stands on placed ops as `gantry.placement`.

    Example: `#gantry.decision<"requested", "asked for at model.mlir:3:4", rejected = ["GPU:7: unknown device"], fall_back>`
  }];
  let parameters = (ins StringRefParameter<"kind of constraint">:$rule,
                        StringRefParameter<"where it came from">:$reason,
                        OptionalArrayRefParameter<"::mlir::StringAttr">:$rejected,
                        DefaultValuedParameter<"bool", "false">:$fallBack);
  let hasCustomAssemblyFormat = 1;
}

def Gantry_LaunchedOpAttr : Gantry_Attr<"LaunchedOp", "launched"> {
  let summary = "say what is known of an op that went into a kernel";
  let description = [{
    One of a launch's `ops`: its TensorFlow-style name in the placement log, its stable name, where
    it comes from, what it costs, and why it is on its device; the node of the model that it is (a
    part of), the model's own name for its type, and its kind in placement rules.

    Example: `#gantry.launched<"BiasAdd", name = "fc1", location = "node 'fc1' of model.onnx", flops = 256, bytes = 64, decision = <"requested", "asked for">, node = "fc1", source_op = "Gemm", kind = "elementwise">`
  }];
  let parameters = (ins StringRefParameter<"name in the placement log">:$log_name,
                        StringRefParameter<"stable name", "\"\"">:$name,
                        StringRefParameter<"where it comes from", "\"\"">:$location,
                        DefaultValuedParameter<"uint64_t", "0">:$flops,
                        DefaultValuedParameter<"uint64_t", "0">:$bytes,
                        OptionalParameter<"::gantry::DecisionAttr">:$decision,
                        StringRefParameter<"node of the model", "\"\"">:$node,
                        StringRefParameter<"the model's own op type", "\"\"">:$source_op,
                        StringRefParameter<"kind in placement rules", "\"\"">:$kind);
  let assemblyFormat = [{
    `<` $log_name (`,` struct($name, $location, $flops, $bytes, $decision, $node, $source_op,
    $kind)^)? `>`
  }];
}

def Gantry_WorkAttr : Gantry_Attr<"Work", "work"> {
  let summary = "say what Schedule has to know of a kernel";
  let description = [{
    `items` work items, known when the target has cut the kernel, at least `grain` of them to a
    thread; `scratch` bytes of memory of its own. `in_place` lists the arguments whose place the result may
    take: when both are one buffer, no element is written before the kernel has read it for the last
    time. Of several results each is a negative number, -1 the last one, in front of the arguments whose
    place it may take: `in_place = [-2, 0, -1, 1]`. Fuse says so by what the ops mean, the target keeps
    what its code does. `serial`: the items run one after the other; for the passes of a target among
    themselves.

    Stands as `gantry.work` on kernels and on the functions they become.

    Example: `#gantry.work<items = 16, grain = 2, scratch = 4096, in_place = [0]>`
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "-1">:$items,
                        DefaultValuedParameter<"int64_t", "1">:$grain,
                        DefaultValuedParameter<"int64_t", "0">:$scratch,
                        OptionalParameter<"::mlir::DenseI64ArrayAttr">:$in_place,
                        DefaultValuedParameter<"bool", "false">:$serial);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// What `op` says of itself; of one that says nothing, that nothing is known.
    static WorkAttr of(::mlir::Operation *op);

    /// The same with another number.
    WorkAttr withItems(int64_t items) const;
    WorkAttr withGrain(int64_t grain) const;
    WorkAttr withScratch(int64_t bytes) const;
    WorkAttr withInPlace(::llvm::ArrayRef<int64_t> arguments) const;
    WorkAttr withSerial(bool serial) const;

    /// Whether the target has brought the kernel into its form.
    bool isLowered() const { return getItems() >= 0; }

    /// Whether the result may take the place of an argument.
    bool mayTakePlaceOf(int64_t argument) const;
  }];
}

def Gantry_BlockQuantizedAttr : Gantry_Attr<"BlockQuantized", "block_quantized"> {
  let summary = "say how weights of few bits are stored";
  let description = [{
    Weight-only block quantisation: numbers of `bits` bits (2, 4 or 8), in blocks of `block` along the K
    dimension, whose size is `k`; each block has a scale. `zero` is the zero point of all blocks, or -1
    where each has its own. `gantry/Dialect/Gantry/IR/BlockQuantized.h` says how the bytes lie.

    Example: `#gantry.block_quantized<bits = 4, block = 32, k = 100, zero = 8>`
  }];
  let parameters = (ins "int64_t":$bits, "int64_t":$block, "int64_t":$k,
                        DefaultValuedParameter<"int64_t", "-1">:$zero);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let builders = [AttrBuilder<(ins "const ::gantry::BlockQuantized &":$form), [{
    return $_get($_ctxt, form.bits, form.block, form.k, form.zero);
  }]>];
  let extraClassDeclaration = [{
    ::gantry::BlockQuantized getForm() const { return {getBits(), getBlock(), getK(), getZero()}; }
  }];
}

class Gantry_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::gantry";
  let genSpecializedAttr = 0;
}
class Gantry_EnumAttr<EnumInfo info, string mnemonic> : EnumAttr<Gantry_Dialect, info, mnemonic>;

def Gantry_CompareDirection : Gantry_Enum<"CompareDirection", "relation that a comparison tests", [
  I32EnumAttrCase<"EQ", 0, "eq">, I32EnumAttrCase<"NE", 1, "ne">, I32EnumAttrCase<"LT", 2, "lt">,
  I32EnumAttrCase<"LE", 3, "le">, I32EnumAttrCase<"GT", 4, "gt">, I32EnumAttrCase<"GE", 5, "ge">]>;
def Gantry_CompareDirectionAttr : Gantry_EnumAttr<Gantry_CompareDirection, "direction">;

def Gantry_PadMode : Gantry_Enum<"PadMode", "what fills the border", [
  I32EnumAttrCase<"Constant", 0, "constant">, I32EnumAttrCase<"Reflect", 1, "reflect">,
  I32EnumAttrCase<"Edge", 2, "edge">, I32EnumAttrCase<"Wrap", 3, "wrap">]>;
def Gantry_PadModeAttr : Gantry_EnumAttr<Gantry_PadMode, "pad_mode">;

def Gantry_ScatterReduction : Gantry_Enum<"ScatterReduction", "how an update meets the old element", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Add", 1, "add">, I32EnumAttrCase<"Mul", 2, "mul">,
  I32EnumAttrCase<"Max", 3, "max">, I32EnumAttrCase<"Min", 4, "min">]>;
def Gantry_ScatterReductionAttr : Gantry_EnumAttr<Gantry_ScatterReduction, "reduction">;

def Gantry_ImageLayout : Gantry_Enum<"ImageLayout", "order of an image's dimensions", [
  I32EnumAttrCase<"NCHW", 0, "NCHW">, I32EnumAttrCase<"NHWC", 1, "NHWC">]>;
def Gantry_ImageLayoutAttr : Gantry_EnumAttr<Gantry_ImageLayout, "image_layout">;

def Gantry_Border : I32BitEnumAttr<"Border", "what a border of zeros means for the sums", [
  I32BitEnumAttrCaseBit<"PlusZero", 0, "plus_zero">, I32BitEnumAttrCaseBit<"Unseen", 1, "unseen">]> {
  let cppNamespace = "::gantry";
  let genSpecializedAttr = 0;
}
def Gantry_BorderAttr : Gantry_EnumAttr<Gantry_Border, "border">;

def Gantry_Math : Gantry_Enum<"Math", "what products of f32 multiply; sums are f32", [
  I32EnumAttrCase<"f32", 0>, // the factors as they are
  I32EnumAttrCase<"tf32", 1>, // rounded to 10 bits, where tensor cores do that
  I32EnumAttrCase<"bf16", 2>, // rounded to a type that they are stored in, too
  I32EnumAttrCase<"f16", 3>]>;
def Gantry_MathParameter : EnumParameter<Gantry_Math> {
  let defaultValue = "::gantry::Math::f32";
}

def Gantry_TargetAttr : Gantry_Attr<"Target", "target"> {
  let summary = "say which target makes code of the kernels in a module";
  let description = [{
    The name of a target and the machines to make code for, best first; without any, those that the
    target thinks of. `math` is what products of f32 may multiply instead. Stands as `gantry.target` on the
    modules that hold kernels.

    Example: `#gantry.target<"cpu", machines = ["sapphirerapids", "x86-64-v3"]>`
  }];
  let parameters = (ins StringRefParameter<"name of the target">:$name,
                        OptionalParameter<"::mlir::ArrayAttr">:$machines,
                        Gantry_MathParameter:$math);
  let assemblyFormat = "`<` $name (`,` struct($machines, $math)^)? `>`";
}

def Gantry_TargetsAttr : Gantry_Attr<"Targets", "targets"> {
  let summary = "say what a module is compiled for, beside its devices";
  let description = [{
    What targets are asked for, made once when a graph is imported: `drivers` are those that the plan is to
    run with beside the drivers of its devices; `machines` are those that a target makes code for, best first,
    by the target's name; `math` is what products of f32 multiply; `libraries` are those of GPUs that may
    compute in the place of kernels and exchanges, in the words of plans; `stages` is how many parts of a
    product copies bring to the shared memory of GPUs, 0 for none by copies. What is left out the target
    chooses. Of `libraries`, an empty list is a word, too: there are none.

    Stands as `gantry.targets` on the module. Passes ask `TargetMap` (`gantry/Target/TargetMap.h`), which knows the
    devices as well.

    Example: `#gantry.targets<drivers = ["sim"], machines = {cuda = ["sm_80", "sm_90"]}, math = tf32, libraries = ["auto"]>`
  }];
  let parameters = (ins OptionalParameter<"::mlir::ArrayAttr">:$drivers,
                        OptionalParameter<"::mlir::DictionaryAttr">:$machines,
                        Gantry_MathParameter:$math,
                        OptionalParameter<"::mlir::ArrayAttr">:$libraries,
                        OptionalParameter<"std::optional<int64_t>">:$stages);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// What the module that `op` is in says; nothing where it has no such attribute.
    static TargetsAttr of(::mlir::Operation *op);

    bool saysNothing() const;

    bool asksForLibrary(::llvm::StringRef library) const;

    /// The type that factors of f32 are rounded to and stored in; null where they are not.
    ::mlir::FloatType getFactorType() const;

    /// What the kernels of a target are for.
    TargetAttr configOf(::llvm::StringRef target) const;
  }];
}

def Gantry_ResizeMode : Gantry_Enum<"ResizeMode", "interpolation", [
  I32EnumAttrCase<"Nearest", 0, "nearest">, I32EnumAttrCase<"Linear", 1, "linear">,
  I32EnumAttrCase<"Cubic", 2, "cubic">]>;
def Gantry_ResizeModeAttr : Gantry_EnumAttr<Gantry_ResizeMode, "resize_mode">;

def Gantry_CoordinateMode : Gantry_Enum<"CoordinateMode", "where an output pixel samples the input", [
  I32EnumAttrCase<"HalfPixel", 0, "half_pixel">, I32EnumAttrCase<"PytorchHalfPixel", 1, "pytorch_half_pixel">,
  I32EnumAttrCase<"AlignCorners", 2, "align_corners">, I32EnumAttrCase<"Asymmetric", 3, "asymmetric">,
  I32EnumAttrCase<"TfCropAndResize", 4, "tf_crop_and_resize">]>;
def Gantry_CoordinateModeAttr : Gantry_EnumAttr<Gantry_CoordinateMode, "coordinate_mode">;

def Gantry_NearestMode : Gantry_Enum<"NearestMode", "rounding of a nearest sample", [
  I32EnumAttrCase<"RoundPreferFloor", 0, "round_prefer_floor">, I32EnumAttrCase<"RoundPreferCeil", 1, "round_prefer_ceil">,
  I32EnumAttrCase<"Floor", 2, "floor">, I32EnumAttrCase<"Ceil", 3, "ceil">]>;
def Gantry_NearestModeAttr : Gantry_EnumAttr<Gantry_NearestMode, "nearest_mode">;

def Gantry_SoftMode : Gantry_Enum<"SoftMode", "what may become of a request (spec P5)", [
  I32EnumAttrCase<"Strict", 0, "strict">, I32EnumAttrCase<"Prefer", 1, "prefer">,
  I32EnumAttrCase<"Any", 2, "any">]>;
def Gantry_SoftModeAttr : Gantry_EnumAttr<Gantry_SoftMode, "soft">;

def Gantry_CombineKind : Gantry_Enum<"CombineKind", "how values of replicas become one", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Mean", 1, "mean">]>;
def Gantry_CombineKindAttr : Gantry_EnumAttr<Gantry_CombineKind, "combine">;

def Gantry_ReplicaKind : Gantry_Enum<"ReplicaKind", "what replicas have of a value", [
  I32EnumAttrCase<"Split", 0, "split">, I32EnumAttrCase<"Broadcast", 1, "broadcast">,
  I32EnumAttrCase<"PerReplica", 2, "per_replica">, I32EnumAttrCase<"Gather", 3, "gather">,
  I32EnumAttrCase<"Sum", 4, "sum">, I32EnumAttrCase<"Mean", 5, "mean">,
  I32EnumAttrCase<"Same", 6, "same">]>;

def Gantry_ReplicaModeAttr : Gantry_Attr<"ReplicaMode", "replica_mode"> {
  let summary = "say how a value enters or leaves replicas";
  let description = [{
    The modes of `gantry.replicate`; `axis` is of `split` and `gather`.

    Example: `#gantry.replica_mode<split 0>`
  }];
  let parameters = (ins EnumParameter<Gantry_ReplicaKind>:$kind,
                        DefaultValuedParameter<"int64_t", "0">:$axis);
  let builders = [AttrBuilder<(ins "::gantry::ReplicaKind":$kind), [{
    return $_get($_ctxt, kind, int64_t(0));
  }]>];
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    bool is(::gantry::ReplicaKind kind) const { return getKind() == kind; }
    bool hasAxis() const { return is(ReplicaKind::Split) || is(ReplicaKind::Gather); }

    /// How many values of the op there are for the one of the region.
    size_t countValues(size_t replicas) const { return is(ReplicaKind::PerReplica) ? replicas : 1; }

    /// "split 0", "broadcast", "per_replica".
    std::string str() const;
  }];
}

/// An attribute that passes set: graphs leave it out, and callers who build graphs do not see it.
class Gantry_SetByPasses<Attr attribute> : OptionalAttr<attribute>;
def Gantry_Accumulate : Gantry_SetByPasses<TypeAttrOf<F32>>;
def Gantry_Layout : Gantry_SetByPasses<Gantry_ImageLayoutAttr>;

/// A builder that leaves such attributes out; `names`: what it takes, `without`: null for each of them.
class Gantry_GraphBuilder<dag parameters, string names, string without>
    : OpBuilder<!con((ins "::mlir::Type":$type), parameters),
                "build($_builder, $_state, type, " # names # ", " # without # ");">;

def Gantry_DeviceArray : TypedArrayAttrBase<Gantry_DeviceAttr, "array of devices">;
def Gantry_ReplicaModeArray : TypedArrayAttrBase<Gantry_ReplicaModeAttr, "array of replica modes">;

//===----------------------------------------------------------------------===//
// Types and op classes
//===----------------------------------------------------------------------===//

def Gantry_Float : AnyTypeOf<[F32, F64, F16, BF16]>;
def Gantry_Int : AnyTypeOf<[I8, UI8, I16, UI16, I32, UI32, I64, UI64]>;
def Gantry_Number : AnyTypeOf<[Gantry_Float, Gantry_Int]>;

def Gantry_Tensor : RankedTensorOf<[Gantry_Number, I1]>;
def Gantry_NumberTensor : RankedTensorOf<[Gantry_Number]>;
def Gantry_FloatTensor : RankedTensorOf<[Gantry_Float]>;
def Gantry_IntTensor : RankedTensorOf<[Gantry_Int]>;
def Gantry_IndexTensor : RankedTensorOf<[I32, I64]>;
def Gantry_BoolTensor : RankedTensorOf<[I1]>;

/// A compute op: pure, with a TensorFlow-style log name and a fusion kind.
/// `kind` is one of the FusionKind enumerators of GantryInterfaces.td.
class Gantry_Op<string mnemonic, string logName, string kind, list<Trait> traits = [], string more = "">
    : Op<Gantry_Dialect, mnemonic, traits # [
        Pure,
        KernelOpInterface]> {
  string baseDeclaration = [{
    ::llvm::StringRef getLogName() { return "}] # logName # [{"; }
    ::gantry::FusionKind getFusionKind() { return ::gantry::FusionKind::}] # kind # [{; }
  }];
  let extraClassDeclaration = baseDeclaration # more;
}

/// An op whose result types follow from operands and attributes (see lib/Dialect/Gantry/IR/InferTypes*.cpp).
/// Results may be declared less precisely (open dimensions) than inferred.
defvar compatibleTypes = [{
  static bool isCompatibleReturnTypes(::mlir::TypeRange l, ::mlir::TypeRange r) {
    return ::gantry::detail::areCompatibleTypes(l, r);
  }
}];
class Gantry_InferredOp<string mnemonic, string logName, string kind, list<Trait> traits = [], string more = "">
    : Gantry_Op<mnemonic, logName, kind, traits # [DeclareOpInterfaceMethods<InferTypeOpInterface>],
                compatibleTypes # more>;

defvar functionalFormat = "operands attr-dict `:` functional-type(operands, results)";

#endif
