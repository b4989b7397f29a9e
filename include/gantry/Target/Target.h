// A target: what a kind of driver brings to the compiler, so that kernels can run on its devices.
//
// Kernels are formed, deduplicated and lowered per target, in a module each (`gantry.target`).
// Phases ask a target and never know which one it is:
//
//   Place     which ops it has kernels for
//   Fuse      which ops may share one, and which arguments its result may overwrite
//   Kernel    the passes from kernels of gantry ops to its own form, with `gantry.work` on each
//   Schedule  the passes that make use of how a plan calls the kernels
//   code      the passes from there to code, and the code itself, as variants in the plan
#pragma once

#include "gantry/Analysis/InPlace.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Dialect/Plan/IR/Plan.h"
#include "gantry/Target/Assembler.h"

#include "mlir/Pass/PassManager.h"

#include "llvm/ADT/StringMap.h"

#include <memory>
#include <string>
#include <vector>

namespace gantry {

enum class Driver : uint8_t; // gantry/Device/Topology.h
struct Topology;

/// Takes the code of targets into a plan: `plan.code` ops, and variants on `plan.kernel` ops.
class PlanCode {
public:
  explicit PlanCode(mlir::ModuleOp plan, Assembler assembler = {});

  /// Names of the kernels of the plan, in order; a module of kernels may hold fewer.
  llvm::ArrayRef<std::string> kernels() const { return names; }

  /// The drivers of the plan's devices, those that stand in behind their own.
  llvm::ArrayRef<llvm::StringRef> drivers() const { return allDrivers; }

  /// Asked for code by those targets that have one.
  const Assembler &assembler() const { return toolkit; }

  /// Carries `bytes` in the plan; the symbol is for variants. `needs` are the features that the
  /// machine must have (Support/CPUFeatures*.def).
  mlir::FlatSymbolRefAttr addObject(plan::ir::CodeKind kind, llvm::StringRef machine,
                                    llvm::ArrayRef<std::string> needs, llvm::ArrayRef<char> bytes);

  /// One more way to run a kernel, behind those that it has.
  void addVariant(llvm::StringRef kernel, plan::ir::VariantAttr variant);

private:
  mlir::ModuleOp plan;
  Assembler toolkit;
  std::vector<std::string> names;
  llvm::SmallVector<llvm::StringRef> allDrivers;
  llvm::StringMap<plan::ir::KernelOp> ops;
  unsigned numObjects = 0;
};

class Target {
public:
  virtual ~Target() = default;

  /// As in `#gantry.target<"cpu">`.
  virtual llvm::StringRef getName() const = 0;

  /// The drivers whose devices run its code.
  virtual llvm::ArrayRef<llvm::StringRef> getDrivers() const = 0;

  /// Whether it has a kernel for the op on devices of that type: as the op says
  /// (KernelOpInterface), or fewer.
  virtual bool hasKernel(mlir::Operation *op, DeviceType type) const;

  /// Whether it computes a convolution, or a product of attention, of f32 on devices of that type
  /// with operands rounded to `element` and accumulators of f32 where --math asks for that.
  /// Products of other matrices are rounded whoever computes them.
  virtual bool mayRound(mlir::Operation *op, DeviceType type, mlir::FloatType element,
                        TargetAttr config) const {
    return false;
  }

  /// Puts convolutions in the place of an op on a device of that type which is computed by such
  /// that it rounds to `element`; leaves others.
  virtual void replaceByConvolution(mlir::Operation *op, DeviceType type,
                                    mlir::FloatType element) const {}

  /// Whether `op`, all of whose users are in `group`, may be computed in one kernel with them. The
  /// group's root comes first. `config` says what kernels are for; null where nobody knows yet.
  virtual bool mayJoin(mlir::Operation *op, llvm::ArrayRef<mlir::Operation *> group,
                       TargetAttr config) const = 0;

