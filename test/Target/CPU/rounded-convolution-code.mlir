// Sums of rounded convolutions stay in registers: no loop that multiplies and adds them touches the stack with a
// vector register, with the instruction for pairs (znver4) and without. Panels of 64, 48, 32 and 16 columns, windows with
// borders and steps, an image of three channels, and groups.
// RUN: gantry compile %s --math=bf16 --target-cpu=x86-64-v3 -o %t.gantry
// RUN: %python -B %S/Inputs/extract_objects.py %t.gantry %t
// RUN: llvm-objdump -d --no-show-raw-insn %t.0 | %python -B %S/Inputs/check_hot_loops.py | FileCheck %s
// RUN: gantry compile %s --math=bf16 --target-cpu=x86-64-v4 -o %t.gantry
// RUN: %python -B %S/Inputs/extract_objects.py %t.gantry %t
// RUN: llvm-objdump -d --no-show-raw-insn %t.0 | %python -B %S/Inputs/check_hot_loops.py | FileCheck %s
// RUN: gantry compile %s --math=bf16 --target-cpu=znver4 -o %t.gantry
// RUN: %python -B %S/Inputs/extract_objects.py %t.gantry %t
// RUN: llvm-objdump -d --no-show-raw-insn %t.0 | %python -B %S/Inputs/check_hot_loops.py | FileCheck %s
// CHECK-NOT: mm
// CHECK: some loops multiply and add, 0 instructions of them use the stack

func.func @main(%x: tensor<1x64x14x14xf32>, %stem: tensor<1x3x32x32xf32>)
    -> (tensor<1x64x14x14xf32>, tensor<1x48x14x14xf32>, tensor<1x32x14x14xf32>, tensor<1x16x14x14xf32>,
        tensor<1x64x14x14xf32>, tensor<1x64x7x7xf32>, tensor<1x64x16x16xf32>, tensor<1x96x14x14xf32>) {
  %w0 = gantry.constant dense<1.0> : tensor<64x64x1x1xf32>
  %0 = gantry.conv %x, %w0 {strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x64x14x14xf32>, tensor<64x64x1x1xf32>) -> tensor<1x64x14x14xf32>
  %w1 = gantry.constant dense<2.0> : tensor<48x64x1x1xf32>
  %1 = gantry.conv %x, %w1 {strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x64x14x14xf32>, tensor<48x64x1x1xf32>) -> tensor<1x48x14x14xf32>
  %w2 = gantry.constant dense<3.0> : tensor<32x64x1x1xf32>
  %2 = gantry.conv %x, %w2 {strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x64x14x14xf32>, tensor<32x64x1x1xf32>) -> tensor<1x32x14x14xf32>
  %w3 = gantry.constant dense<4.0> : tensor<16x64x1x1xf32>
  %3 = gantry.conv %x, %w3 {strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x64x14x14xf32>, tensor<16x64x1x1xf32>) -> tensor<1x16x14x14xf32>
  %w4 = gantry.constant dense<5.0> : tensor<64x64x3x3xf32>
  %4 = gantry.conv %x, %w4 {strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x64x14x14xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x14x14xf32>
  %w5 = gantry.constant dense<6.0> : tensor<64x64x3x3xf32>
  %5 = gantry.conv %x, %w5 {strides = array<i64: 2, 2>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x64x14x14xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x7x7xf32>
  %w6 = gantry.constant dense<7.0> : tensor<64x3x7x7xf32>
  %6 = gantry.conv %stem, %w6 {strides = array<i64: 2, 2>, pads_low = array<i64: 3, 3>, pads_high = array<i64: 3, 3>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x3x32x32xf32>, tensor<64x3x7x7xf32>) -> tensor<1x64x16x16xf32>
  %w7 = gantry.constant dense<8.0> : tensor<96x32x3x3xf32>
  %7 = gantry.conv %x, %w7 {strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 2 : i64} : (tensor<1x64x14x14xf32>, tensor<96x32x3x3xf32>) -> tensor<1x96x14x14xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<1x64x14x14xf32>, tensor<1x48x14x14xf32>, tensor<1x32x14x14xf32>, tensor<1x16x14x14xf32>, tensor<1x64x14x14xf32>, tensor<1x64x7x7xf32>, tensor<1x64x16x16xf32>, tensor<1x96x14x14xf32>
}
