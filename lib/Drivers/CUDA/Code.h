// Modules of PTX or machine code, loaded into the context of a card, and the kernels in them.
#pragma once

#include "Context.h"
#include "gantry/Runtime/Device.h"

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace gantry::runtime::cuda {

/// Work that a library does in the place of a kernel.
class LibraryKernel {
public:
  virtual ~LibraryKernel() = default;
  /// With the context current; `buffers` are the launch's, `count` of them.
  virtual Status launch(Context &context, StreamHandle stream, void *const *buffers,
                        uint32_t count) const = 0;
  /// Whether it is a part of what several cards do together.
  virtual bool isCollective() const { return false; }
};

/// What a KernelHandle of this driver points to.
struct Kernel {
  FunctionHandle function = nullptr;
  Geometry geometry;
  const LibraryKernel *inLibrary = nullptr; ///< instead of the function
};

class Code final : public CodeObject {
public:
  /// PTX is compiled by the driver here. CORRUPT when it is neither PTX nor ELF, or with what the
  /// driver's compiler says of it; UNSUPPORTED when it is for other GPUs.
  static Expected<std::unique_ptr<CodeObject>> load(PhysicalGPU &gpu,
                                                    std::span<const uint8_t> bytes);

  Code(std::shared_ptr<Context> context, ModuleHandle module)
      : context(std::move(context)), module(module) {}
  ~Code() override;

  Expected<KernelHandle> lookup(const std::string &symbol, const Geometry &geometry) override;

private:
  std::shared_ptr<Context> context;
  ModuleHandle module;
  std::mutex mutex;
  std::vector<std::unique_ptr<Kernel>> kernels;
};

} // namespace gantry::runtime::cuda
