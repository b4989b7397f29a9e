#include "Options.h"

#include "gantry/Support/Bytes.h"
#include "gantry/Support/Names.h"

#include <charconv>
#include <cstdio>

using namespace gantry;
using namespace gantry::ptx;
using namespace gantry::ptx::tool;

namespace {

constexpr const char *help = R"(Usage: gantry-ptx COMMAND FILE.ptx [OPTIONS]

Reads PTX, checks it and runs it on the CPU, bit by bit as PTX defines it. FILE may be '-': standard input.

Commands:
  parse   lists the kernels with their parameters, shared and local memory
  lint    reports unknown opcodes, approximate functions, .ftz and local memory
  run     runs a kernel; prints the buffers that it changed, its faults, and what it did

Options of lint:
  --allow=LIST     rules (approx, ftz, local, opcode) and opcodes (ex2.approx) that are no finding

Options of run:
  --kernel=NAME    needed where the file has several
  --grid=X[,Y,Z]   blocks of the grid (1)
  --block=X[,Y,Z]  threads of a block (32)
  --shared=BYTES   dynamic shared memory (0)
  --arg=VALUE      an argument, in the order of the parameters:
                     x.npy             a buffer with the array of a file
                     f32[64,32]        a buffer of zeros
                     f32[64]=uniform   a buffer that is filled (uniform:A:B, normal, randint:A:B, ones, ramp)
                     12, 0.5, u64:12   a number, of the parameter's type or a given one
                     null              no buffer
  --save=N:FILE    writes the buffer of argument N (from 0) as .npy
  --expect=N:FILE  compares it with an array; --rtol=R --atol=A (0)
  --checks=LEVEL   all (default), memory (no races, no uninitialised reads) or none
  --threads=N      of the host (1); with --checks=all always 1
  --seed=N         mixes the order of blocks
  --steps=N        most instructions of warps; then it is a fault
  --repeat=N       runs it N times and prints the speed
  --quiet          prints faults only

Exit status: 0 success; 1 wrong PTX, a fault, a finding or a difference; 2 wrong usage.

Examples:
  gantry-ptx parse kernel.ptx
  gantry-ptx lint kernel.ptx --allow=ex2.approx
  gantry-ptx run kernel.ptx --kernel=scale --grid=4 --block=256 --arg='f32[1000]=ramp' --arg=2.5 --arg=1000
)";

void usage(const std::string &message) {
  std::fprintf(stderr, "gantry-ptx: error: %s; see gantry-ptx --help\n", message.c_str());
}

template <class T>
bool parseNumber(std::string_view text, T *value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool parseIndex(std::string_view text, Index3 *index) {
  *index = {1, 1, 1};
  for (size_t axis = 0; axis < 3; ++axis) {
    size_t comma = text.find(',');
    if (!parseNumber(text.substr(0, comma), &(*index)[axis]))
      return false;
    if (comma == text.npos)
      return true;
    text.remove_prefix(comma + 1);
  }
  return false;
}

bool parseNumbered(std::string_view text, std::vector<Options::Numbered> *to) {
  size_t colon = text.find(':');
  Options::Numbered made;
  if (colon == text.npos || !parseNumber(text.substr(0, colon), &made.argument))
    return false;
  made.path = std::string(text.substr(colon + 1));
  to->push_back(made);
  return !made.path.empty();
}

bool parseChecks(std::string_view text, Checks *checks) {
  if (text == "all")
    *checks = Checks::all;
  else if (text == "memory")
    *checks = Checks::memory;
  else if (text == "none")
    *checks = Checks::none;
  else
    return false;
  return true;
}

/// True when the option is known and its value fits.
bool apply(Options &options, std::string_view name, std::string_view value, bool *known) {
  *known = true;
  if (name == "--allow") {
    while (!value.empty()) {
      size_t comma = value.find(',');
      options.allow.emplace_back(value.substr(0, comma));
      value.remove_prefix(comma == value.npos ? value.size() : comma + 1);
    }
    return true;
  }
  if (name == "--kernel")
    return options.kernel = std::string(value), true;
  if (name == "--grid")
    return parseIndex(value, &options.grid);
  if (name == "--block")
    return parseIndex(value, &options.block);
  if (name == "--shared") {
    auto bytes = parseByteCount(value);
    if (bytes)
      options.dynamicShared = *bytes;
    return bytes.ok();
  }
  if (name == "--arg")
    return options.arguments.emplace_back(value), true;
  if (name == "--save")
    return parseNumbered(value, &options.save);
  if (name == "--expect")
    return parseNumbered(value, &options.expect);
  if (name == "--rtol")
    return parseNumber(value, &options.rtol);
  if (name == "--atol")
    return parseNumber(value, &options.atol);
  if (name == "--checks")
    return parseChecks(value, &options.checks);
  if (name == "--threads")
    return parseNumber(value, &options.threads) && options.threads > 0;
  if (name == "--seed")
    return parseNumber(value, &options.seed);
  if (name == "--steps")
    return parseNumber(value, &options.steps) && options.steps > 0;
  if (name == "--repeat")
    return parseNumber(value, &options.repeat) && options.repeat > 0;
  *known = false;
  return false;
}

} // namespace

std::optional<Options> gantry::ptx::tool::parseOptions(int argc, char **argv, int *status) {
  Options options;
  *status = exitUsage;
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (word == "--help" || word == "-h") {
      std::fputs(help, stdout);
      *status = exitSuccess;
      return std::nullopt;
    }
    if (word == "--quiet") {
      options.quiet = true;
    } else if (word.substr(0, 2) == "--") {
      size_t equals = word.find('=');
      std::string_view name = word.substr(0, equals), value;
      if (equals != word.npos) {
        value = word.substr(equals + 1);
      } else if (i + 1 < argc) {
        value = argv[++i];
      }
      bool known;
      if (!apply(options, name, value, &known)) {
        usage(known ? "option '" + printable(name) + "' does not take '" + printable(value) + "'"
                    : "unknown option '" + printable(name) + "'");
        return std::nullopt;
      }
    } else if (options.command.empty()) {
      options.command = std::string(word);
    } else if (options.file.empty()) {
      options.file = std::string(word);
    } else {
      usage("unexpected argument '" + printable(word) + "'");
      return std::nullopt;
    }
  }
  const std::string commands[] = {"parse", "lint", "run"};
  bool known = false;
  for (const std::string &each : commands)
    known |= each == options.command;
  if (options.command.empty())
    usage("expected a command: parse, lint or run");
  else if (!known)
    usage("unknown command '" + printable(options.command) + "'" +
          didYouMean(options.command, commands));
  else if (options.file.empty())
    usage("expected a PTX file");
  else
    return options;
  return std::nullopt;
}
