// Processors that multiply matrices (AMX): their tiles, what plans say of them, and their code.

// Tiles of up to 32 rows, which 33 rows make two of; one row, too, is a matrix. f32 has none.
// RUN: gantry compile %s --math=bf16 --target-cpu=sapphirerapids --stop-after=kernel -o - | FileCheck %s --check-prefix=TILES
// TILES-DAG: call @gantry_matrices_bf16_17x48_
// TILES-DAG: call @gantry_matrices_bf16_16x48_
// TILES-DAG: call @gantry_matrices_bf16_1x64_
// TILES-DAG: call @gantry_matrices_bytes_32x64_

// Attention: rows that have room on the stack, 16 of 900 keys. Of 40 queries it has 14, or 13 and one that fills them up.
// TILES-DAG: call @gantry_matrices_bf16_14x48_0
// TILES-DAG: call @gantry_matrices_bf16_14x64_0
// TILES-NOT: call @gantry_matrices_bf16_13x
// TILES-NOT: gantry_tile_
// RUN: gantry compile %s --target-cpu=sapphirerapids --stop-after=kernel -o - | FileCheck %s --check-prefix=F32
// F32: call @gantry_tile_f32_
// F32-NOT: gantry_matrices_bf16

// A thread sets the shape of its registers once for all tiles of a kernel.
// RUN: gantry compile %s --math=bf16 --target-cpu=sapphirerapids --stop-after=llvm -o - | FileCheck %s --check-prefix=LLVM
// LLVM-LABEL: define hidden void @gantry_matrices_bf16_17x48_
// LLVM: @llvm.x86.tileloadd64(i8 0,
// LLVM: @llvm.x86.tilezero(i8 0)
// LLVM: @llvm.x86.tdpbf16ps(i8 0,
// LLVM: @llvm.x86.tilestored64(i8 0,

// Sums stay in registers.
// RUN: gantry compile %s --math=bf16 --target-cpu=sapphirerapids,x86-64-v4 -o %t.gantry
// RUN: %python -B %S/Inputs/extract_objects.py %t.gantry %t
// RUN: llvm-objdump -d --no-show-raw-insn %t.0 | FileCheck %s --check-prefix=CODE
// CODE: ldtilecfg
// CODE: tilerelease
// CODE: {{tdpbf16ps %tmm[0-7], %tmm[0-7], %tmm[0-7]|tdpbf16ps	%tmm[0-7], %tmm[0-7], %tmm[0-7]}}
// RUN: llvm-objdump -d --no-show-raw-insn %t.0 | %python -B %S/Inputs/check_hot_loops.py | FileCheck %s --check-prefix=LOOPS
// RUN: llvm-objdump -d --no-show-raw-insn %t.1 | %python -B %S/Inputs/check_hot_loops.py | FileCheck %s --check-prefix=LOOPS
// LOOPS: some loops multiply and add, 0 instructions of them use the stack

// Plans say that they need it if they use it; the other CPU's code has tiles of vectors.
// RUN: gantry plan-text %t.gantry | FileCheck %s --check-prefix=NEEDS
// NEEDS: plan.code @code0 elf for "x86-64" needs [{{.*}}"avx512_bf16", "amx_tile", "amx_bf16", "amx_int8"]
// NEEDS: plan.code @code1 elf for "x86-64" needs ["x86-64-v4"]

// Features beyond those of a name.
// RUN: gantry compile %s --math=bf16 --target-cpu=x86-64-v4+amx_bf16 -o %t.added.gantry
// RUN: gantry plan-text %t.added.gantry | FileCheck %s --check-prefix=ADDED
// ADDED: plan.code @code0 elf for "x86-64" needs ["x86-64-v4", "amx_tile", "amx_bf16"]
// RUN: not gantry compile %s --target-cpu=x86-64-v4+amx -o %t.none.gantry 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: gantry: error: {{.*}}unknown feature 'amx' of x86-64 in --target-cpu

func.func @main(%x: tensor<33x70xf32>, %y: tensor<1x70xf32>, %z: tensor<64x72xui8>,
                %queries: tensor<2x40x64xf32>, %keys: tensor<2x900x64xf32>, %values: tensor<2x900x64xf32>)
    -> (tensor<33x48xf32>, tensor<1x64xf32>, tensor<64x64xi32>, tensor<2x40x64xf32>) {
  %w48 = gantry.constant dense<1.0> : tensor<70x48xf32>
  %w64 = gantry.constant dense<2.0> : tensor<70x64xf32>
  %bytes = gantry.constant dense<3> : tensor<72x64xi8>
  %0 = gantry.matmul %x, %w48 : (tensor<33x70xf32>, tensor<70x48xf32>) -> tensor<33x48xf32>
  %1 = gantry.matmul %y, %w64 : (tensor<1x70xf32>, tensor<70x64xf32>) -> tensor<1x64xf32>
  %2 = gantry.matmul %z, %bytes : (tensor<64x72xui8>, tensor<72x64xi8>) -> tensor<64x64xi32>
  %scores = gantry.matmul %queries, %keys {transpose_b} : (tensor<2x40x64xf32>, tensor<2x900x64xf32>) -> tensor<2x40x900xf32>
  %weights = gantry.softmax %scores {axis = 2 : i64} : (tensor<2x40x900xf32>) -> tensor<2x40x900xf32>
  %3 = gantry.matmul %weights, %values : (tensor<2x40x900xf32>, tensor<2x900x64xf32>) -> tensor<2x40x64xf32>
  return %0, %1, %2, %3 : tensor<33x48xf32>, tensor<1x64xf32>, tensor<64x64xi32>, tensor<2x40x64xf32>
}
