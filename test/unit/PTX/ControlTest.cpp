// Divergence, warps together, barriers, counts.
#include "PTX/RunText.h"

using namespace gantry::ptx;
using namespace gantry::ptx::test;

namespace {

std::vector<uint64_t> numbers(size_t count) {
  std::vector<uint64_t> made(count);
  for (size_t i = 0; i < count; ++i)
    made[i] = i;
  return made;
}

TEST(ControlTest, groupsMeetAgainWhereTheirWaysJoin) {
  // Lanes loop as often as their number says; all are together at the ballot behind.
  Ran ran = run(kernel("mov.u32 %r1, 0;\nL: setp.ge.u32 %p1, %r1, %r0;\n@%p1 bra D;\nadd.u32 %r1, "
                       "%r1, 1;\nbra L;\n"
                       "D: activemask.b32 %r2;\npopc.b32 %r3, %r2;\nmad.lo.u32 %r4, %r3, 100, "
                       "%r1;\nst.global.u32 [%rd4], %r4;"),
                numbers(32));
  EXPECT_EQ(texts(ran.outcome), "");
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(ran.out[i], 3200 + i);
}

TEST(ControlTest, branchTablesTakeEachLaneItsWay) {
  Ran ran = run(kernel("and.b32 %r1, %r0, 3;\nT: .branchtargets A, B, C, D;\nbrx.idx %r1, T;\n"
                       "A: mov.u32 %r2, 10; bra E;\nB: mov.u32 %r2, 11; bra E;\nC: mov.u32 %r2, "
                       "12; bra E;\nD: mov.u32 %r2, 13;\n"
                       "E: st.global.u32 [%rd4], %r2;"),
                numbers(32));
  EXPECT_EQ(texts(ran.outcome), "");
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(ran.out[i], 10 + i % 4);
}

TEST(ControlTest, lanesWaitForThoseThatComeBackLater) {
  // Odd lanes take a block behind the shuffle and jump back to it: the even ones wait.
  Ran ran = run(
      kernel(
          "and.b32 %r1, %r0, 1;\nsetp.eq.u32 %p1, %r1, 1;\n@%p1 bra ODD;\nmov.u32 %r2, %r0;\n"
          "S: shfl.sync.bfly.b32 %r3, %r2, 1, 31, 0xffffffff;\nst.global.u32 [%rd4], %r3;\nret;\n"
          "ODD: add.u32 %r2, %r0, 100;\nbra S;"),
      numbers(32));
  EXPECT_EQ(texts(ran.outcome), "");
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(ran.out[i], i % 2 ? i - 1 : i + 101);
}

struct Shuffle {
  const char *op;
  unsigned (*from)(unsigned);
  bool (*inRange)(unsigned);
};

TEST(ControlTest, shufflesOfAllModes) {
  const Shuffle all[] = {
      {"up.b32 %r2|%p1, %r0, 3, 0", [](unsigned i) { return i < 3 ? i : i - 3; },
       [](unsigned i) { return i >= 3; }},
      {"down.b32 %r2|%p1, %r0, 3, 31", [](unsigned i) { return i > 28 ? i : i + 3; },
       [](unsigned i) { return i <= 28; }},
      {"bfly.b32 %r2|%p1, %r0, 5, 31", [](unsigned i) { return i ^ 5; },
       [](unsigned) { return true; }},
      {"idx.b32 %r2|%p1, %r0, 9, 31", [](unsigned) { return 9u; }, [](unsigned) { return true; }},
      // In segments of 8: mask 24 in the upper bits.
      {"down.b32 %r2|%p1, %r0, 2, 0x1807", [](unsigned i) { return i % 8 > 5 ? i : i + 2; },
       [](unsigned i) { return i % 8 <= 5; }},
      {"up.b32 %r2|%p1, %r0, 2, 0x1800", [](unsigned i) { return i % 8 < 2 ? i : i - 2; },
       [](unsigned i) { return i % 8 >= 2; }},
      {"idx.b32 %r2|%p1, %r0, 1, 0x1807", [](unsigned i) { return i / 8 * 8 + 1; },
       [](unsigned) { return true; }},
  };
  for (const Shuffle &shuffle : all) {
    Ran ran = run(kernel(std::string("shfl.sync.") + shuffle.op +
                         ", 0xffffffff;\nselp.u32 %r3, 1, 0, %p1;\n"
                         "mov.b64 %rd5, {%r2, %r3};\nst.global.u64 [%rd4], %rd5;"),
                  numbers(32));
    EXPECT_EQ(texts(ran.outcome), "") << shuffle.op;
    for (unsigned i = 0; i < 32; ++i)
      EXPECT_EQ(ran.out[i], shuffle.from(i) | uint64_t(shuffle.inRange(i)) << 32)
          << shuffle.op << " lane " << i;
  }
}

TEST(ControlTest, matrixProductsMatchTheTables) {
  // m16n8k8 of tf32: a(r, k) = r + 10 k, b(k, c) = k == c: d(r, c) = a(r, c).
  Ran ran =
      run(kernel("shr.u32 %r1, %r0, 2;\nand.b32 %r2, %r0, 3;\nmul.lo.u32 %r3, %r2, 10;\nadd.u32 "
                 "%r3, %r3, %r1;\n"
                 "cvt.rn.f32.u32 %f1, %r3;\nadd.f32 %f2, %f1, 8.0;\nadd.f32 %f3, %f1, "
                 "40.0;\nadd.f32 %f4, %f1, 48.0;\n"
                 "setp.eq.u32 %p1, %r1, %r2;\nselp.f32 %f5, 1.0, 0.0, %p1;\nadd.u32 %r4, %r2, 4;\n"
                 "setp.eq.u32 %p2, %r1, %r4;\nselp.f32 %f6, 1.0, 0.0, %p2;\n"
                 "mov.b32 %r5, %f1; mov.b32 %r6, %f2; mov.b32 %r7, %f3; mov.b32 %r8, %f4; mov.b32 "
                 "%r9, %f5; mov.b32 %r10, %f6;\n"
                 "mov.f32 %f7, 0.0;\n"
                 "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f8,%f9,%f10,%f11}, "
                 "{%r5,%r6,%r7,%r8}, {%r9,%r10}, {%f7,%f7,%f7,%f7};\n"
                 "cvt.rzi.u32.f32 %r11, %f9;\ncvt.rzi.u32.f32 %r12, %f10;\nmov.b64 %rd5, {%r11, "
                 "%r12};\nst.global.u64 [%rd4], %rd5;"),
          numbers(32));
  EXPECT_EQ(texts(ran.outcome), "");
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(ran.out[i], (i / 4 + 10 * (i % 4 * 2 + 1)) | uint64_t(i / 4 + 8 + 10 * (i % 4 * 2))
                                                               << 32)
        << i;
}

TEST(ControlTest, namedBarriersOrderSomeWarps) {
  // Warp 1 writes and arrives, warp 0 waits and reads.
  Ran ran =
      run(kernel("shr.u32 %r1, %r0, 5;\nsetp.eq.u32 %p1, %r1, 0;\nshl.b32 %r2, %r0, 2;\nmov.u32 "
                 "%r3, s;\nadd.u32 %r4, %r3, %r2;\n"
                 "@%p1 bra READ;\nst.shared.u32 [%r4], %r0;\nbar.arrive 3, 64;\nret;\n"
                 "READ: bar.sync 3, 64;\nld.shared.u32 %r5, [%r4+128];\nst.global.u32 [%rd4], %r5;",
                 ".shared .align 4 .b8 s[256];\n"),
          numbers(64));
  EXPECT_EQ(texts(ran.outcome), "");
  EXPECT_EQ(ran.out[5], 37u);
}

TEST(CountTest, sectorsTellCoalescing) {
  // 32 lanes of 8 bytes side by side: 8 sectors. Every 64 bytes: 32 sectors for 256 bytes.
  Ran neat = run(kernel("ld.global.u64 %rd5, [%rd3];\nst.global.u64 [%rd4], %rd5;"), numbers(32));
  EXPECT_EQ(neat.outcome.counts.globalLoad.leastSectors, 8u);
  EXPECT_LE(neat.outcome.counts.globalLoad.sectors, 9u); // the buffer may begin within a sector
  Ran wide = run(kernel("and.b32 %r1, %r0, 31;\nmul.wide.u32 %rd6, %r1, 64;\nadd.u64 %rd7, %rd1, "
                        "%rd6;\nld.global.u64 %rd5, [%rd7];"),
                 numbers(256));
  EXPECT_EQ(texts(wide.outcome), "");
  EXPECT_EQ(wide.outcome.counts.globalLoad.requests, 8u);
  EXPECT_EQ(wide.outcome.counts.globalLoad.sectors, 8u * 32);
  EXPECT_EQ(wide.outcome.counts.globalLoad.leastSectors, 8u * 8);
}

TEST(CountTest, wavefrontsTellBankConflicts) {
  auto wavefronts = [](unsigned stride, const char *type, const char *reg) {
    Ran ran = run(kernel("mov.u32 %r1, s;\nmad.lo.u32 %r2, %r0, " + std::to_string(stride) +
                             ", %r1;\nmov.b64 %rd5, 0;\nst.shared." + std::string(type) +
                             " [%r2], " + reg + ";",
                         ".shared .align 16 .b8 s[8192];\n"),
                  numbers(32));
    EXPECT_EQ(texts(ran.outcome), "");
    return ran.outcome.counts.sharedStore.wavefronts;
  };
  EXPECT_EQ(wavefronts(4, "u32", "%r0"), 1u);
  EXPECT_EQ(wavefronts(8, "u32", "%r0"), 2u);
  EXPECT_EQ(wavefronts(128, "u32", "%r0"), 32u);
  EXPECT_EQ(wavefronts(132, "u32", "%r0"), 1u);
  EXPECT_EQ(wavefronts(8, "u64", "%rd5"), 2u);
  EXPECT_EQ(wavefronts(16, "u64", "%rd5"), 4u);
}

TEST(CountTest, lanesThatRunAreCounted) {
  Ran ran = run(kernel("setp.lt.u32 %p1, %r0, 5;\n@%p1 add.u32 %r1, %r0, %r0;"), numbers(40));
  // Seven before and the return: three moves, two products, setp; add counts for five lanes.
  EXPECT_EQ(ran.outcome.counts.laneInstructions, 40u * 7 + 5);
  EXPECT_EQ(ran.outcome.counts.warpInstructions, 2u * 8);
}

TEST(OrderTest, resultsDoNotDependOnThreadsOrSeed) {
  std::string text = kernel("mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmad.lo.u32 %r3, %r1, "
                            "%r2, %r0;\nmul.wide.u32 %rd5, %r3, 8;\n"
                            "add.u64 %rd6, %rd2, %rd5;\nadd.u64 %rd7, %rd1, %rd5;\nld.global.u64 "
                            "%rd8, [%rd7];\nmul.lo.u64 %rd8, %rd8, %rd8;\n"
                            "st.global.u64 [%rd6], %rd8;\nred.global.add.u64 [%rd2+8184], %rd8;");
  Launch launch;
  launch.grid = {8, 1, 1};
  launch.block = {128, 1, 1};
  launch.checks = Checks::memory;
  auto in = numbers(1024);
  in[1023] = 0;
  Ran first = run(text, in, launch);
  launch.threads = 3;
  launch.seed = 5;
  Ran second = run(text, in, launch);
  EXPECT_EQ(texts(second.outcome), "");
  first.out[1023] = second.out[1023] =
      0; // the store and the sums of other blocks meet in any order
  EXPECT_EQ(first.out, second.out);
  EXPECT_EQ(first.outcome.counts.laneInstructions, second.outcome.counts.laneInstructions);
}

TEST(OrderTest, faultsAreThoseOfTheFirstBlocksWhateverTheThreads) {
  // Blocks from 37 on read over the end, from 50 on also by another instruction; 90 traps.
  std::string over = "mov.u32 %r1, %ctaid.x;\nsetp.lt.u32 %p1, %r1, 37;\n@!%p1 ld.global.u64 %rd5, "
                     "[%rd1+800];\nsetp.lt.u32 %p1, %r1, 50;\n@!%p1 ld.global.u32 %r2, "
                     "[%rd1+804];\n",
              trap = "setp.eq.u32 %p1, %r1, 90;\n@%p1 trap;\n";
  Launch launch;
  launch.grid = {200, 1, 1};
  launch.checks = Checks::memory;
  for (const std::string &body : {over, over + trap}) {
    launch.threads = 1;
    std::string alone = texts(run(kernel(body), numbers(100), launch).outcome);
    EXPECT_NE(alone.find("block (37,0,0)"), std::string::npos) << alone;
    EXPECT_EQ(alone.find("trap") != std::string::npos, body != over) << alone;
    for (unsigned threads = 2; threads < 9; ++threads) {
      launch.threads = threads;
      std::string together = texts(run(kernel(body), numbers(100), launch).outcome);
      // How often an instruction failed before a trap depends on how far others came.
      auto withoutCounts = [](std::string text) {
        for (size_t at; (at = text.find("; ")) != std::string::npos;)
          text.erase(at, text.find('\n', at) - at);
        return text;
      };
      if (body == over)
        EXPECT_EQ(together, alone);
      else
        EXPECT_EQ(withoutCounts(together), withoutCounts(alone));
    }
  }
}

} // namespace
