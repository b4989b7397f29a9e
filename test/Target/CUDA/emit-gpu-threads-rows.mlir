// RUN: gantry-opt %s --gantry-emit-gpu-threads --canonicalize --cse -split-input-file | FileCheck %s --implicit-check-not=linalg. --implicit-check-not=tensor.

// Short rows share a warp: four teams of eight lanes in each, which shuffle among themselves.
// CHECK-LABEL: func.func private @short_rows(
// CHECK-SAME: gpu.known_block_size = array<i32: 32, 1, 1>, gpu.known_grid_size = array<i32: 16, 1, 1>
// CHECK-DAG: %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK: %[[THREAD:.*]] = gpu.thread_id  x
// CHECK: %[[LANE:.*]] = arith.remui %[[THREAD]], %[[EIGHT]]
// CHECK-COUNT-3: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// The first lane writes.
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[LANE]]
// CHECK: scf.if %[[FIRST]] {
// CHECK: memref.store
#row = affine_map<(i, j) -> (i)>
#all = affine_map<(i, j) -> (i, j)>
func.func private @short_rows(%x: tensor<64x32xf32>) -> tensor<64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x32xf32>) outs(%start : tensor<64xf32>) {
  ^bb0(%a: f32, %c: f32):
    %0 = arith.addf %c, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  return %sum : tensor<64xf32>
}

// -----

// A long row has several warps: their sums meet in shared memory, with one barrier.
// CHECK-LABEL: func.func private @long_row(
// CHECK-SAME: gpu.known_block_size = array<i32: 256, 1, 1>, gpu.known_grid_size = array<i32: 2, 1, 1>
// CHECK: %[[MEMORY:.*]] = memref.alloc() {{.*}} : memref<8xf32, #gpu.address_space<workgroup>>
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: scf.if
// CHECK-NEXT: memref.store %{{.*}}, %[[MEMORY]]
// CHECK: gpu.barrier
// CHECK-COUNT-8: memref.load %[[MEMORY]]
// CHECK-NOT: gpu.barrier
#row = affine_map<(i, j) -> (i)>
#all = affine_map<(i, j) -> (i, j)>
func.func private @long_row(%x: tensor<2x4096xf32>) -> tensor<2xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<2xf32>) -> tensor<2xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<2x4096xf32>) outs(%start : tensor<2xf32>) {
  ^bb0(%a: f32, %c: f32):
    %0 = arith.addf %c, %a : f32
    linalg.yield %0 : f32
  } -> tensor<2xf32>
  return %sum : tensor<2xf32>
}

// -----

// Rows that registers do not hold are a loop of pieces.
// CHECK-LABEL: func.func private @longer_row(
// CHECK-SAME: gpu.known_block_size = array<i32: 512, 1, 1>
// CHECK: scf.for
// CHECK-COUNT-4: memref.load
// CHECK: scf.yield
#row = affine_map<(i, j) -> (i)>
#all = affine_map<(i, j) -> (i, j)>
func.func private @longer_row(%x: tensor<2x65536xf32>) -> tensor<2xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<2xf32>) -> tensor<2xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<2x65536xf32>) outs(%start : tensor<2xf32>) {
  ^bb0(%a: f32, %c: f32):
    %0 = arith.addf %c, %a : f32
    linalg.yield %0 : f32
  } -> tensor<2xf32>
  return %sum : tensor<2xf32>
}

// -----

// The best element and its place: of two that are as good neither is better, and the first place counts.
// CHECK-LABEL: func.func private @place(
// CHECK: gpu.shuffle xor %[[MINE:.*]], %
// The place is 64 bits, which go by halves.
// CHECK: gpu.shuffle xor
// CHECK: gpu.shuffle xor
// CHECK: arith.cmpf ogt
// CHECK: arith.cmpf ogt
// CHECK: arith.cmpi slt, %{{.*}}, %{{.*}} : i64
#row = affine_map<(i, j) -> (i)>
#all = affine_map<(i, j) -> (i, j)>
func.func private @place(%x: tensor<8x64xf32>) -> tensor<8xi64> {
  %low = arith.constant 0xFF800000 : f32
  %first = arith.constant 0 : i64
  %e0 = tensor.empty() : tensor<8xf32>
  %e1 = tensor.empty() : tensor<8xi64>
  %s0 = linalg.fill ins(%low : f32) outs(%e0 : tensor<8xf32>) -> tensor<8xf32>
  %s1 = linalg.fill ins(%first : i64) outs(%e1 : tensor<8xi64>) -> tensor<8xi64>
  %best:2 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x64xf32>) outs(%s0, %s1 : tensor<8xf32>, tensor<8xi64>) {
  ^bb0(%a: f32, %b: f32, %p: i64):
    %0 = arith.cmpf ogt, %a, %b : f32
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i64
    %1 = arith.select %0, %a, %b : f32
    %2 = arith.select %0, %j, %p : i64
    linalg.yield %1, %2 : f32, i64
  } -> (tensor<8xf32>, tensor<8xi64>)
  return %best#1 : tensor<8xi64>
}
