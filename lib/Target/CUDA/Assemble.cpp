// ptxas reads and writes files that have no name, so that nothing of them is left however this
// process or that one ends.
//
// What it made is kept, if there is a folder for it, under the hash of all that decides it: the
// text, the flags and what ptxas says about itself. In the file, the code is followed by a checksum
// over that and the code, so that neither damage nor two texts with one hash give wrong code.

#include "Assemble.h"

#include "gantry/Support/ExternalProgram.h"
#include "gantry/Support/File.h"
#include "gantry/Support/Hash.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>

using namespace gantry;

using Checksum = std::array<uint8_t, sizeof(uint64_t)>;

static std::span<const uint8_t> bytesOf(std::string_view text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

static Checksum checksumOf(std::string_view request, std::span<const uint8_t> code) {
  Hasher hasher;
  hasher.update(bytesOf("cubin of "));
  hasher.update(bytesOf(request));
  hasher.update(code);
  const uint64_t digest = hasher.digest();
  Checksum checksum;
  std::memcpy(checksum.data(), &digest, sizeof digest);
  return checksum;
}

static std::vector<char> charsOf(std::span<const uint8_t> bytes) {
  return {bytes.begin(), bytes.end()};
}

//===----------------------------------------------------------------------===//
// What was made before
//===----------------------------------------------------------------------===//

static std::string pathIn(const std::string &folder, std::string_view request) {
  constexpr unsigned digits = 16;
  return folder + "/" + llvm::utohexstr(hashBytes(bytesOf(request)), /*LowerCase=*/true, digits) +
         ".cubin";
}

/// None when nothing was kept, or it is damaged.
static std::optional<std::vector<char>> findKept(const std::string &path,
                                                 std::string_view request) {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file || file->bytes().size() < sizeof(Checksum))
    return std::nullopt;
  const auto code = file->bytes().first(file->bytes().size() - sizeof(Checksum));
  const auto checksum = file->bytes().last(sizeof(Checksum));
  if (!std::ranges::equal(checksum, checksumOf(request, code)))
    return std::nullopt;
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0); // what is used is not what goes first
  return charsOf(code);
}

/// Nothing is said when it cannot be: the code is there anyway.
static void keep(const std::string &path, std::string_view request, std::span<const uint8_t> code) {
  Expected<AtomicFile> file = AtomicFile::create(path);
  if (file && file->write(code).ok() && file->write(checksumOf(request, code)).ok())
    (void)file->commit();
}

//===----------------------------------------------------------------------===//
// Making it
//===----------------------------------------------------------------------===//

static std::string trimmed(std::string text) {
  text.erase(text.find_last_not_of(" \n") + 1);
  return text;
}

static std::string joined(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : " ") + word;
  return text;
}

static std::string replaceAll(std::string text, std::string_view what, std::string_view with) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

/// Errors of a program that did not do its work, in its own words.
static Status failureOf(const std::string &command, const Finished &finished,
                        std::string_view input, std::string_view name) {
  const std::string said =
      replaceAll(replaceAll(trimmed(finished.output), input, name), "\n", "; ");
  std::string message = "'" + replaceAll(command, input, name) + "' ended with " +
                        finished.describe() + (said.empty() ? "" : ": " + said);
  return finished.signal ? Status::unavailable(message) : Status::internal(message);
}

Expected<Ptxas> Ptxas::start(const Assembler &assembler) {
  Ptxas ptxas;
  ptxas.program = assembler.program;
  ptxas.cache = assembler.cache;
  const std::vector<std::string> command = {assembler.program, "--version"};
  Expected<Finished> finished = runProgram(command);
  if (!finished)
    return finished.status();
  if (!finished->isGood())
    return failureOf(joined(command), *finished, assembler.program, assembler.program);
  ptxas.version = std::move(finished->output);
  return ptxas;
}

Expected<std::vector<char>> Ptxas::assemble(std::string_view ptx, std::string_view arch,
                                            std::string_view name) const {
  std::vector<std::string> command = {program, "-arch=" + std::string(arch)};
  const std::string request = version + "\n" + command.back() + "\n" + std::string(ptx);
  const std::string kept = cache.empty() ? "" : pathIn(cache, request);
  if (!kept.empty())
    if (auto code = findKept(kept, request))
      return std::move(*code);

  Expected<NamelessFile> input = NamelessFile::inMemory(), output = NamelessFile::inMemory();
  if (!input || !output)
    return (input ? output : input).status();
  GANTRY_RETURN_IF_ERROR(input->write(bytesOf(ptx)));
  command.insert(command.end(), {input->path(), "-o", output->path()});
  const int descriptors[] = {input->number(), output->number()};
  Expected<Finished> finished = runProgram(command, descriptors);
  if (!finished)
    return finished.status();
  if (!finished->isGood())
    return failureOf(replaceAll(joined(command), " -o " + output->path(), ""), *finished,
                     input->path(), name);
  Expected<MappedFile> code = output->map();
  if (!code)
    return code.status();
  if (!kept.empty())
    keep(kept, request, code->bytes());
  return charsOf(code->bytes());
}
