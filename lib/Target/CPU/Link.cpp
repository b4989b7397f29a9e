// lld reads and writes files by name. These have names for this process alone, so that nothing is
// left of them when it is killed. The output is a pipe, because a file would be written beside its
// place and renamed. A thread reads it; where the system starts none, the pipe has to hold it all.
//
// With exceptions: the lock is given back where memory runs out inside of lld.
#include "Link.h"

#include "gantry/Support/File.h"
#include "gantry/Support/Thread.h"

#include "lld/Common/Driver.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <new>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

using namespace gantry;

static Expected<NamelessFile> fileOf(llvm::ArrayRef<char> content) {
  Expected<NamelessFile> file = NamelessFile::inMemory();
  if (file)
    if (Status status =
            file->write({reinterpret_cast<const uint8_t *>(content.data()), content.size()});
        !status.ok())
      return status;
  return file;
}

/// The status with what could not be done before it.
static Status cannotLink(const Status &why) {
  return {why.code(), "cannot link the kernels: " + why.message()};
}

namespace {
/// Takes what is written to it by name.
class Pipe {
public:
  Pipe() { opened = ::pipe2(ends, O_CLOEXEC) == 0; }
  ~Pipe() { (void)finish(); }

  bool isOpen() const { return opened; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(ends[1]); }

  /// Whether `most` bytes can be written: as many as they may be where a thread reads them.
  bool collect(size_t most) {
    if (reader.start([this] { read(); }))
      return true;
    const int capacity = ::fcntl(ends[1], F_SETPIPE_SZ, int(kMostWithoutThread));
    return capacity > 0 && most < size_t(capacity);
  }

  /// What was written; call it when nobody writes any more.
  std::vector<char> finish() {
    if (!std::exchange(opened, false))
      return {};
    ::close(ends[1]);
    if (reader)
      reader.join();
    else
      read();
    ::close(ends[0]);
    return std::move(bytes);
  }

private:
  /// What any process may ask of a pipe, unless its system was told otherwise.
  static constexpr size_t kMostWithoutThread = 1 << 20;

  void read() {
    char block[1 << 16];
    for (ssize_t size; (size = ::read(ends[0], block, sizeof block)) != 0;)
      if (size > 0)
        bytes.insert(bytes.end(), block, block + size);
      else if (errno != EINTR)
        return;
  }

  int ends[2];
  bool opened;
  Thread reader;
  std::vector<char> bytes;
};
} // namespace

using Names = llvm::ArrayRef<std::pair<std::string, std::string>>;

/// All objects as an archive: a process may have fewer files open than a plan has kernels.
static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
archiveOf(llvm::ArrayRef<CodeBytes> objects) {
  std::vector<llvm::NewArchiveMember> members;
  for (const CodeBytes &object : objects)
    members.emplace_back(llvm::MemoryBufferRef({object.data(), object.size()}, "kernel.o"));
  return llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NoSymtab,
                                    llvm::object::Archive::K_GNU, /*Deterministic=*/true,
                                    /*Thin=*/false);
}

static Status runLinker(const NamelessFile &archive, Names names, const std::string &output) {
  std::vector<std::string> paths{output, "--whole-archive", archive.path()};
  for (const auto &[name, symbol] : names)
    paths.push_back("--defsym=" + name + "=" + symbol);
  std::vector<const char *> arguments = {
      "ld.lld", "-shared",       "--gc-sections", "-s", "--hash-style=gnu",
      "-z",     "separate-code", "--threads=1",   "-o"};
  for (const std::string &path : paths)
    arguments.push_back(path.c_str());
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  std::string messages;
  llvm::raw_string_ostream log(messages);
  lld::Result result = lld::lldMain(arguments, log, log, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    return Status::internal("internal error: linking the kernels failed: " + messages);
  return {};
}

static Status linkInMemory(llvm::ArrayRef<CodeBytes> objects, Names names,
                           std::vector<char> &sharedObject) {
  constexpr size_t linkersOwn = 1 << 16; // headers, and what is aligned to pages
  Pipe output;
  if (!output.isOpen())
    return Status::doesNotFit(std::string("cannot link the kernels: no pipe can be had: ") +
                              std::strerror(errno));
  auto content = archiveOf(objects);
  if (!content)
    return Status::internal("internal error: no archive of kernels: " +
                            llvm::toString(content.takeError()));
  Expected<NamelessFile> archive =
      fileOf({(*content)->getBufferStart(), (*content)->getBufferSize()});
  if (!archive)
    return cannotLink(archive.status());
  const size_t bytes = linkersOwn + (*content)->getBufferSize();
  content->reset();
  if (!output.collect(bytes))
    return Status::doesNotFit("cannot link the kernels: the system starts no thread for it");
  Status linked = runLinker(*archive, names, output.path());
  sharedObject = output.finish();
  return linked;
}

Status gantry::linkObjects(llvm::ArrayRef<CodeBytes> objects, Names names,
                           std::vector<char> &sharedObject) {
  try {
    return linkInMemory(objects, names, sharedObject);
  } catch (const std::bad_alloc &) {
    return Status::doesNotFit("there is no more memory to link the kernels with");
  }
}
