// gantry-memplan: plans the memory of buffers that a CSV file lists (docs/MemoryPlanning.md).
#include "Buffers.h"
#include "Options.h"

#include "gantry/Support/Bytes.h"
#include "gantry/Support/File.h"

#include <chrono>
#include <cstdio>
#include <ctime>

using namespace gantry;
using namespace gantry::memplan;

namespace {

int fail(const Status &status, int exit = exitFailure) {
  // Errors of a file begin with its place already.
  bool hasPlace = status.message().find(": error: ") != std::string::npos;
  std::fprintf(stderr, "%s%s\n",
               hasPlace ? "" : "gantry-memplan: error: ", status.message().c_str());
  return exit;
}

Status writeFile(const std::string &path, const std::string &text) {
  Expected<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.status();
  GANTRY_RETURN_IF_ERROR(
      file->write({reinterpret_cast<const uint8_t *>(text.data()), text.size()}));
  return file->commit();
}

Status doesNotFit(const packing::Solution &solution, const Options &options) {
  const uint64_t capacity = options.search.capacity;
  std::string text = "the best plan has " + std::to_string(solution.peak) +
                     " bytes and the capacity is " + std::to_string(capacity) + ": ";
  if (solution.lowerBound > capacity)
    text += std::to_string(solution.lowerBound) + " bytes are live together, so no plan fits";
  else
    text += "the lower bound is " + std::to_string(solution.lowerBound) +
            ", so a plan that fits may exist; try --rounds=" +
            std::to_string(options.search.rounds + 1);
  return Status::doesNotFit(text);
}

int planFile(const Options &options) {
  Expected<MappedFile> file = MappedFile::open(options.input);
  if (!file)
    return fail(file.status());
  std::string_view text(reinterpret_cast<const char *>(file->bytes().data()), file->bytes().size());
  Expected<BufferList> list = readBuffers(text, options.input, options.alignment);
  if (!list)
    return fail(list.status());

  const std::clock_t work = std::clock();
  auto begin = std::chrono::steady_clock::now();
  Expected<packing::Solution> solution = packing::pack(list->problem, options.search);
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  const double processor = static_cast<double>(std::clock() - work) / CLOCKS_PER_SEC;
  if (!solution)
    return fail(solution.status(),
                solution.status().code() == StatusCode::doesNotFit ? exitDoesNotFit : exitFailure);
  if (!options.quiet)
    std::fprintf(stderr,
                 "%zu buffers: peak %s, lower bound %s, gap %.4f %%, "
                 "planned in %.3f s (%.3f s of all threads)\n",
                 list->ids.size(), formatBytes(solution->peak).c_str(),
                 formatBytes(solution->lowerBound).c_str(), 100 * (solution->ratio() - 1),
                 seconds.count(), processor);
  if (options.hasCapacity && solution->peak > options.search.capacity)
    return fail(doesNotFit(*solution, options), exitDoesNotFit);
  if (!options.svg.empty())
    if (Status status = writeFile(options.svg, drawPlan(*list, *solution, options.search.capacity));
        !status.ok())
      return fail(status);
  std::string plan = writeBuffers(*list, *solution);
  if (!options.output.empty()) {
    Status status = writeFile(options.output, plan);
    return status.ok() ? exitSuccess : fail(status);
  }
  if (std::fwrite(plan.data(), 1, plan.size(), stdout) != plan.size() || std::fflush(stdout) != 0)
    return fail(Status::internal("the plan could not be written to standard output"));
  return exitSuccess;
}

} // namespace

int main(int argc, char **argv) {
  int status = exitSuccess;
  std::optional<Options> options = parseOptions(argc, argv, &status);
  return options ? planFile(*options) : status;
}
