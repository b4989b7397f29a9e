// Sums of bytes stay in registers: no loop that multiplies and adds them touches the stack with a vector
// register, with instructions for words of bytes and without. Panels of 64, 48, 32 and 16 columns, a
// window with borders, and factors that are both computed.
// RUN: gantry compile %s --target-cpu=cascadelake -o %t.gantry
// RUN: %python -B %S/Inputs/extract_objects.py %t.gantry %t
// RUN: llvm-objdump -d --no-show-raw-insn %t.0 | %python -B %S/Inputs/check_hot_loops.py | FileCheck %s
// RUN: gantry compile %s --target-cpu=alderlake -o %t.gantry
// RUN: %python -B %S/Inputs/extract_objects.py %t.gantry %t
// RUN: llvm-objdump -d --no-show-raw-insn %t.0 | %python -B %S/Inputs/check_hot_loops.py | FileCheck %s
// RUN: gantry compile %s --target-cpu=x86-64-v3 -o %t.gantry
// RUN: %python -B %S/Inputs/extract_objects.py %t.gantry %t
// RUN: llvm-objdump -d --no-show-raw-insn %t.0 | %python -B %S/Inputs/check_hot_loops.py | FileCheck %s
// RUN: gantry compile %s --target-cpu=x86-64-v4 -o %t.gantry
// RUN: %python -B %S/Inputs/extract_objects.py %t.gantry %t
// RUN: llvm-objdump -d --no-show-raw-insn %t.0 | %python -B %S/Inputs/check_hot_loops.py | FileCheck %s
// CHECK-NOT: mm
// CHECK: some loops multiply and add, 0 instructions of them use the stack

func.func @main(%x: tensor<1x61x256xui8>, %image: tensor<1x64x14x14xui8>, %keys: tensor<1x256x64xi8>,
                %values: tensor<1x256x48xi8>)
    -> (tensor<1x61x64xi32>, tensor<1x61x48xi32>, tensor<1x61x32xi32>, tensor<1x61x16xi32>, tensor<1x64x14x14xi32>,
        tensor<1x61x64xi32>, tensor<1x61x48xi32>) {
  %w64 = gantry.constant dense<1> : tensor<256x64xi8>
  %w48 = gantry.constant dense<2> : tensor<256x48xi8>
  %w32 = gantry.constant dense<3> : tensor<256x32xi8>
  %w16 = gantry.constant dense<4> : tensor<256x16xi8>
  %filter = gantry.constant dense<5> : tensor<64x64x3x3xi8>
  %0 = gantry.matmul %x, %w64 : (tensor<1x61x256xui8>, tensor<256x64xi8>) -> tensor<1x61x64xi32>
  %1 = gantry.matmul %x, %w48 : (tensor<1x61x256xui8>, tensor<256x48xi8>) -> tensor<1x61x48xi32>
  %2 = gantry.matmul %x, %w32 : (tensor<1x61x256xui8>, tensor<256x32xi8>) -> tensor<1x61x32xi32>
  %3 = gantry.matmul %x, %w16 : (tensor<1x61x256xui8>, tensor<256x16xi8>) -> tensor<1x61x16xi32>
  %4 = gantry.conv %image, %filter {strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x64x14x14xui8>, tensor<64x64x3x3xi8>) -> tensor<1x64x14x14xi32>
  %5 = gantry.matmul %x, %keys : (tensor<1x61x256xui8>, tensor<1x256x64xi8>) -> tensor<1x61x64xi32>
  %6 = gantry.matmul %x, %values : (tensor<1x61x256xui8>, tensor<1x256x48xi8>) -> tensor<1x61x48xi32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<1x61x64xi32>, tensor<1x61x48xi32>, tensor<1x61x32xi32>, tensor<1x61x16xi32>, tensor<1x64x14x14xi32>, tensor<1x61x64xi32>, tensor<1x61x48xi32>
}
