#include "CompileCache.h"

#include "gantry/Drivers/CPUFeatures.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/Environment.h"
#include "gantry/Support/ExternalProgram.h"
#include "gantry/Support/File.h"
#include "gantry/Support/Hash.h"
#include "gantry/Support/JSONWriter.h"
#include "gantry/Support/Version.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

namespace gantry::tool {

namespace {
namespace fs = std::filesystem;
using JSON = nlohmann::json;

constexpr const char *defaultLimit = "4GiB";

// ---- where ----

/// Empty when the environment names no place.
std::string cacheFolder() {
  if (std::string folder = environment("GANTRY_CACHE_DIR"); !folder.empty())
    return folder;
  if (std::string folder = environment("XDG_CACHE_HOME"); folder.starts_with('/'))
    return folder + "/gantry";
  if (std::string home = environment("HOME"); home.starts_with('/'))
    return home + "/.cache/gantry";
  return "";
}

Expected<uint64_t> cacheLimit() {
  std::string text = environment("GANTRY_CACHE_SIZE");
  auto limit = parseByteCount(text.empty() ? defaultLimit : text);
  if (!limit)
    return Status::invalidArgument("GANTRY_CACHE_SIZE: " + limit.status().message());
  return limit;
}

/// Made if need be; a plan is code, so nobody else may put one there.
bool isOurs(const std::string &folder) {
  std::error_code error;
  if (fs::create_directories(folder, error); error)
    return false;
  struct stat info;
  if (::stat(folder.c_str(), &info) != 0 || info.st_uid != ::geteuid())
    return false;
  if (info.st_mode & (S_IWGRP | S_IWOTH))
    ::chmod(folder.c_str(), S_IRWXU);
  return ::access(folder.c_str(), W_OK | X_OK) == 0 && ::stat(folder.c_str(), &info) == 0 &&
         !(info.st_mode & (S_IWGRP | S_IWOTH));
}

// ---- what decides a plan ----

std::string hex(uint64_t number) {
  return format("%016llx", static_cast<unsigned long long>(number));
}

uint64_t hashText(std::string_view text) {
  return hashBytes({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
}

/// Changes whenever the file may have; empty when there is none.
std::string identityOf(const std::string &path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0)
    return "";
  return format("%llu %llu %lld %lld.%09ld %lld.%09ld", (unsigned long long)info.st_dev,
                (unsigned long long)info.st_ino, (long long)info.st_size,
                (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec,
                (long long)info.st_ctim.tv_sec, info.st_ctim.tv_nsec);
}

/// Flags whose effect is not in the plan.
bool needsCompiler(const std::string &flag) {
  for (std::string_view name :
       {"write-placement-lock", "stop-after", "print-ir-after-all", "verify-each"})
    if (flag.starts_with(name))
      return true;
  return false;
}

/// Whether the plan depends on which ptxas there is, if any.
bool mayAssemble(const std::vector<std::string> &flags) {
  return std::any_of(flags.begin(), flags.end(), [](const std::string &flag) {
    return flag.starts_with("gpu-arch=") || flag == "cubins=on";
  });
}

/// All that is known beforehand, a line each; none when the graph or the compiler cannot be read,
/// which the compilation will say.
std::optional<std::string> describe(const CompileRequest &request) {
  const std::string library = identityOf(Compiler::libraryPath());
  if (library.empty())
    return std::nullopt;
  std::string text = "gantry " GANTRY_VERSION_STRING "\ncompiler " + library + "\ncpu";
  for (const std::string &feature : runtime::machineFeatures())
    text += " " + feature;
  uint64_t size = 0, hash = 0;
  if (request.bytes) {
    size = request.bytes->size(), hash = hashBytes(*request.bytes);
  } else {
    auto file = MappedFile::open(request.file);
    if (!file)
      return std::nullopt;
    size = file->bytes().size(), hash = hashBytes(file->bytes());
  }
  const fs::path path(request.file);
  text += "\ngraph " + path.filename().string() + "\nfolder " + path.parent_path().string() +
          "\ncontent " + std::to_string(size) + " " + hex(hash);
  for (const std::string &flag : request.flags)
    text += "\nflag " + flag;
  if (request.isOutline)
    text += "\noutline";
  if (mayAssemble(request.flags))
    if (auto ptxas = findPtxas())
      text += "\nptxas " + *ptxas + " " + identityOf(*ptxas);
  return text;
}

// ---- files ----

std::optional<std::string> readText(const std::string &path) {
  auto file = MappedFile::open(path);
  if (!file)
    return std::nullopt;
  return std::string(reinterpret_cast<const char *>(file->bytes().data()), file->bytes().size());
}

Status writeText(const std::string &path, std::string_view text) {
  return writeFileAtomically(path, {reinterpret_cast<const uint8_t *>(text.data()), text.size()});
}

void removeEntry(const std::string &entry) {
  for (const char *ending : {".json", ".gantry", ".cubin"})
    ::unlink((entry + ending).c_str());
}

/// The checksum over a plan's metadata, which in turn has those of everything else.
std::string checksumOf(std::span<const uint8_t> plan) {
  plan::FileHeader header;
  if (plan.size() < sizeof header)
    return "";
  std::memcpy(&header, plan.data(), sizeof header);
  return hex(header.checksum);
}

/// What a plan's .json says.
struct Manifest {
  std::string request, plan;
  std::vector<std::pair<std::string, std::string>> files; ///< path and identity
  std::vector<std::string> shapeValues;
  std::vector<CompilerLine> lines;

  std::string text() const {
    JSONWriter json;
    json.beginObject().member("request", request).member("plan", plan).key("files").beginArray();
    for (const auto &[path, identity] : files)
      json.beginObject().member("path", path).member("identity", identity).endObject();
    json.endArray().key("shape_values").beginArray();
    for (const std::string &name : shapeValues)
      json.value(name);
    json.endArray().key("lines").beginArray();
    for (const CompilerLine &line : lines)
      json.beginObject()
          .member("severity", uint64_t(line.severity))
          .member("text", line.text)
          .endObject();
    return json.endArray().endObject().text();
  }

  /// None when the text is something else.
  static std::optional<Manifest> parse(const std::string &text);
};

std::string stringIn(const JSON &object, const char *name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() && found->is_string()
             ? found->get<std::string>()
             : "";
}

std::vector<JSON> listIn(const JSON &object, const char *name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_array())
    return {};
  return {found->begin(), found->end()};
}

std::optional<Manifest> Manifest::parse(const std::string &text) {
  const JSON json = JSON::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return std::nullopt;
  Manifest manifest{stringIn(json, "request"), stringIn(json, "plan"), {}, {}, {}};
  for (const JSON &file : listIn(json, "files"))
    manifest.files.emplace_back(stringIn(file, "path"), stringIn(file, "identity"));
  for (const JSON &name : listIn(json, "shape_values"))
    if (name.is_string())
      manifest.shapeValues.push_back(name.get<std::string>());
  for (const JSON &line : listIn(json, "lines"))
    if (line.is_object() && line.contains("severity") && line["severity"].is_number_unsigned())
      manifest.lines.push_back({static_cast<gantry_severity_t>(line["severity"].get<unsigned>()),
                                stringIn(line, "text")});
  return manifest;
}

/// Everything in the folder that may be an entry, the last used first.
struct Kept {
  std::string entry; ///< path without ending
  uint64_t bytes = 0;
  struct timespec used = {};
  bool isPlan = true; ///< else machine code
};

bool operator<(const Kept &a, const Kept &b) {
  return std::tie(a.used.tv_sec, a.used.tv_nsec, a.entry) >
         std::tie(b.used.tv_sec, b.used.tv_nsec, b.entry);
}

std::vector<Kept> listEntries(const std::string &folder) {
  std::vector<Kept> entries;
  std::error_code error;
  for (const fs::directory_entry &file : fs::directory_iterator(folder, error)) {
    struct stat info, plan;
    const bool isPlan = file.path().extension() == ".json";
    const bool isCode = file.path().extension() == ".cubin";
    if ((!isPlan && !isCode) || ::stat(file.path().c_str(), &info) != 0)
      continue;
    Kept kept{(file.path().parent_path() / file.path().stem()).string(), 0, info.st_mtim, isPlan};
    if (isCode)
      kept.bytes = static_cast<uint64_t>(info.st_size);
    else if (::stat((kept.entry + ".gantry").c_str(), &plan) == 0)
      kept.bytes = static_cast<uint64_t>(plan.st_size);
    entries.push_back(std::move(kept));
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

void shrink(const std::string &folder, uint64_t limit) {
  uint64_t bytes = 0;
  for (const Kept &kept : listEntries(folder)) {
    bytes += kept.bytes;
    if (bytes > limit)
      removeEntry(kept.entry);
  }
}

} // namespace

// ---- one request ----

Expected<std::optional<CompileCache>> CompileCache::of(const Options &options,
                                                       const CompileRequest &request) {
  auto limit = cacheLimit();
  if (!limit)
    return limit.status();
  CompileCache cache;
  cache.limit = *limit;
  cache.folder = cacheFolder();
  if (options.noCache || *limit == 0 || cache.folder.empty() ||
      std::any_of(request.flags.begin(), request.flags.end(), needsCompiler) ||
      !isOurs(cache.folder))
    return std::optional<CompileCache>();
  auto description = describe(request);
  if (!description)
    return std::optional<CompileCache>();
  cache.request = std::move(*description);
  cache.key = cache.folder + "/" + hex(hashText(cache.request));
  return std::optional(std::move(cache));
}

std::optional<std::string> CompileCache::entryFor(const std::vector<std::string> &names,
                                                  const std::vector<ShapeInput> &candidates) const {
  if (names.empty())
    return key;
  std::string values;
  for (const std::string &name : names) {
    const auto given = std::find_if(candidates.begin(), candidates.end(),
                                    [&](const ShapeInput &c) { return c.name == name; });
    if (given == candidates.end())
      return std::nullopt;
    const arrays::ArrayView &value = given->value;
    values += name + " " + tensorTypeName(value.element, value.shape) + " " +
              hex(hashBytes({value.data, value.size()})) + "\n";
  }
  return key + "-" + hex(hashText(values));
}

std::optional<std::string> CompileCache::entryFor(const std::vector<ShapeInput> &candidates) const {
  const auto text = readText(key + ".names");
  if (!text)
    return std::nullopt;
  std::vector<std::string> names;
  for (size_t at = 0, end; at < text->size(); at = end + 1) {
    end = std::min(text->find('\n', at), text->size());
    names.push_back(text->substr(at, end - at));
  }
  return entryFor(names, candidates);
}

std::optional<CompileCache::Hit>
CompileCache::find(const std::vector<ShapeInput> &candidates) const {
  const auto entry = entryFor(candidates);
  const auto text = entry ? readText(*entry + ".json") : std::nullopt;
  if (!text)
    return std::nullopt;
  auto manifest = Manifest::parse(*text);
  auto file = plan::PlanFile::open(*entry + ".gantry", {plan::Check::metadataOnly});
  if (!manifest || !file || manifest->plan != checksumOf(file->bytes())) {
    removeEntry(*entry);
    return std::nullopt;
  }
  const bool isSame =
      manifest->request == request &&
      std::all_of(manifest->files.begin(), manifest->files.end(),
                  [](const auto &read) { return identityOf(read.first) == read.second; });
  if (!isSame)
    return std::nullopt;
  ::utimensat(AT_FDCWD, (*entry + ".json").c_str(), nullptr, 0);
  return Hit{file.take(), std::move(manifest->shapeValues), std::move(manifest->lines)};
}

void CompileCache::keep(const Artifact &artifact, const std::vector<CompilerLine> &lines,
                        const std::vector<ShapeInput> &candidates) const {
  const auto entry = entryFor(artifact.shapeValues(), candidates);
  if (!entry || artifact.bytes().size() > limit)
    return;
  Manifest manifest{request, checksumOf(artifact.bytes()), {}, artifact.shapeValues(), lines};
  for (const std::string &path : artifact.filesRead())
    manifest.files.emplace_back(path, identityOf(path));
  std::string names;
  for (const std::string &name : artifact.shapeValues())
    names += name + "\n";
  const bool kept = writeFileAtomically(*entry + ".gantry", artifact.bytes()).ok() &&
                    writeText(*entry + ".json", manifest.text()).ok() &&
                    writeText(key + ".names", names).ok();
  if (!kept)
    removeEntry(*entry);
  shrink(folder, limit);
}

void CompileCache::forget(const std::vector<ShapeInput> &candidates) const {
  if (const auto entry = entryFor(candidates))
    removeEntry(*entry);
}

Expected<std::string> folderForCode(const Options &options) {
  auto limit = cacheLimit();
  if (!limit)
    return limit.status();
  const std::string folder = cacheFolder();
  if (options.noCache || *limit == 0 || !mayAssemble(options.compileFlags) || folder.empty() ||
      !isOurs(folder))
    return std::string();
  shrink(folder, *limit);
  return folder;
}

// ---- all of them ----

Expected<CacheContents> CacheContents::read() {
  auto limit = cacheLimit();
  if (!limit)
    return limit.status();
  CacheContents contents;
  contents.folder = cacheFolder();
  contents.limit = *limit;
  for (const Kept &kept : listEntries(contents.folder)) {
    contents.bytes += kept.bytes;
    contents.numCubins += !kept.isPlan;
    if (!kept.isPlan)
      continue;
    const auto text = readText(kept.entry + ".json");
    const auto manifest = text ? Manifest::parse(*text) : std::nullopt;
    std::string graph = manifest ? manifest->request : "";
    const size_t begin = graph.find("\ngraph ");
    graph = begin == std::string::npos ? "" : graph.substr(begin + 7);
    graph = graph.substr(0, graph.find('\n'));
    contents.entries.push_back(
        {graph, kept.bytes, static_cast<int64_t>(std::time(nullptr) - kept.used.tv_sec)});
  }
  return contents;
}

Status CacheContents::clear() {
  const std::string folder = cacheFolder();
  for (const Kept &kept : listEntries(folder))
    removeEntry(kept.entry);
  std::error_code error;
  std::vector<fs::path> names;
  for (const fs::directory_entry &file : fs::directory_iterator(folder, error))
    if (file.path().extension() == ".names")
      names.push_back(file.path());
  for (const fs::path &file : names)
    fs::remove(file, error);
  if (!listEntries(folder).empty())
    return Status::invalidArgument("cannot remove everything in '" + folder + "'");
  return {};
}

} // namespace gantry::tool
