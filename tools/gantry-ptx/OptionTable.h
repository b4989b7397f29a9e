// The commands and options of gantry-ptx, once: --help, the manual page and what shells complete
// are made of it.
#pragma once

#include <string>
#include <string_view>

namespace gantry::ptx::tool {

struct CommandEntry {
  std::string_view name, help;
};

struct OptionEntry {
  std::string_view command; ///< that takes it
  std::string_view name;    ///< "--grid"
  std::string_view metavar; ///< "X[,Y,Z]"; "" for a switch
  std::string_view help;    ///< further lines say what values mean
  std::string_view values;  ///< words that a shell completes, separated by spaces
  bool takesFile = false;
};

inline constexpr CommandEntry commandTable[] = {
    {"parse", "lists the kernels with their parameters, shared and local memory"},
    {"lint", "reports unknown opcodes, approximate functions, .ftz and local memory"},
    {"run", "runs a kernel; prints the buffers that it changed, its faults, and what it did"},
    {"man", "prints the manual page"},
    {"completion", "prints a script for a shell: bash, zsh or fish"},
};

inline constexpr OptionEntry optionTable[] = {
    {"lint", "--allow", "LIST",
     "rules (approx, ftz, local, opcode) and opcodes (ex2.approx) that are no finding",
     "approx ftz local opcode"},
    {"run", "--kernel", "NAME", "needed where the file has several", ""},
    {"run", "--grid", "X[,Y,Z]", "blocks of the grid (1)", ""},
    {"run", "--block", "X[,Y,Z]", "threads of a block (32)", ""},
    {"run", "--shared", "BYTES", "dynamic shared memory (0)", ""},
    {"run", "--arg", "VALUE",
     "an argument, in the order of the parameters:\n"
     "  x.npy             a buffer with the array of a file\n"
     "  f32[64,32]        a buffer of zeros\n"
     "  f32[64]=uniform   a buffer that is filled (uniform:A:B, normal, randint:A:B, ones, ramp)\n"
     "  12, 0.5, u64:12   a number, of the parameter's type or a given one\n"
     "  null              no buffer",
     "", true},
    {"run", "--save", "N:FILE", "writes the buffer of argument N (from 0) as .npy", "", true},
    {"run", "--expect", "N:FILE", "compares it with an array; --rtol=R --atol=A (0)", "", true},
    {"run", "--rtol", "R", "relative difference that --expect allows (0)", ""},
    {"run", "--atol", "A", "absolute difference that --expect allows (0)", ""},
    {"run", "--checks", "LEVEL", "all (default), memory (no races, no uninitialised reads) or none",
     "all memory none"},
    {"run", "--threads", "N", "of the host (1); with --checks=all always 1", ""},
    {"run", "--seed", "N", "mixes the order of blocks", ""},
    {"run", "--steps", "N", "most instructions of warps; then it is a fault", ""},
    {"run", "--repeat", "N", "runs it N times and prints the speed", ""},
    {"run", "--quiet", "", "prints faults only", ""},
};

inline constexpr std::string_view summary =
    "Reads PTX, checks it and runs it on the CPU, bit by bit as PTX defines it. FILE may be '-': "
    "standard input.";

inline constexpr std::string_view exitStatus =
    "0 success; 1 wrong PTX, a fault, a finding or a difference; 2 wrong usage.";

inline constexpr std::string_view examples =
    R"(gantry-ptx parse kernel.ptx
gantry-ptx lint kernel.ptx --allow=ex2.approx
gantry-ptx run kernel.ptx --kernel=scale --grid=4 --block=256 --arg='f32[1000]=ramp' --arg=2.5 --arg=1000
gantry-ptx run kernel.ptx --grid=4 --block=256 --arg='f32[1000]=ramp' --arg=2.5 --arg=1000 --save=0:scaled.npy
gantry-ptx run kernel.ptx --grid=4 --block=256 --arg='f32[1000]' --arg=1 --arg=1000 --checks=memory --threads=2 --repeat=5
)";

std::string helpText();
std::string manualPage();
/// None for a shell that is not known.
std::string completionScript(std::string_view shell);

} // namespace gantry::ptx::tool
