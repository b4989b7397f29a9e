// RUN: gantry-opt %s --gantry-emit-gpu-threads --canonicalize --cse -split-input-file | FileCheck %s --implicit-check-not=linalg. --implicit-check-not=tensor.

// Neighbouring threads have neighbouring columns; few columns are split among slices of a block, whose sums
// meet in shared memory.
// CHECK-LABEL: func.func private @few_columns(
// CHECK-SAME: gpu.known_block_size = array<i32: 512, 1, 1>, gpu.known_grid_size = array<i32: 3, 1, 1>
// CHECK-DAG: %[[COLUMNS:.*]] = arith.constant 32 : index
// CHECK: %[[MEMORY:.*]] = memref.alloc() {{.*}} : memref<512xf32, #gpu.address_space<workgroup>>
// CHECK: %[[THREAD:.*]] = gpu.thread_id  x
// CHECK: %[[SLICE:.*]] = arith.divui %[[THREAD]], %[[COLUMNS]]
// CHECK: memref.store %{{.*}}, %[[MEMORY]][%[[THREAD]]]
// CHECK: gpu.barrier
// CHECK-COUNT-16: memref.load %[[MEMORY]]
#column = affine_map<(i, j) -> (j)>
#all = affine_map<(i, j) -> (i, j)>
func.func private @few_columns(%x: tensor<1000x96xf32>) -> tensor<96xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<96xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<96xf32>) -> tensor<96xf32>
  %sum = linalg.generic {indexing_maps = [#all, #column], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<1000x96xf32>) outs(%start : tensor<96xf32>) {
  ^bb0(%a: f32, %c: f32):
    %0 = arith.addf %c, %a : f32
    linalg.yield %0 : f32
  } -> tensor<96xf32>
  return %sum : tensor<96xf32>
}

// -----

// Many columns need no slices.
// CHECK-LABEL: func.func private @many_columns(
// CHECK-SAME: gpu.known_block_size = array<i32: 128, 1, 1>, gpu.known_grid_size = array<i32: 1024, 1, 1>
// CHECK-NOT: gpu.barrier
#column = affine_map<(i, j) -> (j)>
#all = affine_map<(i, j) -> (i, j)>
func.func private @many_columns(%x: tensor<100x131072xf32>) -> tensor<131072xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<131072xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<131072xf32>) -> tensor<131072xf32>
  %sum = linalg.generic {indexing_maps = [#all, #column], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<100x131072xf32>) outs(%start : tensor<131072xf32>) {
  ^bb0(%a: f32, %c: f32):
    %0 = arith.addf %c, %a : f32
    linalg.yield %0 : f32
  } -> tensor<131072xf32>
  return %sum : tensor<131072xf32>
}
