// Lane instructions a second of the PTX interpreter, on one thread of the host: elementwise code, a
// product of register tiles from shared memory, tensor cores, sums by shuffles, each with no checks
// (0), those of memory (1) and all (2). The rows are compared with each other, and with those of
// another build.
#include "gantry/PTX/Machine.h"

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

using namespace gantry;
using namespace gantry::ptx;

namespace {

std::string kernel(const std::string &body) {
  return ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param "
         ".u64 out)\n{\n.shared .align 16 .b8 s[16384];\n.reg .b32 %r<64>; .reg .f32 %f<64>; .reg "
         ".b64 %rd<16>; .reg .pred %p<4>;\nld.param.u64 %rd1, [in];\nld.param.u64 %rd2, "
         "[out];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nmad.lo.s32 %r2, %r1, 256, "
         "%r0;\nmul.wide.u32 %rd3, %r2, 16;\nadd.u64 %rd4, %rd1, %rd3;\nadd.u64 %rd5, %rd2, "
         "%rd3;\nmov.u32 %r3, s;\nmad.lo.u32 %r4, %r0, 16, %r3;\n" +
         body + "\nret;\n}\n";
}

std::string number(int value) { return std::to_string(value); }

/// Four numbers of each thread: y = 2.5 x + y.
std::string elementwise() {
  std::string text = "ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%rd4];\n"
                     "ld.global.v4.f32 {%f4, %f5, %f6, %f7}, [%rd5];\n";
  for (int i = 0; i < 4; ++i)
    text += "fma.rn.f32 %f" + number(4 + i) + ", %f" + number(i) + ", 0f40200000, %f" +
            number(4 + i) + ";\n";
  return text + "st.global.v4.f32 [%rd5], {%f4, %f5, %f6, %f7};";
}

std::string fillShared() {
  return "ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%rd4];\nst.shared.v4.f32 [%r4], {%f0, %f1, %f2, "
         "%f3};\nst.shared.v4.f32 [%r4+4096], {%f0, %f1, %f2, %f3};\nbar.sync 0;\nmov.u32 %r9, "
         "0;\n";
}

/// 4 x 4 sums of a thread in a tile of 64 x 64, 16 terms a turn.
std::string tiles() {
  std::string text = fillShared() + "and.b32 %r5, %r0, 15;\nmad.lo.u32 %r5, %r5, 16, %r3;\nshr.u32 "
                                    "%r6, %r0, 4;\nmad.lo.u32 %r6, %r6, 16, %r3;\n";
  for (int i = 0; i < 16; ++i)
    text += "mov.f32 %f" + number(16 + i) + ", 0f00000000;\n";
  text += "L:\n";
  for (int k = 0; k < 16; ++k) {
    std::string row = number(256 * k);
    text += "ld.shared.v4.f32 {%f0, %f1, %f2, %f3}, [%r6+" + row +
            "];\nld.shared.v4.f32 {%f4, %f5, %f6, %f7}, [%r5+" + row + "+4096];\n";
    for (int i = 0; i < 16; ++i)
      text += "fma.rn.f32 %f" + number(16 + i) + ", %f" + number(i / 4) + ", %f" +
              number(4 + i % 4) + ", %f" + number(16 + i) + ";\n";
  }
  text += "bar.sync 0;\nadd.u32 %r9, %r9, 1;\nsetp.lt.u32 %p1, %r9, 16;\n@%p1 bra L;\n";
  return text + "st.global.v4.f32 [%rd5], {%f16, %f21, %f26, %f31};";
}

/// Two products of 16 x 8 x 16 a fragment of a, as ldmatrix brings them.
std::string tensorCores() {
  std::string text = fillShared();
  for (int i = 0; i < 8; ++i)
    text += "mov.f32 %f" + number(16 + i) + ", 0f00000000;\n";
  text += "L:\n";
  for (int k = 0; k < 4; ++k) {
    text += "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r4+" +
            number(1024 * (k % 2)) +
            "];\nldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r14, %r15, %r16, %r17}, "
            "[%r4+4096];\n";
    for (int i = 0; i < 2; ++i) {
      std::string sums;
      for (int j = 0; j < 4; ++j)
        sums += (j ? ", %f" : "%f") + number(16 + 4 * i + j);
      text += "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {" + sums +
              "}, {%r10, %r11, %r12, %r13}, {%r" + number(14 + 2 * i) + ", %r" +
              number(15 + 2 * i) + "}, {" + sums + "};\n";
    }
  }
  text += "add.u32 %r9, %r9, 1;\nsetp.lt.u32 %p1, %r9, 16;\n@%p1 bra L;\n";
  return text + "st.global.v4.f32 [%rd5], {%f16, %f17, %f20, %f21};";
}

/// Sums of a warp.
std::string shuffles() {
  std::string text = "ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%rd4];\n";
  for (int turn = 0; turn < 8; ++turn)
    for (int distance = 16; distance; distance /= 2)
      text += "shfl.sync.bfly.b32 %f4, %f0, " + number(distance) +
              ", 31, -1;\nadd.f32 %f0, %f0, %f4;\n";
  return text + "st.global.f32 [%rd5], %f0;";
}

void run(benchmark::State &state, const std::string &text) {
  constexpr uint32_t blocks = 64, threads = 256;
  std::vector<float> in(blocks * threads * 4), out(in.size());
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = float(i % 7);
  Memory memory;
  auto module = parse(text, "bench.ptx");
  if (!module)
    return state.SkipWithError(std::string(module.status().message()).c_str());
  bool added = memory.add(in.data(), in.size() * 4, "in").ok() &&
               memory.add(out.data(), out.size() * 4, "out").ok();
  auto image = Image::load(module.take(), memory);
  if (!added || !image)
    return state.SkipWithError("the kernel is not loaded");
  const void *arguments[] = {in.data(), out.data()};
  Launch launch;
  launch.kernel = "k";
  launch.grid = {blocks, 1, 1};
  launch.block = {threads, 1, 1};
  launch.checks = Checks(state.range(0));
  launch.arguments = std::as_bytes(std::span(arguments));
  uint64_t instructions = 0;
  for (auto _ : state) {
    auto outcome = ptx::run(**image, launch);
    if (!outcome || outcome->faultCount)
      return state.SkipWithError(outcome ? "the kernel has faults" : "the kernel does not run");
    instructions += outcome->counts.laneInstructions;
  }
  state.counters["lane_instructions"] =
      benchmark::Counter(double(instructions), benchmark::Counter::kIsRate);
}

} // namespace

BENCHMARK_CAPTURE(run, elementwise, kernel(elementwise()))->DenseRange(0, 2);
BENCHMARK_CAPTURE(run, tiles, kernel(tiles()))->DenseRange(0, 2);
BENCHMARK_CAPTURE(run, tensorCores, kernel(tensorCores()))->DenseRange(0, 2);
BENCHMARK_CAPTURE(run, shuffles, kernel(shuffles()))->DenseRange(0, 2);

BENCHMARK_MAIN();
