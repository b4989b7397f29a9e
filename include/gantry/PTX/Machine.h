// The machine: loads modules and runs their kernels.
//
//   Memory memory;
//   memory.add(data, bytes, "x");
//   auto image = Image::load(module, memory);
//   Launch launch{.kernel = "scale", .grid = {4, 1, 1}, .block = {128, 1, 1}, .arguments = …};
//   Expected<Outcome> outcome = run(**image, launch);
//
// An image and its memory are used by one launch at a time.
#pragma once

#include "gantry/PTX/Memory.h"
#include "gantry/PTX/Module.h"
#include "gantry/PTX/Outcome.h"

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace gantry::ptx {

class KernelProgram;

struct Parameter {
  std::string name;
  Type type = Type::none;
  uint64_t offset = 0, size = 0;
};

/// What a launch has to know of a kernel.
struct KernelInfo {
  std::string name;
  std::vector<Parameter> parameters;
  uint64_t parameterBytes = 0;
  uint64_t staticShared = 0; ///< bytes; dynamic shared memory follows
  uint64_t localBytes = 0;   ///< of a thread
  Index3 requiredThreads = {0, 0, 0}, maxThreads = {0, 0, 0};
  size_t ops = 0; ///< decoded instructions, calls expanded
};

/// A module with what was decoded of it. Images share one, on any threads.
class Code {
public:
  explicit Code(Module module);
  ~Code();
  /// The code of a text: the same one as long as somebody has it. Errors: those of `parse`.
  static Expected<std::shared_ptr<Code>> of(std::string text, std::string file);
  const Module &module() const { return source; }

private:
  friend class Image;
  const Module source;
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<KernelProgram>, std::less<>>
      programs; ///< without addresses
};

/// Code with memory for its variables.
class Image {
public:
  /// `memory` must outlive the image. Errors: DOES_NOT_FIT.
  static Expected<std::unique_ptr<Image>> load(std::shared_ptr<Code> code, Memory &memory);
  static Expected<std::unique_ptr<Image>> load(Module module, Memory &memory);
  ~Image();

  /// Decodes the kernel when it is first asked for. Errors: NOT_FOUND; UNSUPPORTED with the place
  /// of the instruction.
  Expected<const KernelInfo *> kernel(std::string_view name);
  std::vector<std::string> kernelNames() const;
  /// Where a variable of the module is, or 0.
  uint64_t address(uint32_t variable) const { return addresses[variable]; }
  Memory &memory() { return regions; }
  const Module &module() const { return code->module(); }

  Expected<const KernelProgram *> program(std::string_view name); ///< for the machine

private:
  Image(std::shared_ptr<Code> code, Memory &memory);
  Status allocate();

  std::shared_ptr<Code> code;
  Memory &regions;
  std::vector<uint64_t> addresses;
  std::vector<std::unique_ptr<std::byte[]>> storage;
  std::vector<const void *> registered;
  std::map<std::string, std::unique_ptr<KernelProgram>, std::less<>> programs; ///< with addresses
};

/// What is checked: nothing; bounds, alignment and barriers; also races and what was never written.
enum class Checks : uint8_t { none, memory, all };

struct Launch {
  std::string kernel;
  Index3 grid = {1, 1, 1}, block = {1, 1, 1};
  uint64_t dynamicShared = 0;
  std::span<const std::byte> arguments; ///< laid out as the parameters are
  Checks checks = Checks::all;
  unsigned threads = 1;                   ///< of the host; one with Checks::all
  uint64_t seed = 0;                      ///< not 0: blocks run in an order that depends on it
  uint64_t stepLimit = uint64_t(1) << 40; ///< warp instructions of the launch
  size_t maxFaults = 64;                  ///< that are kept
};

/// Runs a grid to its end. Errors: what cannot be launched (INVALID_ARGUMENT: arguments, sizes;
/// NOT_FOUND: the kernel; UNSUPPORTED: an instruction). Faults of the kernel are in the outcome.
Expected<Outcome> run(Image &image, const Launch &launch);

/// Bytes of shared memory that a block may have.
inline constexpr uint64_t maxSharedBytes = 228 * 1024;

} // namespace gantry::ptx
