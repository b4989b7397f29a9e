// cp.async: when bytes arrive, by groups, and who may not look before.
#include "PTX/RunText.h"

using namespace gantry::ptx;
using namespace gantry::ptx::test;

namespace {

constexpr const char *shared = ".shared .align 16 .b8 s[1024];\n";
/// %r1 is the place of the thread's 8 bytes in shared memory.
constexpr const char *place = "mov.u32 %r1, s;\nmad.lo.u32 %r1, %r0, 8, %r1;\n";
constexpr const char *copy = "cp.async.ca.shared.global [%r1], [%rd3], 8;\n";
constexpr const char *result = "ld.shared.u64 %rd5, [%r1];\nst.global.u64 [%rd4], %rd5;";

std::vector<uint64_t> numbers() {
  std::vector<uint64_t> made(32);
  for (uint64_t i = 0; i < made.size(); ++i)
    made[i] = i * 0x100000001u + 7;
  return made;
}

Ran runBody(const std::string &body, Checks checks = Checks::all) {
  Launch launch;
  launch.checks = checks;
  return run(kernel(place + body, shared), numbers(), launch);
}

TEST(CopyTest, bytesArriveAtTheWait) {
  for (const char *wait :
       {"cp.async.commit_group;\ncp.async.wait_group 0;\n", "cp.async.wait_all;\n",
        "cp.async.commit_group;\ncp.async.wait_all;\n"}) {
    Ran ran = runBody(std::string(copy) + wait + result);
    EXPECT_EQ(texts(ran.outcome), "");
    EXPECT_EQ(ran.out, numbers());
  }
}

TEST(CopyTest, readingBeforeTheWaitIsAFault) {
  std::string zero = "st.shared.u64 [%r1], 5;\n";
  Ran ran = runBody(zero + copy + "cp.async.commit_group;\ncp.async.wait_group 1;\n" + result);
  EXPECT_EQ(texts(ran.outcome),
            "test.ptx:22:1: error: unfinished-copy: read of byte 0 of shared memory (1 KiB), which "
            "cp.async of thread (0,0,0) writes until that thread waits for it\n  kernel 'k', block "
            "(0,0,0), thread (0,0,0), lane 0: ld.shared.u64; 32 times\n");
  // The old bytes are what is seen, also without that check.
  EXPECT_EQ(ran.out, std::vector<uint64_t>(32, 5));
  ran = runBody(zero + copy + result, Checks::memory);
  EXPECT_EQ(texts(ran.outcome), "");
  EXPECT_EQ(ran.out, std::vector<uint64_t>(32, 5));
  // A wait for what is in no group yet waits for nothing.
  ran = runBody(zero + copy + "cp.async.wait_group 0;\n" + result, Checks::memory);
  EXPECT_EQ(ran.out, std::vector<uint64_t>(32, 5));
  // A barrier is no wait.
  EXPECT_EQ(texts(runBody(std::string(copy) + "bar.sync 0;\n" + result).outcome).substr(0, 38),
            "test.ptx:20:1: error: unfinished-copy:");
  EXPECT_EQ(texts(runBody(std::string(copy) + "st.shared.u64 [%r1], 5;").outcome).substr(0, 54),
            "test.ptx:19:1: error: unfinished-copy: write of byte 0");
}

TEST(CopyTest, groupsArriveInTheirOrder) {
  std::string other = "xor.b64 %rd6, %rd3, 8;\ncp.async.ca.shared.global [%r1+512], [%rd6], 8;\n";
  std::string body = std::string("st.shared.u64 [%r1+512], 5;\n") + copy +
                     "cp.async.commit_group;\n" + other +
                     "cp.async.commit_group;\ncp.async.wait_group 1;\n" + result;
  Ran ran = runBody(body);
  EXPECT_EQ(texts(ran.outcome), "");
  EXPECT_EQ(ran.out, numbers());
  std::string second = "\nld.shared.u64 %rd5, [%r1+512];\nst.global.u64 [%rd4], %rd5;";
  ran = runBody(body + second, Checks::memory);
  EXPECT_EQ(ran.out, std::vector<uint64_t>(32, 5));
  EXPECT_EQ(texts(runBody(body + "\ncp.async.wait_group 0;" + second).outcome), "");
}

TEST(CopyTest, othersNeedTheWaitAndABarrier) {
  std::string read =
      "xor.b32 %r2, %r1, 8;\nld.shared.u64 %rd5, [%r2];\nst.global.u64 [%rd4], %rd5;";
  EXPECT_EQ(texts(runBody(std::string(copy) + "cp.async.wait_all;\nbar.sync 0;\n" + read).outcome),
            "");
  EXPECT_EQ(texts(runBody(std::string(copy) + "cp.async.wait_all;\n" + read).outcome).substr(0, 34),
            "test.ptx:21:1: error: shared-race:");
}

/// A tile's place is taken by the next one when nobody reads it any more.
TEST(CopyTest, whatOthersReadIsNotOverwrittenBeforeABarrier) {
  std::string begin = "st.shared.u64 [%r1], 5;\nbar.sync 0;\n";
  std::string read =
      "xor.b32 %r2, %r1, 8;\nld.shared.u64 %rd5, [%r2];\nst.global.u64 [%rd4], %rd5;\n";
  std::string end = std::string(copy) + "cp.async.wait_all;";
  EXPECT_EQ(texts(runBody(begin + read + "bar.sync 0;\n" + end).outcome), "");
  EXPECT_EQ(texts(runBody(begin + read + end).outcome).substr(0, 34),
            "test.ptx:23:1: error: shared-race:");
}

/// Matrices of a warp are read like anything else.
TEST(CopyTest, matricesNeedTheWaitAsWell) {
  std::string read =
      "mov.u32 %r2, s;\nand.b32 %r3, %r0, 7;\nmad.lo.u32 %r2, %r3, 16, %r2;\n"
      "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r2];\nst.global.u32 [%rd4], %r4;";
  std::string close = "cp.async.commit_group;\n";
  EXPECT_EQ(texts(runBody(copy + close + "cp.async.wait_group 0;\nbar.sync 0;\n" + read).outcome),
            "");
  EXPECT_EQ(texts(runBody(copy + close + "cp.async.wait_group 1;\nbar.sync 0;\n" + read).outcome)
                .substr(0, 38),
            "test.ptx:25:1: error: unfinished-copy:");
}

TEST(CopyTest, whatIsNotReadIsZero) {
  std::string size = "and.b32 %r2, %r0, 1;\nshl.b32 %r2, %r2, 2;\n";
  Ran ran = runBody(
      size + "cp.async.ca.shared.global [%r1], [%rd3], 8, %r2;\ncp.async.wait_all;\n" + result);
  EXPECT_EQ(texts(ran.outcome), "");
  for (size_t i = 0; i < ran.out.size(); ++i)
    EXPECT_EQ(ran.out[i], i % 2 ? uint32_t(numbers()[i]) : 0) << i;
  // What is not read may lie outside.
  ran = runBody("add.u64 %rd3, %rd3, 4096;\nmov.u32 %r2, 0;\ncp.async.ca.shared.global [%r1], "
                "[%rd3], 8, %r2;\ncp.async.wait_all;\n" +
                std::string(result));
  EXPECT_EQ(texts(ran.outcome), "");
}

TEST(CopyTest, placesAreChecked) {
  EXPECT_EQ(texts(runBody("add.u64 %rd3, %rd3, 8;\n" + std::string(copy)).outcome),
            "test.ptx:19:1: error: out-of-bounds: read of 8 bytes at byte 256 of 'in' (256 bytes)\n"
            "  kernel 'k', block (0,0,0), thread (31,0,0), lane 31: cp.async.ca.shared.global\n");
  EXPECT_EQ(
      texts(runBody("add.u32 %r1, %r1, 776;\n" + std::string(copy)).outcome),
      "test.ptx:19:1: error: out-of-bounds: write of 8 bytes at byte 1024 of shared memory (1 "
      "KiB)\n  kernel 'k', block (0,0,0), thread (31,0,0), lane 31: "
      "cp.async.ca.shared.global\n");
  EXPECT_EQ(texts(runBody("add.u32 %r1, %r1, 4;\n" + std::string(copy)).outcome).substr(0, 64),
            "test.ptx:19:1: error: misaligned: write of 8 bytes at byte 4 of ");
}

} // namespace
