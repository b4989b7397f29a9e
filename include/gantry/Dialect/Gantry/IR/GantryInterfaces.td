//===- GantryInterfaces.td - What passes may ask an op --------------------===//
//
// Passes read these and never switch on op names; ops of other dialects join by external models.
//
#ifndef GANTRY_INTERFACES_TD
#define GANTRY_INTERFACES_TD

include "mlir/IR/OpBase.td"

def KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::gantry";
  let description = [{
    An op that runs as a kernel, or as a part of one: what Place, Fuse and the log need to know.
  }];
  let methods = [
    InterfaceMethod<"TensorFlow-style name in the placement log (spec P9), e.g. MatMul",
      "::llvm::StringRef", "getLogName">,
    InterfaceMethod<"How the op may join others in one kernel",
      "::gantry::FusionKind", "getFusionKind">,
    InterfaceMethod<[{Whether there is a kernel for the op on devices of that type, for this element
      type of its first operand (of its result when it has none). Ops of this dialect have one for
      every type that their definitions allow, those of others for CPUs unless they say more}],
      "bool", "hasKernel", (ins "::gantry::DeviceType":$deviceType, "::mlir::Type":$elementType),
      [{}], [{ return deviceType == ::gantry::DeviceType::CPU || ::gantry::detail::isOfGantry($_op); }]>,
    InterfaceMethod<[{Whether the result is that operand but for some elements, which the op writes
      over: where the operand is not needed any more, a kernel may write these alone}],
      "bool", "updatesOperand", (ins "unsigned":$operand), [{}], [{ return false; }]>,
    InterfaceMethod<"Operands that must be in host memory on any device",
      "::llvm::SmallVector<unsigned>", "getHostOperands", (ins), [{}], [{ return {}; }]>
  ];
}

def CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::gantry";
  let description = [{ What an op costs, for the roofline cost model; shapes must be static. }];
  let methods = [
    InterfaceMethod<"Floating-point operations of one run; a multiply-add counts two",
      "uint64_t", "getFlops", (ins), [{}], [{ return ::gantry::detail::defaultFlops($_op); }]>,
    InterfaceMethod<"Bytes read and written by one run when nothing is fused",
      "uint64_t", "getBytes", (ins), [{}], [{ return ::gantry::detail::defaultBytes($_op); }]>
  ];
}

def DimensionMapOpInterface : OpInterface<"DimensionMapOpInterface"> {
  let cppNamespace = "::gantry";
  let description = [{
    How dimensions of the results correspond to dimensions of the operands: the one place that tells
    whether an op reads an operand element by element. Fusion and the lowering of elementwise ops
    read it.
  }];
  let methods = [
    InterfaceMethod<[{For operand `operand`: one entry per dimension of the first result, the
      operand's dimension it comes from one to one, or -1 (broadcast, reduced or mixed)}],
      "::llvm::SmallVector<int64_t>", "getOperandDims", (ins "unsigned":$operand), [{}],
      [{ return ::gantry::detail::broadcastDims($_op, operand); }]>
  ];
  let extraClassDeclaration = [{
    /// Whether each element of the first result is computed from the element of the operand at the
    /// same place: their shapes are one.
    bool readsInPlace(unsigned operand);
  }];
}

def IndexingOpInterface : OpInterface<"IndexingOpInterface"> {
  let cppNamespace = "::gantry";
  let description = [{
    An op that reads or writes at indices in one of its operands. Its kernels never leave the tensor:
    an index that is not in [-size, size) is clamped, or marks nothing. `gantry-insert-index-checks`
    asks it which ones those are.
  }];
  let methods = [
    InterfaceMethod<"The operand that holds the indices", "unsigned", "getIndexOperand">,
    InterfaceMethod<[{Sizes of the dimensions that the indices go into: one for all of them, or one
      for each component of the tuples in their last dimension}],
      "::llvm::SmallVector<int64_t>", "getIndexedSizes">
  ];
}

def GradientOpInterface : OpInterface<"GradientOpInterface"> {
  let cppNamespace = "::gantry";
  let description = [{
    An op with a rule for its gradient, told by external models (lib/Gradient). A way back leads through
    values of floats alone: from a result of floats to an operand of floats. Where an op has neither, none
    leads through it, and no rule is needed.
  }];
  let methods = [
    InterfaceMethod<"Whether all gradients are zero by definition, so that nothing is built",
      "bool", "stopsGradient", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{Why the operand has no gradient, in words that follow the op's name; empty when it
      has one, be it zero by definition}],
      "std::string", "refuseGradient", (ins "unsigned":$operand), [{}], [{ return {}; }]>,
    InterfaceMethod<[{Gives the gradients of the wanted operands, built of those of the results. They are
      made of ops that have rules themselves}],
      "::llvm::LogicalResult", "buildGradient", (ins "::gantry::GradientBuilder &":$builder)>
  ];
}

#endif
