// Products of rounded factors (--math): how they lie, and which tiles multiply them.

// The constant has its terms in pairs, and so has the operand that the kernel packs: 33 of them are
// 17. Rows are read where they lie, both products those of one cast.
// RUN: gantry compile %s --math=bf16 --target-cpu=cooperlake --stop-after=fuse -o - | FileCheck %s --check-prefix=FUSE
// FUSE: gantry.kernel @cast_0
// FUSE: gantry.kernel @matmul_add_0 attributes {gantry.layouts = [unit, {columns = array<i64: 48, 1>, group = 2 : i64, matrices = array<i64>, rows = array<i64: 33, 48>, width = 48 : i64}, unit]}
// FUSE: gantry.matmul %{{.*}}, %{{.*}} {accumulate_type = f32} : (tensor<9x33xbf16>, tensor<33x48xbf16>) -> tensor<9x48xf32>
// FUSE: gantry.kernel @cast_1
// FUSE: gantry.kernel @matmul_0
// FUSE-NOT: gantry.kernel

// RUN: gantry compile %s --math=bf16 --target-cpu=cooperlake --stop-after=kernel -o - | FileCheck %s --check-prefix=PAIRS
// PAIRS-LABEL: func.func private @matmul_add_0(
// PAIRS-SAME: memref<9x33xbf16>
// PAIRS-SAME: memref<1632xbf16>
// PAIRS: call @gantry_tile_bf16_9x48_0(
// PAIRS: arith.addf
// PAIRS-LABEL: func.func private @matmul_0(
// PAIRS: memref.alloca() {{.*}} : memref<17x48x2xbf16>
// PAIRS: call @gantry_tile_bf16_9x48_0_48of48(

// f16 has panels of f16, and rows that the kernel widens.
// RUN: gantry compile %s --math=f16 --target-cpu=x86-64-v4 --stop-after=kernel -o - | FileCheck %s --check-prefix=HALF
// HALF-LABEL: func.func private @matmul_add_0(
// HALF-SAME: memref<9x33xf16>
// HALF-SAME: memref<1584xf16>
// HALF: memref.alloca() {{.*}} : memref<9x33xf32>
// HALF: call @gantry_tile_f16_9x48_0(
// HALF-LABEL: func.func private @matmul_0(
// HALF: call @gantry_tile_f32_9x48_0_48of48(

// AVX512-BF16 multiplies pairs; of the 33rd term alone the left one is read. Others add the odd term,
// then the even one.
// RUN: gantry compile %s --math=bf16 --target-cpu=znver4 --stop-after=llvm -o - | FileCheck %s --check-prefix=DOT
// DOT-LABEL: define hidden void @gantry_tile_bf16_9x48_0(
// DOT: @llvm.x86.avx512bf16.dpbf16ps.512
// DOT: call <2 x i16> @llvm.masked.load.v2i16
// DOT: @llvm.x86.avx512bf16.dpbf16ps.512
// DOT-NOT: llvm.fma
// RUN: gantry compile %s --math=bf16 --target-cpu=x86-64-v4 --stop-after=llvm -o - | FileCheck %s --check-prefix=FMA
// FMA-LABEL: define hidden void @gantry_tile_bf16_9x48_0(
// FMA: %[[ODD:.*]] = and <16 x i32> %{{.*}}, splat (i32 -65536)
// FMA: %[[EVEN:.*]] = shl <16 x i32> %{{.*}}, splat (i32 16)
// FMA: call <16 x float> @llvm.fma.v16f32
// FMA-NOT: dpbf16ps

// tf32 is a matter of tensor cores.
// RUN: gantry compile %s --math=tf32 -o %t.tf32.gantry
// RUN: gantry compile %s --math=tf32 --target-cpu=x86-64-v4 --stop-after=kernel -o - | FileCheck %s --check-prefix=PLAIN
// PLAIN: call @gantry_tile_f32_9x48_0(
// PLAIN-NOT: 16>

// RUN: not gantry compile %s --math=bf17 -o %t.gantry 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: --math: expected one of f32, tf32, bf16, f16, got 'bf17'

func.func @main(%x: tensor<9x33xf32>, %b: tensor<48xf32>, %y: tensor<33x48xf32>) -> (tensor<9x48xf32>, tensor<9x48xf32>) {
  %w = gantry.constant dense<1.0> : tensor<33x48xf32>
  %0 = gantry.matmul %x, %w : (tensor<9x33xf32>, tensor<33x48xf32>) -> tensor<9x48xf32>
  %1 = gantry.add %0, %b : (tensor<9x48xf32>, tensor<48xf32>) -> tensor<9x48xf32>
  %2 = gantry.matmul %x, %y : (tensor<9x33xf32>, tensor<33x48xf32>) -> tensor<9x48xf32>
  return %1, %2 : tensor<9x48xf32>, tensor<9x48xf32>
}
