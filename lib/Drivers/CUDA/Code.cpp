#include "Code.h"

#include <algorithm>
#include <string_view>

namespace gantry::runtime::cuda {

namespace {

/// Shared memory that every GPU gives a block without being asked.
constexpr uint32_t usualSharedBytes = 48 * 1024;

bool isELF(std::span<const uint8_t> bytes) {
  return bytes.size() > 64 && std::string_view(reinterpret_cast<const char *>(bytes.data()), 4) ==
                                  std::string_view("\x7f"
                                                   "ELF");
}

bool isPTX(std::span<const uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  return text.find(".version") != std::string_view::npos &&
         text.find(".target") != std::string_view::npos;
}

std::string trimmed(std::string text) {
  text.resize(std::min(text.size(), text.find('\0')));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

} // namespace

Expected<std::unique_ptr<CodeObject>> Code::load(PhysicalGPU &gpu, std::span<const uint8_t> bytes) {
  if (!isELF(bytes) && !isPTX(bytes))
    return Status::corrupt("the code for GPUs is neither PTX nor an ELF object");
  Expected<std::shared_ptr<Context>> context = gpu.context();
  if (!context)
    return context.status();
  CurrentContext current(**context);
  GANTRY_RETURN_IF_ERROR(current.status());
  const std::string image(bytes.begin(), bytes.end()); // with the NUL that PTX needs
  std::string log(8192, '\0');
  JITOption options[] = {JITOption::errorLog, JITOption::errorLogBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  ModuleHandle module = nullptr;
  Status status = GANTRY_CUDA_IN(**context, loadModule, &module, image.c_str(), 2, options, values);
  if (!status.ok()) {
    const std::string said = trimmed(std::move(log));
    return said.empty() ? status : Status(status.code(), status.message() + ": " + said);
  }
  return std::unique_ptr<CodeObject>(std::make_unique<Code>(context.take(), module));
}

Code::~Code() {
  CurrentContext current(*context, CurrentContext::For::release);
  if (current.status().ok())
    (void)context->api().unloadModule(module);
}

Expected<KernelHandle> Code::lookup(const std::string &symbol, const Geometry &geometry) {
  CurrentContext current(*context);
  GANTRY_RETURN_IF_ERROR(current.status());
  FunctionHandle function = nullptr;
  const Result found = context->api().function(&function, module, symbol.c_str());
  if (found == Result::notFound)
    return Status::notFound("the code has no kernel '" + symbol + "'");
  GANTRY_RETURN_IF_ERROR(context->check(found, symbolOf_function));
  if (geometry.sharedBytes > usualSharedBytes)
    GANTRY_RETURN_IF_ERROR(GANTRY_CUDA_IN(*context, setFunctionAttribute, function,
                                          FunctionAttribute::maxDynamicSharedBytes,
                                          static_cast<int>(geometry.sharedBytes)));
  std::lock_guard lock(mutex);
  kernels.push_back(std::make_unique<Kernel>(Kernel{function, geometry}));
  return static_cast<KernelHandle>(kernels.back().get());
}

} // namespace gantry::runtime::cuda
