// Sums of products stay in registers: no loop that multiplies and adds touches the stack with a
// vector register, whatever the width of panels, the rows of tiles and the processor.
// RUN: gantry compile %s --target-cpu=x86-64-v3,x86-64-v4,sapphirerapids,znver4 -o %t.gantry
// RUN: %python -B %S/Inputs/extract_objects.py %t.gantry %t
// RUN: llvm-objdump -d --no-show-raw-insn %t.0 | %python -B %S/Inputs/check_hot_loops.py | FileCheck %s
// RUN: llvm-objdump -d --no-show-raw-insn %t.1 | %python -B %S/Inputs/check_hot_loops.py | FileCheck %s
// RUN: llvm-objdump -d --no-show-raw-insn %t.2 | %python -B %S/Inputs/check_hot_loops.py | FileCheck %s
// RUN: llvm-objdump -d --no-show-raw-insn %t.3 | %python -B %S/Inputs/check_hot_loops.py | FileCheck %s
// The same of rounded factors.
// RUN: gantry compile %s --math=bf16 --target-cpu=x86-64-v3,x86-64-v4,znver4 -o %t.bf16.gantry
// RUN: %python -B %S/Inputs/extract_objects.py %t.bf16.gantry %t.bf16
// RUN: llvm-objdump -d --no-show-raw-insn %t.bf16.0 | %python -B %S/Inputs/check_hot_loops.py | FileCheck %s
// RUN: llvm-objdump -d --no-show-raw-insn %t.bf16.1 | %python -B %S/Inputs/check_hot_loops.py | FileCheck %s
// RUN: llvm-objdump -d --no-show-raw-insn %t.bf16.2 | %python -B %S/Inputs/check_hot_loops.py | FileCheck %s
// And of matrices (AMX), with the tiles that another processor makes of theirs.
// RUN: gantry compile %s --math=bf16 --target-cpu=sapphirerapids,x86-64-v3,znver4 -o %t.amx.gantry
// RUN: %python -B %S/Inputs/extract_objects.py %t.amx.gantry %t.amx
// RUN: llvm-objdump -d --no-show-raw-insn %t.amx.0 | %python -B %S/Inputs/check_hot_loops.py | FileCheck %s
// RUN: llvm-objdump -d --no-show-raw-insn %t.amx.1 | %python -B %S/Inputs/check_hot_loops.py | FileCheck %s
// RUN: llvm-objdump -d --no-show-raw-insn %t.amx.2 | %python -B %S/Inputs/check_hot_loops.py | FileCheck %s
// RUN: gantry compile %s --math=f16 --target-cpu=x86-64-v3,x86-64-v4 -o %t.f16.gantry
// RUN: %python -B %S/Inputs/extract_objects.py %t.f16.gantry %t.f16
// RUN: llvm-objdump -d --no-show-raw-insn %t.f16.0 | %python -B %S/Inputs/check_hot_loops.py | FileCheck %s
// RUN: llvm-objdump -d --no-show-raw-insn %t.f16.1 | %python -B %S/Inputs/check_hot_loops.py | FileCheck %s
// CHECK-NOT: mm
// CHECK: some loops multiply and add, 0 instructions of them use the stack

// Panels of 48, 64, 32 and 16 columns, packed when compiling and by the kernel; tiles of nine rows down
// to one.
func.func @main(%x: tensor<128x96xf32>, %y: tensor<13x96xf32>, %z: tensor<11x96xf32>, %u: tensor<5x96xf32>,
                %v: tensor<1x96xf32>, %w32: tensor<96x32xf32>, %w16: tensor<96x16xf32>)
    -> (tensor<128x96xf32>, tensor<128x128xf32>, tensor<128x32xf32>, tensor<128x16xf32>, tensor<13x96xf32>,
        tensor<11x96xf32>, tensor<5x96xf32>, tensor<1x96xf32>, tensor<13x128xf32>, tensor<5x128xf32>,
        tensor<11x16xf32>, tensor<1x16xf32>) {
  %w48 = gantry.constant dense<1.0> : tensor<96x96xf32>
  %w64 = gantry.constant dense<2.0> : tensor<96x128xf32>
  %0 = gantry.matmul %x, %w48 : (tensor<128x96xf32>, tensor<96x96xf32>) -> tensor<128x96xf32>
  %1 = gantry.matmul %x, %w64 : (tensor<128x96xf32>, tensor<96x128xf32>) -> tensor<128x128xf32>
  %2 = gantry.matmul %x, %w32 : (tensor<128x96xf32>, tensor<96x32xf32>) -> tensor<128x32xf32>
  %3 = gantry.matmul %x, %w16 : (tensor<128x96xf32>, tensor<96x16xf32>) -> tensor<128x16xf32>
  %4 = gantry.matmul %y, %w48 : (tensor<13x96xf32>, tensor<96x96xf32>) -> tensor<13x96xf32>
  %5 = gantry.matmul %z, %w48 : (tensor<11x96xf32>, tensor<96x96xf32>) -> tensor<11x96xf32>
  %6 = gantry.matmul %u, %w48 : (tensor<5x96xf32>, tensor<96x96xf32>) -> tensor<5x96xf32>
  %7 = gantry.matmul %v, %w48 : (tensor<1x96xf32>, tensor<96x96xf32>) -> tensor<1x96xf32>
  %8 = gantry.matmul %y, %w64 : (tensor<13x96xf32>, tensor<96x128xf32>) -> tensor<13x128xf32>
  %9 = gantry.matmul %u, %w64 : (tensor<5x96xf32>, tensor<96x128xf32>) -> tensor<5x128xf32>
  %10 = gantry.matmul %z, %w16 : (tensor<11x96xf32>, tensor<96x16xf32>) -> tensor<11x16xf32>
  %11 = gantry.matmul %v, %w16 : (tensor<1x96xf32>, tensor<96x16xf32>) -> tensor<1x16xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 : tensor<128x96xf32>, tensor<128x128xf32>,
      tensor<128x32xf32>, tensor<128x16xf32>, tensor<13x96xf32>, tensor<11x96xf32>, tensor<5x96xf32>,
      tensor<1x96xf32>, tensor<13x128xf32>, tensor<5x128xf32>, tensor<11x16xf32>, tensor<1x16xf32>
}
