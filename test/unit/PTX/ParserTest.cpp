// What is read, and the full text of what is refused.
#include "PTX/RunText.h"

using namespace gantry;
using namespace gantry::ptx;
using namespace gantry::ptx::test;

namespace {

std::string errorOf(const std::string &text) {
  auto module = parse(text, "a.ptx");
  if (!module)
    return module.status().message();
  Memory memory;
  auto image = Image::load(module.take(), memory);
  if (!image)
    return image.status().message();
  for (const std::string &name : (*image)->kernelNames())
    if (auto kernel = (*image)->kernel(name); !kernel)
      return kernel.status().message();
  return "";
}

std::string errorIn(const std::string &body) {
  return errorOf(".version 8.7\n.target sm_90\n.entry k(.param .u64 p) {\n.reg .b32 %r<4>; .reg "
                 ".b64 %rd<4>; .reg .pred %p<3>;\n" +
                 body + "\n}\n");
}

TEST(ParserTest, readsKernelsWithTheirParameters) {
  auto loaded = load(std::string(header) +
                     ".visible .entry a(.param .u32 x, .param .align 8 .b8 y[24], .param .u64 z)\n"
                     ".reqntid 32, 2, 1\n{ .shared .align 16 .b8 s[100]; ret; }\n");
  auto kernel = loaded->image->kernel("a");
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  ASSERT_EQ((*kernel)->parameters.size(), 3u);
  EXPECT_EQ((*kernel)->parameters[1].offset, 8u);
  EXPECT_EQ((*kernel)->parameters[2].offset, 32u);
  EXPECT_EQ((*kernel)->parameterBytes, 40u);
  EXPECT_EQ((*kernel)->staticShared, 112u);
  EXPECT_EQ((*kernel)->requiredThreads, (Index3{32, 2, 1}));
}

TEST(ParserTest, scopesHideNamesAndLabels) {
  EXPECT_EQ(errorIn("{ .reg .b32 t; mov.u32 t, 1; L: setp.eq.u32 %p1, t, 2; @%p1 bra L; }\n"
                    "{ .reg .b64 t; mov.u64 t, 1; L: setp.eq.u64 %p1, t, 2; @%p1 bra L; }"),
            "");
}

TEST(ParserTest, errorsSayWhereAndWhat) {
  EXPECT_EQ(errorOf("hello"), "a.ptx:1:1: error: expected a directive, not 'hello'");
  EXPECT_EQ(errorOf(".version 8.7\n.target sm_90\n.entry k() {\n"),
            "a.ptx:4:1: error: function 'k' does not end");
  EXPECT_EQ(errorIn("mov.u32 %r9, 1;"), "a.ptx:5:9: error: no register '%r9'");
  EXPECT_EQ(errorIn("bra NOWHERE;"),
            "a.ptx:5:5: error: no register, label, variable or function 'NOWHERE'");
  EXPECT_EQ(errorIn("add.u32 %r1, %r2;"), "a.ptx:5:1: error: 'add.u32' takes 3 operands, not 2");
  EXPECT_EQ(errorIn("add.u32 %r1, %r2, %rd1;"),
            "a.ptx:5:1: error: '%rd1' has 64 bits where 'add.u32' takes 32");
  EXPECT_EQ(errorIn("add.u32 %r1, %r2, %p1;"),
            "a.ptx:5:1: error: '%p1' has one bit where 'add.u32' takes 32");
  EXPECT_EQ(errorIn("L: L: ret;"), "a.ptx:5:4: error: label 'L' is there twice");
  EXPECT_EQ(errorIn("mov.u32 %r1, 1"), "a.ptx:6:1: error: expected ',' before '}'");
  EXPECT_EQ(errorIn("mov.u32 %r1, \x01;"), "a.ptx:5:14: error: expected an operand, not '\\x01'");
}

TEST(ParserTest, whatIsNotSupportedIsNamedInFull) {
  EXPECT_EQ(errorIn("tex.2d.v4.f32.f32 %r1, %r2;"),
            "a.ptx:5:1: error: instruction 'tex.2d.v4.f32.f32' is not supported");
  EXPECT_EQ(errorIn("add.u32.sideways %r1, %r2, %r3;"),
            "a.ptx:5:1: error: modifier '.sideways' of 'add.u32.sideways' is not supported");
  EXPECT_EQ(errorIn("mov.u32 %r1, %pm3;"), "a.ptx:5:14: error: no register '%pm3'");
  EXPECT_EQ(errorIn("mov.u32 %r1, %nosuch;"),
            "a.ptx:5:1: error: special register '%nosuch' is not supported");
  EXPECT_EQ(errorOf(".version 8.7\n.target sm_90\n.address_size 32\n"),
            "a.ptx:3:15: error: only addresses of 64 bits are supported");
}

TEST(ParserTest, recursionIsRefused) {
  EXPECT_EQ(errorOf(".version 8.7\n.target sm_90\n.func f() {\ncall f;\nret;\n}\n.entry k() { call "
                    "f; ret; }\n"),
            "a.ptx:4:1: error: function 'f' calls itself: recursion is not supported");
}

TEST(ParserTest, kernelsThatAreNotThereAreToldWithThoseThatAre) {
  auto loaded = load(std::string(header) + ".entry scale() { ret; }\n");
  EXPECT_EQ(loaded->image->kernel("scael").status().message(),
            "no kernel 'scael' in test.ptx; it has 'scale'; did you mean 'scale'?");
}

TEST(ParserTest, variablesAreInitialised) {
  Ran ran = run(
      kernel("mov.u64 %rd5, pointers;\nld.global.u64 %rd6, [%rd5+8];\nld.global.f32 %f1, [%rd6];\n"
             "ld.const.u16 %r2, [c+2];\ncvt.rzi.u32.f32 %r3, %f1;\nadd.u32 %r4, %r3, "
             "%r2;\nst.global.u32 [%rd4], %r4;",
             ".global .align 4 .f32 values[2] = {0f40000000, 7.0};\n"
             ".global .align 8 .u64 pointers[2] = {values, generic(values)+4};\n.const .u16 c[2] = "
             "{1, 0x20};\n"),
      {0});
  EXPECT_EQ(texts(ran.outcome), "");
  EXPECT_EQ(ran.out[0], 39u);
}

TEST(LaunchTest, whatCannotBeLaunchedIsSaid) {
  Launch launch;
  launch.block = {1025, 1, 1};
  EXPECT_EQ(run(kernel(""), {0}, launch).error,
            "kernel 'k': a block of 1025x1x1 threads has more than 1024");
  launch.block = {32, 1, 1};
  launch.dynamicShared = 1 << 20;
  EXPECT_EQ(run(kernel(""), {0}, launch).error,
            "kernel 'k' needs 1 MiB of shared memory; a block has at most 228 KiB");
}

} // namespace
