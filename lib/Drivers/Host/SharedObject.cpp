// memfd_create + dlopen: the code never touches a disk.
//
// The system's loader trusts what it maps, so a damaged file could crash it; the headers that it
// follows are checked first. (Code that is well formed and hostile is another matter: running a
// plan means trusting it.)
#include "SharedObject.h"

#include "gantry/Support/Bytes.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

namespace gantry::runtime {

namespace {

#if defined(__x86_64__)
constexpr uint16_t thisMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t thisMachine = EM_AARCH64;
#endif

Status damaged(const char *what) {
  return Status::corrupt(std::string("the plan's machine code is not a shared object: ") + what);
}

/// Checks the program headers: those that are loaded lie in the file and ask for sane memory.
Status checkSegments(std::span<const uint8_t> code, const Elf64_Ehdr &header) {
  bool dynamic = false, loadable = false;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, code.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type != PT_LOAD && segment.p_type != PT_DYNAMIC)
      continue;
    if (!rangeFits(segment.p_offset, segment.p_filesz, code.size()))
      return damaged("a segment lies outside of the file");
    if (segment.p_memsz < segment.p_filesz || segment.p_memsz > (uint64_t(1) << 32) ||
        segment.p_vaddr > (uint64_t(1) << 32))
      return damaged("a segment has an impossible size");
    dynamic |= segment.p_type == PT_DYNAMIC;
    loadable |= segment.p_type == PT_LOAD;
  }
  return dynamic && loadable ? Status() : damaged("it has no dynamic section");
}

Status checkHeaders(std::span<const uint8_t> code) {
  Elf64_Ehdr header;
  if (code.size() < sizeof header)
    return damaged("it is too short");
  std::memcpy(&header, code.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
    return damaged("it is not a 64-bit ELF file");
  if (header.e_type != ET_DYN || header.e_machine != thisMachine)
    return damaged("it is for another machine");
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 ||
      !rangeFits(header.e_phoff, uint64_t(header.e_phnum) * sizeof(Elf64_Phdr), code.size()))
    return damaged("its program headers lie outside of the file");
  return checkSegments(code, header);
}

Status writeAll(int file, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    ssize_t n = write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return Status::unavailable(std::string("cannot put machine code into memory: ") +
                                 std::strerror(errno));
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return {};
}

class SharedObject final : public CodeObject {
public:
  /// The descriptor stays open as long as the object: the loader recognises what it has loaded by
  /// name, and a second object under a reused "/proc/self/fd/N" would give the first one again.
  SharedObject(int file, void *handle) : file(file), handle(handle) {}
  ~SharedObject() override {
    if (handle)
      dlclose(handle);
    close(file);
  }

  Expected<KernelHandle> lookup(const std::string &symbol, const Geometry &) override {
    if (void *address = dlsym(handle, symbol.c_str()))
      return address;
    return Status::notFound("the plan's machine code has no symbol '" + symbol + "'");
  }

  Status open() {
    std::string path = "/proc/self/fd/" + std::to_string(file);
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle)
      return {};
    const char *why = dlerror();
    return Status::unavailable(
        std::string("the system's loader refuses the plan's machine code: ") +
        (why ? why : "no reason given"));
  }

private:
  int file;
  void *handle;
};

} // namespace

Expected<std::unique_ptr<CodeObject>> loadSharedObject(std::span<const uint8_t> code) {
  GANTRY_RETURN_IF_ERROR(checkHeaders(code));
  int file = memfd_create("gantry-plan-code", MFD_CLOEXEC);
  if (file < 0)
    return Status::unavailable(std::string("cannot make memory for machine code: ") +
                               std::strerror(errno));
  auto object = std::make_unique<SharedObject>(file, nullptr);
  GANTRY_RETURN_IF_ERROR(writeAll(file, code));
  GANTRY_RETURN_IF_ERROR(object->open());
  return std::unique_ptr<CodeObject>(std::move(object));
}

} // namespace gantry::runtime
