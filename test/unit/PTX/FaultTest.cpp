// Each fault with its full text; and that it is not there when the reason is not.
#include "PTX/RunText.h"

using namespace gantry::ptx;
using namespace gantry::ptx::test;

namespace {

std::string faultsOf(const std::string &body, size_t threads = 32,
                     const std::string &declarations = "", Launch launch = {}) {
  return texts(run(kernel(body, declarations), std::vector<uint64_t>(threads), launch).outcome);
}

TEST(FaultTest, boundsAreThoseOfTheBuffer) {
  EXPECT_EQ(faultsOf("st.global.u64 [%rd4+8], %rd1;", 4),
            "test.ptx:15:1: error: out-of-bounds: write of 8 bytes at byte 32 of 'out' (32 bytes)\n"
            "  kernel 'k', block (0,0,0), thread (3,0,0), lane 3: st.global.u64\n");
  EXPECT_EQ(faultsOf("mov.u64 %rd5, 64;\nld.global.u32 %r1, [%rd5];", 1),
            "test.ptx:16:1: error: out-of-bounds: read of 4 bytes at 0x40, which is in no buffer\n"
            "  kernel 'k', block (0,0,0), thread (0,0,0), lane 0: ld.global.u32\n");
  EXPECT_EQ(faultsOf("st.global.u64 [%rd4], %rd1;", 4), "");
}

TEST(FaultTest, addressesAreAligned) {
  EXPECT_EQ(faultsOf("ld.global.u32 %r1, [%rd3+2];", 1),
            "test.ptx:15:1: error: misaligned: read of 4 bytes at byte 2 of 'in' (8 bytes)\n"
            "  kernel 'k', block (0,0,0), thread (0,0,0), lane 0: ld.global.u32\n");
  EXPECT_EQ(faultsOf("ld.global.u16 %r1, [%rd3+2];", 1), "");
}

TEST(FaultTest, sourceLocationsAreNamed) {
  EXPECT_EQ(
      faultsOf(".loc 2 17 3\ntrap;", 1, ".file 1 \"/a/b/model.onnx\"\n.file 2 \"/x/conv.cu\"\n"),
      "test.ptx:18:1: error: trap: the kernel trapped\n"
      "  kernel 'k', block (0,0,0), thread (0,0,0), lane 0: trap from conv.cu:17\n");
  EXPECT_EQ(faultsOf(".loc 2 17 3, function_name $L, inlined_at 1 4 5\ntrap;", 1,
                     ".file 1 \"/a/b/model.onnx\"\n.file 2 \"/x/conv.cu\"\n"),
            "test.ptx:18:1: error: trap: the kernel trapped\n"
            "  kernel 'k', block (0,0,0), thread (0,0,0), lane 0: trap from conv.cu:17, inlined at "
            "model.onnx:4\n");
}

constexpr const char *shared = ".shared .align 8 .b8 s[512];\n";
constexpr const char *slot = "mov.u32 %r1, s;\nshl.b32 %r2, %r0, 2;\nadd.u32 %r3, %r1, "
                             "%r2;\nsub.u32 %r4, 124, %r2;\nadd.u32 %r4, %r4, %r1;\n";

TEST(FaultTest, racesInSharedMemory) {
  std::string store = std::string(slot) + "st.shared.u32 [%r3], %r0;\n",
              load = "ld.shared.u32 %r5, [%r4];";
  EXPECT_EQ(faultsOf(store + load, 32, shared),
            "test.ptx:22:1: error: shared-race: read of byte 124 of shared memory (512 bytes), "
            "which thread (31,0,0) wrote with no barrier in between\n"
            "  kernel 'k', block (0,0,0), thread (0,0,0), lane 0: ld.shared.u32; 32 times\n");
  EXPECT_EQ(faultsOf(store + "bar.warp.sync 0xffffffff;\n" + load, 32, shared), "");
  EXPECT_EQ(faultsOf(store + "bar.sync 0;\n" + load, 32, shared), "");
  // Read, then written by another.
  EXPECT_EQ(
      faultsOf(store + "bar.sync 0;\n" + load + "\nst.shared.u32 [%r3], %r5;", 32, shared)
          .substr(0, 87),
      "test.ptx:24:1: error: shared-race: write of byte 0 of shared memory (512 bytes), which ");
  // The same value by all is none; different ones are.
  EXPECT_EQ(faultsOf(std::string(slot) + "st.shared.u32 [%r1], 7;", 32, shared), "");
  EXPECT_NE(faultsOf(std::string(slot) + "st.shared.u32 [%r1], %r0;", 32, shared), "");
}

TEST(FaultTest, sharedMemoryThatNobodyWrote) {
  EXPECT_EQ(faultsOf("ld.shared.u32 %r5, [s+8];", 1, shared),
            "test.ptx:16:1: error: uninitialised-shared: read of byte 8 of shared memory (512 "
            "bytes), which the block has not written\n"
            "  kernel 'k', block (0,0,0), thread (0,0,0), lane 0: ld.shared.u32\n");
  EXPECT_EQ(faultsOf("st.shared.u32 [s+8], 5;\nld.shared.u32 %r5, [s+8];", 1, shared), "");
  Launch launch;
  launch.checks = Checks::memory;
  EXPECT_EQ(faultsOf("ld.shared.u32 %r5, [s+8];", 1, shared, launch), "");
}

TEST(FaultTest, registersThatWereNeverWritten) {
  EXPECT_EQ(faultsOf("add.u32 %r1, %r2, 1;", 1),
            "test.ptx:15:1: error: uninitialised-register: register '%r2' was never written\n"
            "  kernel 'k', block (0,0,0), thread (0,0,0), lane 0: add.u32\n");
  // On one way only, and for some lanes.
  std::string some = "setp.lt.u32 %p1, %r0, 3;\n@%p1 mov.u32 %r2, 5;\n";
  EXPECT_EQ(faultsOf(some + "st.global.u32 [%rd4], %r2;", 8),
            "test.ptx:17:1: error: uninitialised-register: register '%r2' was never written\n"
            "  kernel 'k', block (0,0,0), thread (3,0,0), lane 3: st.global.u32\n");
  EXPECT_EQ(faultsOf(some + "@%p1 st.global.u32 [%rd4], %r2;", 8), "");
  // A copy is no use; what is made of the copy is.
  EXPECT_EQ(faultsOf("mov.u32 %r3, %r2;", 1), "");
  EXPECT_EQ(faultsOf("mov.u32 %r3, %r2;\nadd.u32 %r4, %r3, 1;", 1).substr(0, 79),
            "test.ptx:16:1: error: uninitialised-register: register '%r3' was never written\n");
  // A loop that writes before it reads.
  EXPECT_EQ(faultsOf("mov.u32 %r2, 0;\nL: mov.u32 %r3, %r2;\nadd.u32 %r2, %r3, 1;\nsetp.lt.u32 "
                     "%p1, %r2, 9;\n@%p1 bra L;",
                     4),
            "");
}

TEST(FaultTest, blocksThatMeet) {
  Launch launch;
  launch.grid = {2, 1, 1};
  std::string number = "mov.u32 %r1, %ctaid.x;\n";
  EXPECT_EQ(faultsOf(number + "st.global.u32 [%rd2], %r1;", 1, "", launch),
            "test.ptx:16:1: error: block-race: write of byte 0 of 'out' (8 bytes), which block "
            "(0,0,0) wrote in the same launch\n"
            "  kernel 'k', block (1,0,0), thread (0,0,0), lane 0: st.global.u32\n");
  EXPECT_EQ(faultsOf("st.global.u32 [%rd2], 7;", 32, "", launch), "");
  EXPECT_EQ(faultsOf(number + "red.global.add.u32 [%rd2], %r1;", 1, "", launch), "");
  EXPECT_EQ(
      faultsOf(
          number +
              "mul.wide.u32 %rd5, %r1, 4;\nadd.u64 %rd5, %rd5, %rd2;\nst.global.u32 [%rd5], %r1;",
          1, "", launch),
      "");
}

TEST(FaultTest, barriersThatSomeNeverReach) {
  EXPECT_EQ(faultsOf("setp.lt.u32 %p1, %r0, 32;\n@!%p1 bra E;\nbar.sync 0;\nE:", 64),
            "test.ptx:17:1: error: divergent-barrier: barrier 0 waits for 64 threads, 32 are there "
            "and 32 have ended; thread (32,0,0) has ended\n"
            "  kernel 'k', block (0,0,0), thread (0,0,0), lane 0: bar.sync\n");
  EXPECT_EQ(faultsOf("setp.lt.u32 %p1, %r0, 64;\n@!%p1 bra E;\nbar.sync 0;\nE:", 64), "");
}

TEST(FaultTest, lanesThatAreNamedAndAbsent) {
  EXPECT_EQ(
      faultsOf("setp.lt.u32 %p1, %r0, 8;\n@%p1 shfl.sync.idx.b32 %r1, %r0, 0, 31, 0xffffffff;"),
      "test.ptx:16:6: error: absent-lane: member mask 0xffffffff names lane 8, which is elsewhere\n"
      "  kernel 'k', block (0,0,0), thread (0,0,0), lane 0: shfl.sync.idx.b32\n");
  EXPECT_EQ(faultsOf("setp.lt.u32 %p1, %r0, 8;\n@%p1 shfl.sync.idx.b32 %r1, %r0, 0, 31, 0xff;"),
            "");
  EXPECT_EQ(faultsOf("setp.lt.u32 %p1, %r0, 8;\n@%p1 shfl.sync.idx.b32 %r1, %r0, 9, 31, 0xff;")
                .substr(0, 94),
            "test.ptx:16:6: error: absent-lane: the value comes from lane 9, which does not take "
            "part\n  ker");
}

TEST(FaultTest, whatDoesNotEndIsStopped) {
  Launch launch;
  launch.stepLimit = 1000;
  Ran ran = run(kernel("L: bra L;"), {0}, launch);
  EXPECT_EQ(texts(ran.outcome),
            "test.ptx:15:4: error: step-limit: more than 1000 instructions of warps; does it end?\n"
            "  kernel 'k', block (0,0,0), thread (0,0,0), lane 0: bra\n");
  EXPECT_FALSE(ran.outcome.completed);
}

TEST(FaultTest, namesCannotSteerATerminal) {
  Fault fault;
  fault.kind = FaultKind::trap;
  fault.kernel = "a\x1b[31m";
  fault.place = {1, 2};
  fault.opcode = "trap";
  fault.detail = "d";
  EXPECT_EQ(fault.text("x\n.ptx"), "x\\n.ptx:1:2: error: trap: d\n  kernel 'a\\x1b[31m', block "
                                   "(0,0,0), thread (0,0,0), lane 0: trap");
}

TEST(FaultTest, theListIsBounded) {
  Launch launch;
  launch.maxFaults = 2;
  std::string body;
  for (int i = 0; i < 5; ++i)
    body += "ld.global.u32 %r1, [%rd3+1];\n";
  Ran ran = run(kernel(body), std::vector<uint64_t>(32), launch);
  EXPECT_EQ(ran.outcome.faults.size(), 2u);
  EXPECT_EQ(ran.outcome.faultCount, 5u * 32);
}

} // namespace
