// Code for AArch64, made on any machine: its vectors, what its plan names, nothing beyond it.
// RUN: gantry compile %s --target-cpu=aarch64,neoverse-v1,x86-64-v3 -o %t.gantry
// RUN: gantry explain %t.gantry | FileCheck %s --check-prefix=PLAN
// RUN: %python -B %S/Inputs/extract_objects.py %t.gantry %t
// RUN: llvm-readelf -h %t.0 | FileCheck %s --check-prefix=HEADER
// RUN: llvm-readelf -h %t.1 | FileCheck %s --check-prefix=HEADER
// RUN: llvm-nm -D --undefined-only %t.0 | count 0
// RUN: llvm-objdump -d --no-show-raw-insn --mattr=+all %t.0 | FileCheck %s --check-prefix=CODE --implicit-check-not=ptrue
// RUN: llvm-objdump -d --no-show-raw-insn --mattr=+all %t.1 | FileCheck %s --check-prefix=CODE --implicit-check-not=ptrue

// The first is for every AArch64; vectors without a length (ptrue begins with them) are for none.
// PLAN: 1 kernel, driver host: code for aarch64, else code for aarch64 asimdhp asimddp asimdfhm i8mm bf16,
// PLAN-NEXT: else code for x86-64-v3
// HEADER: Machine: {{.*}}AArch64

// Sums of products in vectors that are there for the whole loop.
// CODE: fmla {{v[0-9]+}}.4s, {{v[0-9]+}}.4s, {{v[0-9]+}}.s[0]

func.func @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = gantry.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = gantry.gelu %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}