  /// Whether the ops of two groups may be computed in one kernel, which has the results of both:
  /// each group reads the other's results or an operand of it. The roots come first.
  virtual bool mayMerge(llvm::ArrayRef<mlir::Operation *> first,
                        llvm::ArrayRef<mlir::Operation *> second) const {
    return false;
  }

  /// Into how many equal parts the rows of a reduction are cut, which become a kernel of their own;
  /// 1: into none. It is asked of ops with `axes` before kernels are formed, of those alone that
  /// may round what parts give; the answer depends on shapes alone.
  virtual int64_t getPartsOfReduction(mlir::Operation *op) const { return 1; }

  /// The layout (Analysis/PanelLayout.h) in which a kernel wants the constant that is its argument,
  /// or null for the plain one. It is asked for every launch with a constant there, when the kernel
  /// is formed; the answer depends on the kernel alone.
  virtual mlir::Attribute getLayoutOfConstant(KernelOp kernel, unsigned argument) const {
    return {};
  }

  /// The layout in which a kernel would read an operand that is computed, if that were packed for
  /// it by a kernel of its own (gantry-pack-operands), or null where it reads it as fast where it
  /// lies.
  virtual mlir::Attribute getLayoutOfComputed(KernelOp kernel, unsigned argument) const {
    return {};
  }

  /// Whether a kernel can read the constant that is its argument in a layout that another kernel
  /// wants, so that the constant is kept once.
  virtual bool canReadLayout(KernelOp kernel, unsigned argument, mlir::Attribute layout) const {
    return false;
  }

  /// The arguments that the results of a kernel may overwrite, as far as can be said before it is
  /// lowered: what the ops mean, or less. The kernel passes take back what the code does not keep.
  virtual llvm::SmallVector<InPlace> getArgumentsToOverwrite(KernelOp kernel) const;

  /// Adds the passes from kernels to functions that carry `gantry.work`; they run on a module of
  /// its kernels.
  virtual void buildKernelPipeline(mlir::OpPassManager &pm) const = 0;

  /// Adds passes that run on the whole module once its launches are commands over buffers, and that
  /// change nothing but kernels of this target.
  virtual void buildCallPipeline(mlir::OpPassManager &pm) const {}

  /// Adds the passes from there to what `emitCode` takes; they run on a module of its kernels.
  virtual void buildCodePipeline(mlir::OpPassManager &pm) const = 0;

  /// The forms of code that can be read.
  enum class Text { llvm, ptx };

  /// The code as text, for the first machine of `target`; empty when there is no such form of it.
  virtual llvm::FailureOr<std::string> printCode(mlir::ModuleOp kernels, TargetAttr target,
                                                 Text form) const = 0;

  /// For a plan that is told of and not run: adds the variants that emitCode would, with objects
  /// without bytes, and tells what lacks. It takes the kernels as buildKernelPipeline leaves them.
  virtual llvm::LogicalResult outlineCode(mlir::ModuleOp kernels, TargetAttr target,
                                          PlanCode &code) const = 0;

  /// Makes code of the kernels for each machine of `target`, best first. Diagnostics go to the
  /// module's context.
  virtual llvm::LogicalResult emitCode(mlir::ModuleOp kernels, TargetAttr target,
                                       PlanCode &code) const = 0;
};

/// Makes a target known to the process; one of that name that is known already stays.
void registerTarget(std::unique_ptr<const Target> target);

/// In the order of registration.
std::vector<const Target *> allTargets();

/// The target for devices of a driver, the last one registered; null where there is none.
const Target *findTarget(llvm::StringRef driver);

/// The target that a module of kernels names; null where there is none.
const Target *findTarget(TargetAttr name);

/// "host, sim": the drivers that have a target.
std::string driversWithTargets();

/// Whether a driver can run the devices of another one in its place: those of one type.
bool mayStandIn(llvm::StringRef driver, Driver other);

} // namespace gantry
