// Convolutions and attention of rounded factors (--math=bf16): what multiplies, and where it is rounded.

// The image of the second convolution is rounded in the kernel that makes it; attention is one kernel, whose operands
// are bf16.
// RUN: gantry compile %s --math=bf16 --target-cpu=cooperlake --stop-after=fuse -o - | FileCheck %s --check-prefix=FUSE
// FUSE: gantry.kernel @conv_relu_cast_0
// FUSE: gantry.kernel @conv_0
// FUSE: gantry.kernel @matmul_softmax_cast_matmul_0

// RUN: gantry compile %s --math=bf16 --target-cpu=cooperlake --stop-after=kernel -o - | FileCheck %s --check-prefix=KERNEL
// KERNEL-LABEL: func.func private @conv_relu_cast_0(
// KERNEL: %[[PAIR:.*]] = vector.bitcast %{{.*}} : vector<2xbf16> to vector<1xi32>
// KERNEL: call @gantry_dot_bf16_16(
// KERNEL: arith.truncf %{{.*}} : vector<16xf32> to vector<16xbf16>
// KERNEL-LABEL: func.func private @matmul_softmax_cast_matmul_0(
// KERNEL: call @gantry_tile_bf16_7x48_0(
// KERNEL: arith.truncf
// KERNEL: call @gantry_tile_bf16_7x16_0(

// RUN: gantry compile %s --math=bf16 --target-cpu=znver4 --stop-after=llvm -o - | FileCheck %s --check-prefix=DOT
// DOT: @llvm.x86.avx512bf16.dpbf16ps.512
// The odd channel first.
// RUN: gantry compile %s --math=bf16 --target-cpu=x86-64-v4 --stop-after=llvm -o - | FileCheck %s --check-prefix=FMA
// FMA: %[[ODD:.*]] = and <16 x i32> %{{.*}}, splat (i32 -65536)
// FMA: call <16 x float> @llvm.fma.v16f32
// FMA: shl <16 x i32> %{{.*}}, splat (i32 16)
// FMA: call <16 x float> @llvm.fma.v16f32
// FMA-NOT: dpbf16ps

// All sums are in registers.
// RUN: gantry compile %s --math=bf16 --target-cpu=znver4 -o %t.gantry
// RUN: %python -B %S/Inputs/extract_objects.py %t.gantry %t
// RUN: llvm-objdump -d --no-show-raw-insn %t.0 | %python -B %S/Inputs/check_hot_loops.py | FileCheck %s --check-prefix=HOT
// HOT-NOT: mm
// HOT: some loops multiply and add, 0 instructions of them use the stack

// f16 rounds products of matrices alone, and on GPUs convolutions and attention stay as they are.
// RUN: gantry compile %s --math=f16 --stop-after=fuse -o - | FileCheck %s --check-prefix=PLAIN
// RUN: gantry compile %s --math=bf16 --devices=CPU:0,GPU:0 --simulate --place=*=GPU:0 --stop-after=fuse -o - | FileCheck %s --check-prefix=PLAIN
// PLAIN-NOT: {{x(bf16|f16)>}}

func.func @main(%x: tensor<1x32x14x14xf32>, %q: tensor<3x20x16xf32>, %k: tensor<3x40x16xf32>, %v: tensor<3x40x16xf32>) -> (tensor<1x48x14x14xf32>, tensor<3x20x16xf32>) {
  %w = gantry.constant dense<1.0> : tensor<64x32x3x3xf32>
  %u = gantry.constant dense<1.0> : tensor<48x64x1x1xf32>
  %0 = gantry.conv %x, %w {strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x32x14x14xf32>, tensor<64x32x3x3xf32>) -> tensor<1x64x14x14xf32>
  %1 = gantry.relu %0 : (tensor<1x64x14x14xf32>) -> tensor<1x64x14x14xf32>
  %2 = gantry.conv %1, %u {strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x64x14x14xf32>, tensor<48x64x1x1xf32>) -> tensor<1x48x14x14xf32>
  %3 = gantry.matmul %q, %k {transpose_b} : (tensor<3x20x16xf32>, tensor<3x40x16xf32>) -> tensor<3x20x40xf32>
  %4 = gantry.softmax %3 {axis = 2 : i64} : (tensor<3x20x40xf32>) -> tensor<3x20x40xf32>
  %5 = gantry.matmul %4, %v : (tensor<3x20x40xf32>, tensor<3x40x16xf32>) -> tensor<3x20x16xf32>
  return %2, %5 : tensor<1x48x14x14xf32>, tensor<3x20x16xf32>
}
