// External models of Gantry's interfaces for a few TOSA ops.

#include "ForeignOps.h"

#include "gantry/Device/DeviceName.h"
#include "gantry/Dialect/Gantry/IR/GradientBuilder.h"

#include "mlir/Dialect/Tosa/IR/TosaOps.h"

using namespace mlir;

namespace {
struct AddModel : gantry::KernelOpInterface::ExternalModel<AddModel, tosa::AddOp> {
  StringRef getLogName(Operation *) const { return "TosaAdd"; }
  gantry::FusionKind getFusionKind(Operation *) const { return gantry::FusionKind::Elementwise; }
  bool hasKernel(Operation *, gantry::DeviceType, Type) const { return true; }
};

struct AddGradient : gantry::GradientOpInterface::ExternalModel<AddGradient, tosa::AddOp> {
  LogicalResult buildGradient(Operation *, gantry::GradientBuilder &builder) const {
    for (unsigned i : {0, 1})
      if (builder.wants(i))
        builder.give(i, builder.ofResult());
    return success();
  }
};

/// Without `hasKernel`: an op of another dialect is for CPUs unless it says so.
struct SubModel : gantry::KernelOpInterface::ExternalModel<SubModel, tosa::SubOp> {
  StringRef getLogName(Operation *) const { return "TosaSub"; }
  gantry::FusionKind getFusionKind(Operation *) const { return gantry::FusionKind::Elementwise; }
};

struct ReciprocalModel
    : gantry::KernelOpInterface::ExternalModel<ReciprocalModel, tosa::ReciprocalOp> {
  StringRef getLogName(Operation *) const { return "TosaReciprocal"; }
  gantry::FusionKind getFusionKind(Operation *) const { return gantry::FusionKind::Elementwise; }
  bool hasKernel(Operation *, gantry::DeviceType type, Type element) const {
    return type == gantry::DeviceType::GPU && element.isF32();
  }
};
} // namespace

void registerForeignOps(DialectRegistry &registry) {
  registry.insert<tosa::TosaDialect>();
  registry.addExtension(+[](MLIRContext *context, tosa::TosaDialect *) {
    tosa::AddOp::attachInterface<AddModel>(*context);
    tosa::SubOp::attachInterface<SubModel>(*context);
    tosa::ReciprocalOp::attachInterface<ReciprocalModel>(*context);
    tosa::AddOp::attachInterface<AddGradient>(*context);
  });
}
