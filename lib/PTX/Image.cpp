// A module's variables get memory, its kernels are decoded when they are asked for.
#include "KernelProgram.h"

#include "gantry/Support/Bytes.h"
#include "gantry/Support/Names.h"

#include <cstring>
#include <new>

using namespace gantry;
using namespace gantry::ptx;

Code::Code(Module module) : source(std::move(module)) {}

Code::~Code() = default;

Expected<std::shared_ptr<Code>> Code::of(std::string text, std::string file) {
  static std::mutex mutex;
  static std::map<size_t, std::weak_ptr<Code>> known; // by hashes of their texts
  const size_t hash = std::hash<std::string>()(text);
  {
    std::lock_guard lock(mutex);
    if (auto found = known.find(hash); found != known.end())
      if (auto code = found->second.lock();
          code && *code->source.text == text && code->source.file == file)
        return code;
  }
  auto module = parse(std::move(text), std::move(file));
  if (!module)
    return module.status();
  auto code = std::make_shared<Code>(module.take());
  std::lock_guard lock(mutex);
  std::erase_if(known, [](const auto &entry) { return entry.second.expired(); });
  known[hash] = code;
  return code;
}

Image::Image(std::shared_ptr<Code> code, Memory &memory) : code(std::move(code)), regions(memory) {}

Image::~Image() {
  for (const void *address : registered)
    (void)regions.remove(address);
}

Status Image::allocate() {
  const Module &source = module();
  addresses.resize(source.variables.size());
  for (size_t i = 0; i < source.variables.size(); ++i) {
    const Variable &variable = source.variables[i];
    if (variable.space != Space::global && variable.space != Space::constant)
      continue;
    if (variable.isExtern && variable.size == 0)
      continue;
    uint64_t size = std::max<uint64_t>(variable.size, 1), align = std::max(16u, variable.align);
    std::unique_ptr<std::byte[]> bytes(new (std::nothrow) std::byte[size + align]());
    if (!bytes)
      return Status::doesNotFit("variable '" + printable(variable.name) + "' needs " +
                                formatBytes(size));
    uint64_t address = alignTo(reinterpret_cast<uint64_t>(bytes.get()), align);
    std::byte *at = bytes.get() + (address - reinterpret_cast<uint64_t>(bytes.get()));
    std::memcpy(at, variable.bytes.data(), std::min<uint64_t>(variable.bytes.size(), size));
    GANTRY_RETURN_IF_ERROR(
        regions.add(at, size, std::string(variable.name), variable.space != Space::constant));
    registered.push_back(at);
    storage.push_back(std::move(bytes));
    addresses[i] = address;
  }
  // Addresses in initialisers: all variables have theirs now.
  for (size_t i = 0; i < source.variables.size(); ++i)
    for (const Relocation &relocation : source.variables[i].relocations) {
      if (relocation.symbol.scope != SymbolRef::Scope::module || relocation.width != 8 ||
          !addresses[i])
        return Status::unsupported(printable(source.file) + ":" +
                                   std::to_string(source.variables[i].place.line) +
                                   ": error: variable '" + printable(source.variables[i].name) +
                                   "' is initialised with what is no address of a variable");
      uint64_t value = addresses[relocation.symbol.index] + uint64_t(relocation.addend);
      std::memcpy(reinterpret_cast<char *>(addresses[i]) + relocation.offset, &value, sizeof value);
    }
  return {};
}

Expected<std::unique_ptr<Image>> Image::load(std::shared_ptr<Code> code, Memory &memory) {
  std::unique_ptr<Image> image(new Image(std::move(code), memory));
  GANTRY_RETURN_IF_ERROR(image->allocate());
  return image;
}

Expected<std::unique_ptr<Image>> Image::load(Module module, Memory &memory) {
  return load(std::make_shared<Code>(std::move(module)), memory);
}

std::vector<std::string> Image::kernelNames() const {
  std::vector<std::string> names;
  for (const Function &function : module().functions)
    if (function.isKernel && function.isDefined)
      names.push_back(std::string(function.name));
  return names;
}

Expected<const KernelProgram *> Image::program(std::string_view name) {
  if (auto found = programs.find(name); found != programs.end())
    return found->second.get();
  std::lock_guard lock(code->mutex);
  if (auto found = code->programs.find(name); found != code->programs.end())
    return found->second.get();
  const Function *function = module().find(name);
  if (!function || !function->isKernel || !function->isDefined) {
    std::string known;
    std::vector<std::string> names = kernelNames();
    for (const std::string &each : names)
      known += (known.empty() ? "" : ", ") + ("'" + printable(each) + "'");
    return Status::notFound("no kernel '" + printable(name) + "' in " + printable(module().file) +
                            (known.empty() ? ": it has none" : "; it has " + known) +
                            didYouMean(name, names));
  }
  auto made = decode(*this, *function);
  if (!made)
    return made.status();
  const KernelProgram *program = made->get();
  auto &home = program->hasAddresses ? programs : code->programs;
  home.emplace(std::string(name), made.take());
  return program;
}

Expected<const KernelInfo *> Image::kernel(std::string_view name) {
  auto found = program(name);
  if (!found)
    return found.status();
  return &(*found)->info;
}
