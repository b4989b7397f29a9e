// A plan that is ready to run here: devices found, code loaded, constants in place.
#pragma once

#include "gantry/Plan/KernelVariants.h"
#include "gantry/Plan/VerifyBytes.h"
#include "gantry/Runtime/Runtime.h"
#include "gantry/Runtime/Tensor.h"
#include "gantry/Support/Status.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::runtime {

struct PooledConstant;

/// An input or output of a function.
struct BindingInfo {
  std::string name;
  TensorType type;
  Device *device = nullptr;
  /// Of an output: the input whose array may be bound to it as well.
  std::optional<unsigned> over;
};

struct FunctionInfo {
  std::string name;
  std::vector<BindingInfo> inputs;
  std::vector<BindingInfo> outputs;
  bool writesVariables = false;
  const plan::fb::Function *source = nullptr;

  /// Finds an input or output; NOT_FOUND lists those that there are, with their types.
  Expected<unsigned> inputIndex(std::string_view name) const;
  Expected<unsigned> outputIndex(std::string_view name) const;
};

/// Which variant of a kernel runs on a device: the first of those for the device's driver whose
/// needs are met.
struct KernelChoice {
  uint32_t kernel = 0; ///< index into Plan.kernels
  Device *device = nullptr;
  uint32_t number = 0; ///< of the variant, among all of the kernel's
  plan::KernelVariant variant;
  /// Those for the driver that come before it, each with what it lacks here.
  std::vector<std::string> passedOver;
  const plan::fb::Command *firstLaunch = nullptr; ///< for messages
  KernelHandle handle = nullptr;
};

/// Immutable and thread-safe once loaded. States and sessions of it keep it alive.
class LoadedPlan {
public:
  ~LoadedPlan();

  /// Maps and loads a plan file, verified as the runtime's options say. Errors: those of
  /// plan::PlanFile::open; UNSUPPORTED (a kernel has
  /// no variant that runs here: each is named with what it lacks), UNAVAILABLE (driver, code
  /// refused by the system), NOT_FOUND (a registered kernel), DOES_NOT_FIT (the plan's constants,
  /// variables and one session exceed limit or memory). All of them come before anything is
  /// allocated. A variant that is not its kernel's first, and a driver that stands in, are remarked
  /// in the log.
  static Expected<std::shared_ptr<const LoadedPlan>> open(std::shared_ptr<Runtime> runtime,
                                                          const std::string &path);

  /// The same for a file in memory, which one of PlanFile's makers has read; what that has verified
  /// is not verified again. `name` is for messages.
  static Expected<std::shared_ptr<const LoadedPlan>> load(std::shared_ptr<Runtime> runtime,
                                                          plan::PlanFile file, std::string name);

  Runtime &runtime() const { return *owner; }
  const plan::PlanFile &file() const { return planFile; }
  const plan::fb::Plan &metadata() const { return planFile.plan(); }
  /// Path, or what load was given: for messages.
  const std::string &name() const { return fileName; }

  /// CORRUPT when a constant is not what its hash says. Reads at the first call what load has left
  /// (Verify::lazy), costs nothing else; a run calls it before its first command.
  Status verifyConstants() const {
    return unverified.load(std::memory_order_acquire) ? verifyLate() : Status();
  }

  std::span<const FunctionInfo> functions() const { return functionInfos; }
  /// NOT_FOUND lists the functions.
  Expected<unsigned> functionIndex(std::string_view name) const;

  /// Device of the plan's device index; null when nothing of the plan is on it.
  Device *device(uint32_t index) const { return planDevices[index]; }
  std::span<Device *const> devices() const { return planDevices; }

  /// Whether runs count time on a virtual clock: some device is simulated (spec D6).
  bool hasVirtualClock() const;

  /// Bytes of a constant of an arena where the device has them, whether they are of the file or
  /// were computed at load; null for what is no part of one. Neighbours in the arena need not be
  /// neighbours on the device.
  const uint8_t *constantAt(uint32_t arena, uint64_t offset, uint64_t size) const;

