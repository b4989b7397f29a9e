#include "Model.h"

#include "Console.h"

#include "gantry/Arrays/Files.h"

#include <cerrno>
#include <fstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gantry::tool {

namespace {

/// Makes standard input, which was read already, readable once more from its beginning: the
/// compiler reads "-" by itself.
Status rewindStandardInput(std::span<const uint8_t> content) {
  const auto failed = [] {
    return Status::internal("cannot keep standard input: " + arrays::systemReason(errno));
  };
  const int copy = ::memfd_create("stdin", MFD_CLOEXEC);
  if (copy < 0)
    return failed();
  Status status;
  while (status.ok() && !content.empty()) {
    const ssize_t count = ::write(copy, content.data(), content.size());
    if (count < 0)
      status = failed();
    else
      content = content.subspan(static_cast<size_t>(count));
  }
  if (status.ok() && (::lseek(copy, 0, SEEK_SET) != 0 || ::dup2(copy, STDIN_FILENO) < 0))
    status = failed();
  ::close(copy);
  return status;
}

Expected<Model> compileModel(const Options &options) {
  Stopwatch watch;
  Outcome outcome = compileGraph(options);
  if (!outcome.status.ok())
    return outcome.status;
  const double seconds = watch.seconds();
  auto owner = std::make_shared<const Artifact>(std::move(*outcome.artifact));
  auto file = plan::PlanFile::fromBytes(owner->bytes(), owner);
  if (!file)
    return Status::internal("the compiler made a plan that cannot be read: " +
                            file.status().message());
  return Model{file.take(), seconds};
}

Status checkNoCompileFlags(const Options &options) {
  if (options.compileFlags.empty())
    return {};
  const std::string &flag = options.compileFlags.front();
  return Status::invalidArgument("'" + options.file + "' is a plan, compiled already; --" +
                                 flag.substr(0, flag.find('=')) + " needs the graph");
}

} // namespace

bool isPlanFile(const std::string &path) {
  uint8_t start[sizeof(plan::fileMagic)] = {};
  std::ifstream in(path, std::ios::binary);
  in.read(reinterpret_cast<char *>(start), sizeof start);
  return in && plan::PlanFile::looksLikePlan(start);
}

Outcome compileGraph(const Options &options) {
  struct stat info;
  // Told here rather than by the compiler: a file that is not there needs no MLIR.
  if (options.file != "-" && ::stat(options.file.c_str(), &info) != 0)
    return {Status::notFound(
                "cannot open '" + options.file +
                "': " + (errno == ENOENT ? "no such file or folder" : arrays::systemReason(errno))),
            {}};
  if (options.file != "-" && S_ISDIR(info.st_mode))
    return {
        Status::invalidArgument("'" + options.file + "' is a folder, expected a graph or a plan"),
        {}};
  auto compiler = Compiler::open();
  if (!compiler)
    return {compiler.status(), {}};
  return compiler->compile(options.file, options.compileFlags);
}

Expected<Model> Model::load(const Options &options) {
  if (options.file == "-") {
    auto input = arrays::FileBytes::open("-");
    if (!input)
      return input.status();
    if (!plan::PlanFile::looksLikePlan(input->bytes())) {
      GANTRY_RETURN_IF_ERROR(rewindStandardInput(input->bytes()));
      return compileModel(options);
    }
    GANTRY_RETURN_IF_ERROR(checkNoCompileFlags(options));
    auto file = plan::PlanFile::copyOf(input->bytes());
    return file ? Expected<Model>(Model{file.take(), {}}) : Expected<Model>(file.status());
  }
  if (!isPlanFile(options.file))
    return compileModel(options);
  GANTRY_RETURN_IF_ERROR(checkNoCompileFlags(options));
  auto file = plan::PlanFile::open(options.file);
  return file ? Expected<Model>(Model{file.take(), {}}) : Expected<Model>(file.status());
}

} // namespace gantry::tool
