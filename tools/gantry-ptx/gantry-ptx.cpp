// gantry-ptx: reads, checks and runs PTX without a GPU (docs/PTX.md).
#include "Arguments.h"
#include "Options.h"

#include "gantry/Formats/ArrayFiles.h"
#include "gantry/Formats/Values.h"
#include "gantry/PTX/Lint.h"
#include "gantry/PTX/Machine.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/Names.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

using namespace gantry;
using namespace gantry::ptx;
using namespace gantry::ptx::tool;

namespace {

int fail(const Status &status) {
  // Errors of a file begin with its place already.
  std::string_view text = status.message();
  bool hasPlace = text.find(": error: ") != text.npos;
  std::fprintf(stderr, "%s%s\n", hasPlace ? "" : "gantry-ptx: error: ", status.message().c_str());
  return exitFailure;
}

int parseCommand(Image &image) {
  int status = exitSuccess;
  const Module &module = image.module();
  std::printf("%s: PTX %s, target %s\n", printable(module.file).c_str(),
              printable(module.version).c_str(), printable(module.target).c_str());
  for (const std::string &name : image.kernelNames()) {
    auto kernel = image.kernel(name);
    if (!kernel) {
      status = fail(kernel.status());
      continue;
    }
    const KernelInfo &info = **kernel;
    std::printf("kernel '%s': %zu instructions, %s shared, %s local a thread\n",
                printable(name).c_str(), info.ops, formatBytes(info.staticShared).c_str(),
                formatBytes(info.localBytes).c_str());
    for (const Parameter &parameter : info.parameters)
      std::printf("  %s %s at %llu, %s\n", std::string(typeName(parameter.type)).c_str(),
                  printable(parameter.name).c_str(),
                  static_cast<unsigned long long>(parameter.offset),
                  formatBytes(parameter.size).c_str());
  }
  return status;
}

int lintCommand(Image &image, const Options &options) {
  std::vector<Finding> findings = lint(image.module(), options.allow);
  for (const Finding &finding : findings)
    std::fprintf(stderr, "%s\n", finding.text(image.module().file).c_str());
  int status = findings.empty() ? exitSuccess : exitFailure;
  for (const std::string &name :
       image.kernelNames()) // an opcode may be known and its modifiers not
    if (auto kernel = image.kernel(name); !kernel)
      status = fail(kernel.status());
  return status;
}

bool isChanged(const Argument &argument) {
  return argument.buffer && argument.buffer->bytes.size() &&
         std::memcmp(argument.before.data(), argument.buffer->bytes.data(),
                     argument.before.size()) != 0;
}

/// What the run left in the buffers: printed, saved, compared.
int showBuffers(std::vector<Argument> &arguments, const Options &options) {
  int status = exitSuccess;
  for (size_t i = 0; i < arguments.size() && !options.quiet; ++i)
    if (isChanged(arguments[i]))
      std::printf("arg%zu: %s\n%s\n", i, arguments[i].buffer->type().c_str(),
                  arrays::formatValues(arguments[i].buffer->view()).c_str());
  auto bufferOf = [&](const Options::Numbered &one) -> arrays::Array * {
    if (one.argument < arguments.size() && arguments[one.argument].buffer)
      return &*arguments[one.argument].buffer;
    std::fprintf(stderr, "gantry-ptx: error: argument %zu is no buffer\n", one.argument);
    status = exitUsage;
    return nullptr;
  };
  for (const Options::Numbered &one : options.save)
    if (arrays::Array *buffer = bufferOf(one))
      if (Status written = arrays::writeNpy(one.path, buffer->view()); !written.ok())
        return fail(written);
  for (const Options::Numbered &one : options.expect) {
    arrays::Array *buffer = bufferOf(one);
    if (!buffer)
      continue;
    auto expected = arrays::readArray(one.path);
    if (!expected)
      return fail(expected.status());
    if (expected->array.view().count() != buffer->view().count()) {
      std::fprintf(stderr, "gantry-ptx: error: argument %zu has %s, '%s' has %s\n", one.argument,
                   buffer->type().c_str(), printable(one.path).c_str(),
                   expected->array.type().c_str());
      status = exitFailure;
      continue;
    }
    arrays::Difference difference =
        arrays::compare(buffer->view(), expected->array.view(), options.rtol, options.atol);
    if (!difference.close()) {
      std::fprintf(stderr,
                   "gantry-ptx: error: argument %zu differs from '%s' in %llu of %llu elements; at "
                   "%s by %g\n",
                   one.argument, printable(one.path).c_str(),
                   static_cast<unsigned long long>(difference.outside),
                   static_cast<unsigned long long>(difference.count),
                   arrays::formatIndex(difference.worst, buffer->shape).c_str(),
                   difference.maxAbsolute);
      status = exitFailure;
    }
  }
  return status;
}

int runCommand(Image &image, Memory &memory, const Options &options) {
  std::vector<std::string> names = image.kernelNames();
  Launch launch;
  launch.kernel = options.kernel;
  if (launch.kernel.empty()) {
    if (names.size() != 1) {
      std::string list;
      for (const std::string &name : names)
        list += (list.empty() ? "" : ", ") + ("'" + printable(name) + "'");
      std::fprintf(stderr, "gantry-ptx: error: %s; name one with --kernel\n",
                   names.empty() ? "the file has no kernel"
                                 : ("the file has kernels " + list).c_str());
      return exitUsage;
    }
    launch.kernel = names.front();
  }
  auto kernel = image.kernel(launch.kernel);
  if (!kernel)
    return fail(kernel.status());
  std::vector<Argument> arguments;
  arguments.reserve(options.arguments.size());
  auto bytes = makeArguments(**kernel, options.arguments, memory, arguments);
  if (!bytes)
    return fail(bytes.status());
  launch.grid = options.grid;
  launch.block = options.block;
  launch.dynamicShared = options.dynamicShared;
  launch.arguments = *bytes;
  launch.checks = options.checks;
  launch.threads = options.threads;
  launch.seed = options.seed;
  launch.stepLimit = options.steps;
  Outcome outcome;
  double best = 1e300;
  for (unsigned i = 0; i < options.repeat; ++i) {
    const std::clock_t begin = std::clock();
    auto made = run(image, launch);
    best = std::min(best, double(std::clock() - begin) / CLOCKS_PER_SEC);
    if (!made)
      return fail(made.status());
    outcome = made.take();
  }
  for (const Fault &fault : outcome.faults)
    std::fprintf(stderr, "%s\n", fault.text(image.module().file).c_str());
  int status = showBuffers(arguments, options);
  if (!options.quiet)
    std::fputs(outcome.counts.text().c_str(), stdout);
  if (options.repeat > 1)
    std::printf("speed: %.3g lane instructions a second of processor time, best of %u\n",
                double(outcome.counts.laneInstructions) / best, options.repeat);
  if (outcome.faultCount) {
    std::fprintf(stderr, "gantry-ptx: error: %llu faults%s\n",
                 static_cast<unsigned long long>(outcome.faultCount),
                 outcome.completed ? "" : "; the kernel did not end");
    return exitFailure;
  }
  return status;
}

int dispatch(const Options &options) {
  auto file = arrays::FileBytes::open(options.file);
  if (!file)
    return fail(file.status());
  auto bytes = file->bytes();
  auto module = parse(std::string(bytes.begin(), bytes.end()), options.file);
  if (!module)
    return fail(module.status());
  Memory memory;
  auto image = Image::load(module.take(), memory);
  if (!image)
    return fail(image.status());
  if (options.command == "parse")
    return parseCommand(**image);
  if (options.command == "lint")
    return lintCommand(**image, options);
  return runCommand(**image, memory, options);
}

} // namespace

int main(int argc, char **argv) {
  int status = exitUsage;
  if (auto options = parseOptions(argc, argv, &status))
    status = dispatch(*options);
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    std::fprintf(stderr, "gantry-ptx: error: cannot write standard output: %s\n",
                 arrays::systemReason(errno).c_str());
    return exitFailure;
  }
  return status;
}
