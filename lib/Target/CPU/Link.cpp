// lld reads and writes files by name. These have names for this process alone, so that nothing is
// left of them when it is killed; mapped, the output would be another file beside its place.
//
// With exceptions: the lock is given back where memory runs out inside of lld.
#include "Link.h"

#include "gantry/Support/File.h"

#include "lld/Common/Driver.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>
#include <new>

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

static Status linkFiles(const std::vector<NamelessFile> &objects, const NamelessFile &output) {
  std::vector<std::string> paths{output.path()};
  for (const NamelessFile &object : objects)
    paths.push_back(object.path());
  std::vector<const char *> arguments = {
      "ld.lld",        "-shared",     "--gc-sections",         "-s", "--hash-style=gnu", "-z",
      "separate-code", "--threads=1", "--no-mmap-output-file", "-o"};
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

static Status linkInMemory(llvm::ArrayRef<CodeBytes> objects, std::vector<char> &sharedObject) {
  Expected<NamelessFile> output = NamelessFile::inMemory();
  if (!output)
    return cannotLink(output.status());
  std::vector<NamelessFile> files;
  for (const CodeBytes &object : objects) {
    Expected<NamelessFile> file = fileOf(object);
    if (!file)
      return cannotLink(file.status());
    files.push_back(file.take());
  }
  GANTRY_RETURN_IF_ERROR(linkFiles(files, *output));
  Expected<MappedFile> linked = output->map();
  if (!linked)
    return cannotLink(linked.status());
  sharedObject.assign(linked->bytes().begin(), linked->bytes().end());
  return {};
}

Status gantry::linkObjects(llvm::ArrayRef<CodeBytes> objects, std::vector<char> &sharedObject) {
  try {
    return linkInMemory(objects, sharedObject);
  } catch (const std::bad_alloc &) {
    return Status::doesNotFit("there is no more memory to link the kernels with");
  }
}
