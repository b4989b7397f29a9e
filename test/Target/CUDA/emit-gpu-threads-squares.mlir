// RUN: gantry-opt %s --gantry-emit-gpu-threads --canonicalize --cse -split-input-file | FileCheck %s --implicit-check-not=linalg. --implicit-check-not=tensor.

// A transposed operand goes through a square in shared memory, whose rows are 33 elements apart; the other
// one is read where the result is written.
// CHECK-LABEL: func.func private @turn(
// CHECK-SAME: %[[X:[a-z0-9]*]]: memref<64x96xf32>{{[^%]*}}%[[Y:[a-z0-9]*]]: memref<96x64xf32>
// CHECK-SAME: gpu.known_block_size = array<i32: 256, 1, 1>, gpu.known_grid_size = array<i32: 6, 1, 1>
// CHECK: %[[SQUARE:.*]] = memref.alloc() {{.*}} : memref<1056xf32, #gpu.address_space<workgroup>>
// CHECK-COUNT-4: memref.load %[[X]]
// CHECK-COUNT-4: memref.store %{{.*}}, %[[SQUARE]]
// CHECK: gpu.barrier
// CHECK: memref.load %[[SQUARE]]
// CHECK: memref.load %[[Y]]
// CHECK: arith.addf
// CHECK-COUNT-4: memref.store
#turned = affine_map<(i, j) -> (j, i)>
#all = affine_map<(i, j) -> (i, j)>
func.func private @turn(%x: tensor<64x96xf32>, %y: tensor<96x64xf32>) -> tensor<96x64xf32> {
  %empty = tensor.empty() : tensor<96x64xf32>
  %0 = linalg.generic {indexing_maps = [#turned, #all, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<64x96xf32>, tensor<96x64xf32>) outs(%empty : tensor<96x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %1 = arith.addf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<96x64xf32>
  return %0 : tensor<96x64xf32>
}

// -----

// Squares at an end look where elements are; the others do not.
// CHECK-LABEL: func.func private @ends(
// CHECK: scf.if %[[WHOLE:.*]] {
// CHECK-NOT: scf.if
// CHECK: gpu.barrier
// CHECK-NOT: scf.if
// CHECK: }
// CHECK: scf.if
// CHECK: scf.if
// CHECK: gpu.barrier
#turned = affine_map<(i, j) -> (j, i)>
#all = affine_map<(i, j) -> (i, j)>
func.func private @ends(%x: tensor<50x70xi8>) -> tensor<70x50xi8> {
  %empty = tensor.empty() : tensor<70x50xi8>
  %0 = linalg.generic {indexing_maps = [#turned, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<50x70xi8>) outs(%empty : tensor<70x50xi8>) {
  ^bb0(%a: i8, %c: i8):
    linalg.yield %a : i8
  } -> tensor<70x50xi8>
  return %0 : tensor<70x50xi8>
}

// -----

// Three channels in front: the place of the square is four elements wide and 256 high, and its long side the inner one.
// CHECK-LABEL: func.func private @channels(
// CHECK: memref.alloc() {{.*}} : memref<1056xf32, #gpu.address_space<workgroup>>
#nhwc = affine_map<(n, c, i) -> (n, i, c)>
#nchw = affine_map<(n, c, i) -> (n, c, i)>
func.func private @channels(%x: tensor<2x1024x3xf32>) -> tensor<2x3x1024xf32> {
  %empty = tensor.empty() : tensor<2x3x1024xf32>
  %0 = linalg.generic {indexing_maps = [#nhwc, #nchw], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x1024x3xf32>) outs(%empty : tensor<2x3x1024xf32>) {
  ^bb0(%a: f32, %c: f32):
    linalg.yield %a : f32
  } -> tensor<2x3x1024xf32>
  return %0 : tensor<2x3x1024xf32>
}
