// Shows what `run` and others have compiled and kept, or clears it.
#include "CompileCache.h"
#include "Print.h"
#include "commands/Commands.h"

#include "gantry/Support/Bytes.h"
#include "gantry/Support/JSONWriter.h"

#include <cstdio>

namespace gantry::tool {

namespace {

/// "12 s", "3 min", "5 h", "2 d".
std::string formatAge(int64_t seconds) {
  const auto in = [&](int64_t unit, const char *name) {
    return std::to_string(seconds / unit) + " " + name;
  };
  if (seconds < 120)
    return in(1, "s");
  if (seconds < 2 * 3600)
    return in(60, "min");
  return seconds < 48 * 3600 ? in(3600, "h") : in(24 * 3600, "d");
}

/// "1 plan", "2 plans and 8 cubins".
std::string countFiles(const CacheContents &contents) {
  const std::string plans = counted(contents.entries.size(), "plan");
  return contents.numCubins ? plans + " and " + counted(contents.numCubins, "cubin") : plans;
}

void printJson(const CacheContents &contents) {
  JSONWriter json;
  json.beginObject()
      .member("folder", contents.folder)
      .member("limit_bytes", contents.limit)
      .member("bytes", contents.bytes)
      .member("cubins", uint64_t(contents.numCubins))
      .key("plans")
      .beginArray();
  for (const CacheContents::Entry &entry : contents.entries)
    json.beginObject()
        .member("graph", entry.graph)
        .member("bytes", entry.bytes)
        .member("used_seconds_ago", entry.usedSecondsAgo)
        .endObject();
  std::puts(json.endArray().endObject().text().c_str());
}

void printForPeople(const CacheContents &contents) {
  std::printf("%s: %s, %s of at most %s\n", contents.folder.c_str(), countFiles(contents).c_str(),
              formatBytes(contents.bytes).c_str(), formatBytes(contents.limit).c_str());
  if (contents.entries.empty())
    return;
  Table table({"graph", ">plan", ">used ago"});
  for (const CacheContents::Entry &entry : contents.entries)
    table.add({entry.graph, formatBytes(entry.bytes), formatAge(entry.usedSecondsAgo)});
  std::fputs(linesOf(table).c_str(), stdout);
}

} // namespace

int cacheCommand(const Options &options) {
  auto contents = CacheContents::read();
  if (!contents)
    return report(contents.status());
  if (contents->folder.empty())
    return report(Status::notFound("there is no folder for plans: set HOME or GANTRY_CACHE_DIR"));
  if (!options.clear) {
    options.json ? printJson(*contents) : printForPeople(*contents);
    return exitSuccess;
  }
  if (Status status = CacheContents::clear(); !status.ok())
    return report(status);
  if (options.json)
    std::printf("{\"removed\":%zu}\n", contents->entries.size());
  else
    std::printf("%s: removed %s\n", contents->folder.c_str(), countFiles(*contents).c_str());
  return exitSuccess;
}

} // namespace gantry::tool