  /// What was chosen for each kernel on each device that launches it, in the order of the launches.
  std::span<const KernelChoice> kernelChoices() const { return choices; }
  /// Of a branch that a library decides: whether it does the first block here.
  bool takesLibrary(const plan::fb::Command &branch) const;
  /// Kernel of a launch command.
  const KernelChoice &kernel(const plan::fb::Command &command) const;

private:
  LoadedPlan(std::shared_ptr<Runtime> runtime, plan::PlanFile file, std::string name)
      : owner(std::move(runtime)), planFile(std::move(file)), fileName(std::move(name)) {}

  struct LoadedCode {
    uint32_t code;
    const void *domain; ///< Device::codeDomain
    std::unique_ptr<CodeObject> object;
  };

  struct OpenLibrary {
    std::string name;
    const void *domain; ///< Device::codeDomain
    std::unique_ptr<CodeObject> object;
  };

  /// A branch that a library decides, and the kernels of its first block, which are among the
  /// plan's choices when it is taken.
  struct LibraryBranch {
    const plan::fb::Command *command;
    std::vector<KernelChoice> ranks = {};
    Status why = {}; ///< the library does not do it
  };

  // LibraryBranches.cpp
  void chooseBranch(const plan::fb::Command &command, const plan::fb::Block &block);
  void loadBranches();
  Status loadBranch(LibraryBranch &branch);

  Status findDevices();
  Expected<Device *> findDevice(const plan::fb::Device &device, const std::string &name);
  void describeFunctions();
  Status checkMemory();
  uint64_t constantsThere(const Device *device, Budget::Constants &all) const;
  Status verify(plan::BytesOf which) const;
  Status verifyLate() const;

  // Constants.cpp
  struct OwnConstant;
  void findConstants();
  Status loadConstants();
  Status placeConstants(std::vector<OwnConstant> &arena);
  Status copyConstants(const std::vector<OwnConstant *> &some);
  void countLoadCopy(const plan::fb::Constant &constant) const;
  Status computeConstants();
  Status runAtLoad(const FunctionInfo &function);
  Status take(uint32_t arena, uint64_t size, const char *what, Allocation &memory);
  Status chooseKernels();
  Status chooseKernel(const plan::fb::Command &command);
  Status chooseVariant(KernelChoice &choice, uint32_t first) const;
  const KernelChoice *choiceOf(uint32_t kernel, const Device *device) const;
  Unmet unmet(const plan::KernelVariant &variant, const Device &device) const;
  void logWays() const;
  Status loadKernels();
  Status loadKernel(KernelChoice &choice);
  Status loadVariant(KernelChoice &choice);
  Expected<CodeObject *> loadCode(uint32_t code, Device &device);
  Expected<CodeObject *> openLibrary(std::string_view name, Device &device);

  std::shared_ptr<Runtime> owner; // first: everything below needs it when it goes
  plan::PlanFile planFile;
  std::string fileName;
  std::vector<Device *> planDevices;
  std::vector<FunctionInfo> functionInfos;
  std::vector<std::pair<Budget *, uint64_t>> tickets; ///< of the budgets that let the plan in
  struct OwnConstant {
    const plan::fb::Constant *source;
    uint64_t room; ///< bytes up to the next one in the arena
    std::shared_ptr<PooledConstant> pooled;
    const uint8_t *data; ///< where the device has it
  };
  std::vector<std::vector<OwnConstant>> constants; // by arena and offset
  struct Computed {
    uint64_t begin = 0; ///< in the arena
    Allocation memory;
  };
  std::vector<Computed> computed; // by arena: what the plan's function at load makes
  std::vector<LoadedCode> codes;
  std::vector<OpenLibrary> libraries;
  std::vector<KernelChoice> choices;
  std::vector<std::vector<uint32_t>> choicesOf; // by kernel: indices into choices
  std::vector<LibraryBranch> branches;
  // Constants in place that no one has compared with their hashes yet.
  mutable std::atomic<bool> unverified{false};
  mutable std::mutex verifying;
};

/// How a command is named in messages: "'conv2d' on CPU:0 (model.onnx:12:3)".
std::string describeCommand(const plan::fb::Plan &plan, const plan::fb::Command &command);

/// `status` with the command in front of its message; a success stays one.
Status withCommand(const plan::fb::Plan &plan, const plan::fb::Command &command, Status status);

} // namespace gantry::runtime
