#include "Model.h"

#include "CompileCache.h"
#include "Console.h"
#include "Print.h"

#include "gantry/Formats/ArrayFiles.h"
#include "gantry/Plan/VerifyBytes.h"
#include "gantry/Runtime/ThreadPool.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace gantry::tool {

namespace {

/// Weights from here on are not held in memory a second time.
constexpr uint64_t largeWeights = uint64_t(256) << 20;

/// As it was compiled before, with what was said then.
std::optional<Model> takeFromCache(const Options &options, const CompileCache &cache,
                                   const std::vector<ShapeInput> &candidates, Stopwatch watch) {
  auto hit = cache.find(candidates);
  if (!hit)
    return std::nullopt;
  if (options.verify == "full") {
    runtime::ThreadPool threads(static_cast<unsigned>(options.threads));
    const auto parallel = [&](size_t count, const auto &work) {
      runtime::shareOut(threads, count, work);
    };
    if (!plan::verifyOnce(hit->file, parallel).ok()) {
      cache.forget(candidates);
      return std::nullopt;
    }
  }
  CompilerLog log;
  for (const CompilerLine &line : hit->lines)
    CompilerLog::receive(&log, line.severity, line.text.c_str());
  Model model{std::move(hit->file), watch.seconds(), std::move(hit->shapeValues)};
  model.isCached = true;
  return model;
}

Expected<Model> compileModel(const Options &options, Purpose purpose,
                             std::vector<ShapeInput> candidates,
                             std::vector<CompilerLine> *printed) {
  Stopwatch watch;
  auto request = requestFor(options);
  if (!request)
    return request.status();
  request->isOutline = purpose == Purpose::tell;
  auto cache = CompileCache::of(options, *request);
  if (!cache)
    return cache.status();
  if (*cache)
    if (auto model = takeFromCache(options, **cache, candidates, watch))
      return std::move(*model);
  request->candidates = std::move(candidates);
  request->scratchAbove = largeWeights;
  auto compiler = Compiler::open();
  if (!compiler)
    return compiler.status();
  Outcome outcome = compiler->compile(*request);
  if (!outcome.status.ok()) {
    if (printed)
      *printed = std::move(outcome.lines);
    return outcome.status;
  }
  const double seconds = watch.seconds();
  if (*cache)
    (*cache)->keep(*outcome.artifact, outcome.lines, request->candidates);
  auto owner = std::make_shared<const Artifact>(std::move(*outcome.artifact));
  // What was written to a file a moment ago need not be read back for its checksums.
  const bool large = owner->bytes().size() >= largeWeights;
  auto file = plan::PlanFile::fromBytes(owner->bytes(), owner,
                                        {large ? plan::Check::made : plan::Check::everything});
  if (!file)
    return Status::internal("the compiler made a plan that cannot be read: " +
                            file.status().message());
  return Model{file.take(), seconds, owner->shapeValues()};
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
  if (isStream(path)) {
    auto content = streamContent(path);
    return content && plan::PlanFile::looksLikePlan(*content);
  }
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

Status checkOutputs(const Options &options, std::vector<std::string> files) {
  constexpr std::string_view lock = "write-placement-lock=";
  for (const std::string &flag : options.compileFlags)
    if (flag.starts_with(lock))
      files.push_back(flag.substr(lock.size()));
  const auto real = [](const std::string &path) {
    std::error_code error;
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error)
        .string();
  };
  std::set<std::string> written;
  for (const std::string &path : files) {
    GANTRY_RETURN_IF_ERROR(checkCanBeWritten(path));
    if (isStream(path))
      continue;
    for (const std::string &input : {options.file, options.other})
      if (!input.empty() && !isStream(input) && real(input) == real(path))
        return Status::invalidArgument("cannot write '" + path + "': it is what is read");
    if (!written.insert(real(path)).second)
      return Status::invalidArgument("cannot write '" + path + "': it is given for two outputs");
  }
  return {};
}

bool isStream(const std::string &path) {
  struct stat info;
  return path == "-" ||
         (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode));
}

Expected<std::span<const uint8_t>> streamContent(const std::string &path) {
  static std::map<std::string, Expected<arrays::FileBytes>> contents;
  auto place = contents.find(path);
  if (place == contents.end())
    place = contents.emplace(path, arrays::FileBytes::open(path)).first;
  if (!place->second)
    return place->second.status();
  return place->second->bytes();
}

Expected<CompileRequest> requestFor(const Options &options) {
  GANTRY_RETURN_IF_ERROR(checkIsFile(options.file));
  GANTRY_RETURN_IF_ERROR(checkOutputs(options, {}));
  CompileRequest request;
  request.file = options.file;
  request.flags = options.compileFlags;
  auto codeCache = folderForCode(options);
  if (!codeCache)
    return codeCache.status();
  // In front, since the last one holds.
  if (!codeCache->empty())
    request.flags.insert(request.flags.begin(), "code-cache=" + *codeCache);
  if (isStream(options.file)) {
    auto content = streamContent(options.file);
    if (!content)
      return content.status();
    request.bytes = *content;
  }
  return request;
}

namespace {
/// Its bytes are verified when it is loaded, as --verify says.
Expected<Model> openPlan(const Options &options, std::optional<std::span<const uint8_t>> bytes) {
  GANTRY_RETURN_IF_ERROR(checkNoCompileFlags(options));
  Stopwatch watch;
  const plan::ReadOptions read = {plan::Check::metadataOnly};
  auto file =
      bytes ? plan::PlanFile::copyOf(*bytes, read) : plan::PlanFile::open(options.file, read);
  if (!file)
    return file.status();
  return Model{file.take(), {}, {}, watch.seconds()};
}
} // namespace

std::string Model::describeCompilation() const {
  if (!compileSeconds)
    return "";
  return format(isCached ? "compiled before, found in %.3f s" : "compiled in %.3f s",
                *compileSeconds);
}

show::Subject Model::subject(const Options &options) const {
  show::Question question;
  question.function = options.function;
  question.op = options.op;
  question.all = options.all;
  question.memory = options.memory;
  question.timeline = options.timeline;
  question.isCompiledNow = compileSeconds.has_value();
  question.hints = true;
  question.width = outputWidth();
  return show::Subject(plan(), file.bytes().size(), std::move(question));
}

Expected<Model> Model::load(const Options &options, Purpose purpose,
                            std::vector<ShapeInput> candidates,
                            std::vector<CompilerLine> *printed) {
  std::optional<std::span<const uint8_t>> bytes;
  if (isStream(options.file)) {
    auto input = streamContent(options.file);
    if (!input)
      return input.status();
    bytes = *input;
  }
  const bool isPlan = bytes ? plan::PlanFile::looksLikePlan(*bytes) : isPlanFile(options.file);
  return isPlan ? openPlan(options, bytes)
                : compileModel(options, purpose, std::move(candidates), printed);
}

Expected<Model> Model::loadOfTwo(const Options &options, const std::string &file,
                                 const std::string &other) {
  if (file == "-" && other == "-")
    return Status::invalidArgument("only one of the two can be standard input");
  Options one = options;
  one.file = file;
  if (isPlanFile(file) && !isPlanFile(other))
    one.compileFlags.clear();
  return load(one, Purpose::tell);
}

} // namespace gantry::tool
