// The pass alone, on buffers: zeros, the sums and what follows them become one loop, and the buffer
// between them disappears. What has no zeros to start from is no convolution of its own.

// RUN: gantry-opt %s --gantry-emit-convolutions | FileCheck %s

#image = affine_map<(n, x, o, k, c) -> (n, x + k, c)>
#filter = affine_map<(n, x, o, k, c) -> (0, k, c, o)>
#result = affine_map<(n, x, o, k, c) -> (n, x, o)>
#id = affine_map<(n, x, o) -> (n, x, o)>

// CHECK-LABEL: @fused(
// CHECK-NOT: memref.alloc
// CHECK: scf.forall
// CHECK: vector.fma
// CHECK: arith.negf {{.*}} : vector<16xf32>
// CHECK: vector.store
// CHECK-NOT: linalg
func.func @fused(%x: memref<1x6x4xf32>, %w: memref<1x3x4x16xf32>, %y: memref<1x4x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<1x4x16xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<1x4x16xf32>)
  linalg.generic {indexing_maps = [#image, #filter, #result], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : memref<1x6x4xf32>, memref<1x3x4x16xf32>) outs(%sums : memref<1x4x16xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%sums : memref<1x4x16xf32>) outs(%y : memref<1x4x16xf32>) {
  ^bb0(%s: f32, %o: f32):
    %n = arith.negf %s : f32
    linalg.yield %n : f32
  }
  return
}

// CHECK-LABEL: @accumulates(
// CHECK: linalg.generic
func.func @accumulates(%x: memref<1x6x4xf32>, %w: memref<1x3x4x16xf32>, %y: memref<1x4x16xf32>) {
  linalg.generic {indexing_maps = [#image, #filter, #result], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : memref<1x6x4xf32>, memref<1x3x4x16xf32>) outs(%y : memref<1x4x16xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  }
  return
}

// Work for 13 items is cut into 16, so that two threads and four have the same, and each item has as
// many of the 139 blocks of pixels as any other, or one more.
// CHECK-LABEL: @even(
// CHECK: scf.forall (%{{.*}}, %[[ITEM:.*]]) in (1, 16)
// CHECK: %[[ALL:.*]] = arith.constant 139 : index
// CHECK: %[[FROM:.*]] = arith.muli %[[ITEM]], %[[ALL]]
// CHECK: %[[TO:.*]] = arith.addi %[[FROM]], %{{.*}} : index
// CHECK: %[[ITEMS:.*]] = arith.constant 16 : index
// CHECK: arith.divui %[[FROM]], %[[ITEMS]]
// CHECK: arith.divui %[[TO]], %{{.*}} : index
func.func @even(%x: memref<1x832x128xf32>, %w: memref<1x1x128x64xf32>, %y: memref<1x832x64xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<1x832x64xf32>)
  linalg.generic {indexing_maps = [#image, #filter, #result], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : memref<1x832x128xf32>, memref<1x1x128x64xf32>) outs(%y : memref<1x832x64xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  }
  return
}
