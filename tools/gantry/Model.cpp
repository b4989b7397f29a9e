#include "Model.h"

#include "Console.h"

#include "gantry/Formats/ArrayFiles.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
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

/// Weights from here on are not held in memory a second time.
constexpr uint64_t largeWeights = uint64_t(256) << 20;

/// An open file in TMPDIR that has no name any more, so that nothing is left behind however the
/// program ends.
class NamelessFile {
public:
  NamelessFile() {
    std::error_code error;
    const auto folder = std::filesystem::temp_directory_path(error);
    std::string name = (folder / "gantry-XXXXXX").string();
    if (error || (descriptor = ::mkostemp(name.data(), O_CLOEXEC)) < 0)
      return; // without one, the plan is compiled into memory
    ::unlink(name.c_str());
    place = folder.string();
  }
  NamelessFile(const NamelessFile &) = delete;
  ~NamelessFile() {
    if (descriptor >= 0)
      ::close(descriptor);
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor); }
  /// Flags that make the compiler use it for a large plan.
  std::vector<std::string> flags() const {
    if (descriptor < 0)
      return {};
    return {"write-to=" + path(), "write-above=" + std::to_string(largeWeights)};
  }
  /// Explains a failure to write to it, whose message has its path only.
  void explainFailure() const {
    struct stat info;
    if (descriptor >= 0 && ::fstat(descriptor, &info) == 0 && info.st_size > 0)
      printNote("the plan was being written to a temporary file in '" + place +
                "'; set TMPDIR to a folder with more room");
  }

private:
  int descriptor = -1;
  std::string place;
};

Expected<Model> compileModel(const Options &options) {
  Stopwatch watch;
  const NamelessFile scratch;
  Outcome outcome = compileGraph(options, scratch.flags());
  if (!outcome.status.ok()) {
    scratch.explainFailure();
    return outcome.status;
  }
  const double seconds = watch.seconds();
  if (outcome.artifact->bytes().empty()) {
    // What was written a moment ago need not be read back for its checksums.
    auto file = plan::PlanFile::open(scratch.path(), {plan::Check::metadataOnly});
    if (!file)
      return file.status();
    return Model{file.take(), seconds};
  }
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

Status checkIsFile(const std::string &path) {
  struct stat info;
  if (path == "-")
    return {};
  if (::stat(path.c_str(), &info) != 0)
    return Status::notFound(
        "cannot open '" + path +
        "': " + (errno == ENOENT ? "no such file or folder" : arrays::systemReason(errno)));
  if (S_ISDIR(info.st_mode))
    return Status::invalidArgument("'" + path + "' is a folder, expected a graph or a plan");
  return {};
}

Status checkCanBeWritten(const std::string &path) {
  const auto cannot = [&](const std::string &why) {
    return Status::invalidArgument("cannot write '" + path + "': " + why);
  };
  if (path == "-")
    return {};
  struct stat info;
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode))
    return cannot("it is a folder");
  // Devices and pipes are written in place, a file is replaced, which its folder must allow.
  if (exists && !S_ISREG(info.st_mode))
    return ::access(path.c_str(), W_OK) == 0 ? Status() : cannot(arrays::systemReason(errno));
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty())
    folder = ".";
  if (::stat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    return cannot("there is no folder '" + folder + "'");
  return ::access(folder.c_str(), W_OK) == 0 ? Status() : cannot(arrays::systemReason(errno));
}

Outcome compileGraph(const Options &options, const std::vector<std::string> &more) {
  if (Status status = checkIsFile(options.file); !status.ok())
    return {status, {}};
  constexpr std::string_view lock = "write-placement-lock=";
  for (const std::string &flag : options.compileFlags)
    if (flag.starts_with(lock))
      if (Status status = checkCanBeWritten(flag.substr(lock.size())); !status.ok())
        return {status, {}};
  auto compiler = Compiler::open();
  if (!compiler)
    return {compiler.status(), {}};
  std::vector<std::string> flags = options.compileFlags;
  flags.insert(flags.end(), more.begin(), more.end());
  return compiler->compile(options.file, flags);
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
