// Runs a few lines of PTX: `body` between the loads of its inputs and the store of its result.
#pragma once

#include "gantry/PTX/Machine.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace gantry::ptx::test {

inline constexpr const char *header = ".version 8.7\n.target sm_90\n.address_size 64\n";

/// Registers that a body may use: %r, %f, %h (16 bits), %rd, %fd, %p with 0 … 19 each.
inline constexpr const char *registers = ".reg .b32 %r<20>; .reg .f32 %f<20>;\n.reg .b16 "
                                         "%h<20>;\n.reg .b64 %rd<20>; .reg .f64 %fd<20>;\n"
                                         ".reg .pred %p<20>;\n";

struct Loaded {
  Memory memory;
  std::unique_ptr<Image> image;
};

inline std::unique_ptr<Loaded> load(const std::string &text) {
  auto loaded = std::make_unique<Loaded>();
  auto module = parse(text, "test.ptx");
  EXPECT_TRUE(module.ok()) << module.status().message();
  if (!module)
    return nullptr;
  auto image = Image::load(module.take(), loaded->memory);
  EXPECT_TRUE(image.ok()) << image.status().message();
  loaded->image = image.take();
  return loaded;
}

/// A kernel `k` with pointers in %rd1 (input), %rd2 (output) and the thread's number in %r0; %rd3
/// is the input's element of 8 bytes, %rd4 the output's.
inline std::string kernel(const std::string &body, const std::string &declarations = "") {
  return std::string(header) + declarations +
         ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n" + registers +
         "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nmov.u32 %r0, %tid.x;\n"
         "mad.wide.u32 %rd3, %r0, 8, %rd1;\nmad.wide.u32 %rd4, %r0, 8, %rd2;\n" +
         body + "\nret;\n}\n";
}

struct Ran {
  std::vector<uint64_t> out;
  Outcome outcome;
  std::string error;
};

/// A thread for each input; out[i] is what it stored at %rd4, else 0.
inline Ran run(const std::string &text, std::vector<uint64_t> in, Launch launch = {}) {
  Ran ran;
  auto loaded = load(text);
  if (!loaded)
    return ran;
  ran.out.resize(in.size());
  EXPECT_TRUE(loaded->memory.add(in.data(), in.size() * 8, "in").ok());
  EXPECT_TRUE(loaded->memory.add(ran.out.data(), ran.out.size() * 8, "out").ok());
  const void *arguments[] = {in.data(), ran.out.data()};
  launch.kernel = "k";
  if (launch.block == Index3{1, 1, 1})
    launch.block = {uint32_t(in.size()), 1, 1};
  launch.arguments = std::as_bytes(std::span(arguments));
  auto outcome = ptx::run(*loaded->image, launch);
  if (outcome)
    ran.outcome = outcome.take();
  else
    ran.error = outcome.status().message();
  return ran;
}

inline std::string texts(const Outcome &outcome) {
  std::string all;
  for (const Fault &fault : outcome.faults)
    all += fault.text("test.ptx") + "\n";
  return all;
}

/// The results of `op` for inputs that are `from` (a type of ld) and results of `to`.
inline std::vector<uint64_t> compute(const std::string &op, const char *from, const char *fromReg,
                                     const char *to, const char *toReg,
                                     const std::vector<uint64_t> &in) {
  std::string body = std::string("ld.global.") + from + " " + fromReg + ", [%rd3];\n" + op +
                     "\nst.global." + to + " [%rd4], " + toReg + ";";
  std::vector<uint64_t> made;
  for (size_t at = 0; at < in.size(); at += 1024) {
    std::vector<uint64_t> part(in.begin() + long(at),
                               in.begin() + long(std::min(in.size(), at + 1024)));
    Ran ran = run(kernel(body), part);
    EXPECT_EQ(ran.error, "");
    EXPECT_EQ(texts(ran.outcome), "");
    made.insert(made.end(), ran.out.begin(), ran.out.end());
  }
  return made;
}

} // namespace gantry::ptx::test
