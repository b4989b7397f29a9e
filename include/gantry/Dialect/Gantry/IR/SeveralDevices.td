//===- SeveralDevices.td - Ops that devices do together -------------------===//
//
// In files of their own, as CollectiveOps.td is: few look at these.
//
#ifndef GANTRY_SEVERAL_DEVICES_TD
#define GANTRY_SEVERAL_DEVICES_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"

def SeveralDevicesOpInterface : OpInterface<"SeveralDevicesOpInterface"> {
  let cppNamespace = "::gantry";
  let description = [{
    An op that several devices do together, each with values of its own: a *member* is one of them. What an
    operand is needed by and where a result lives says `Homes`, which asks this.
  }];
  let methods = [
    InterfaceMethod<"The device of each member", "::mlir::ArrayAttr", "getMemberDevices">,
    InterfaceMethod<"Gives the members other devices, as many", "void", "setMemberDevices",
      (ins "::mlir::ArrayAttr":$devices)>,
    InterfaceMethod<"The member that brings the operand", "unsigned", "getMemberOfOperand",
      (ins "unsigned":$operand), [{}], [{ return operand; }]>,
    InterfaceMethod<"The member that gets the result", "unsigned", "getMemberOfResult",
      (ins "unsigned":$result), [{}], [{ return result; }]>
  ];
}

def Gantry_ExchangeKind : I32EnumAttr<"ExchangeKind", "what the members of an exchange get of each other", [
  I32EnumAttrCase<"Message", 0, "message">, I32EnumAttrCase<"AllGather", 1, "all_gather">,
  I32EnumAttrCase<"AllToAll", 2, "all_to_all">, I32EnumAttrCase<"Broadcast", 3, "broadcast">]> {
  let cppNamespace = "::gantry";
}

#endif
