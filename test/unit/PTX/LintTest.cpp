// What lint reports, with the full text, and what allows it.
#include "PTX/RunText.h"

#include "gantry/PTX/Lint.h"

using namespace gantry::ptx;
using namespace gantry::ptx::test;

namespace {

std::vector<std::string> findings(const std::string &body, std::vector<std::string> allowed = {}) {
  auto module = parse(kernel(body), "test.ptx");
  EXPECT_TRUE(module.ok());
  std::vector<std::string> made;
  for (const Finding &finding : lint(*module, allowed))
    made.push_back(finding.text("test.ptx"));
  return made;
}

using Texts = std::vector<std::string>;

TEST(LintTest, approximateFunctionsAreFindings) {
  EXPECT_EQ(findings("ex2.approx.f32 %f1, %f2;"),
            Texts{"test.ptx:15:1: error: 'ex2.approx.f32' in 'k' is approximate; allow it with "
                  "--allow=approx or --allow=ex2.approx.f32"});
  EXPECT_EQ(findings("ex2.approx.f32 %f1, %f2;", {"ex2.approx"}), Texts{});
  EXPECT_EQ(findings("ex2.approx.f32 %f1, %f2;", {"approx"}), Texts{});
  EXPECT_EQ(findings("ex2.approx.f32 %f1, %f2;", {"ex2.app"}).size(), 1u);
}

TEST(LintTest, flushesAndUnknownOpcodesAreFindings) {
  EXPECT_EQ(findings("add.ftz.f32 %f1, %f2, %f3;"),
            Texts{"test.ptx:15:1: error: 'add.ftz.f32' in 'k' flushes subnormal numbers; allow it "
                  "with --allow=ftz or --allow=add.ftz.f32"});
  EXPECT_EQ(findings("frobnicate.f32 %f1, %f2;"),
            Texts{"test.ptx:15:1: error: 'frobnicate.f32' in 'k' is no opcode that is known"});
  EXPECT_EQ(findings("add.f32 %f1, %f2, %f3;"), Texts{});
}

TEST(LintTest, localMemoryIsAFinding) {
  EXPECT_EQ(findings("st.local.u32 [%rd1], %r1;"),
            Texts{"test.ptx:15:1: error: 'st.local.u32' in 'k' uses local memory, which is global "
                  "memory of each thread; allow it with --allow=local or --allow=st.local.u32"});
  EXPECT_EQ(findings("st.local.u32 [%rd1], %r1;", {"local"}), Texts{});
  EXPECT_EQ(findings("ld.v2.local.b32 {%r1, %r2}, [%rd1];").size(), 1u);
}

TEST(LintTest, tensorCoresAreNoFinding) {
  EXPECT_EQ(
      findings("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];\nmma.sync.aligned."
               "m16n8k8.row.col.f32.tf32.tf32.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, "
               "{%r5, %r6}, {%f1, %f2, %f3, %f4};\ncp.async.cg.shared.global [%r1], [%rd1], "
               "16;\ncp.async.wait_all;"),
      Texts{});
}

} // namespace
