// The pass alone: what moves elements between buffers with different last dimensions.

// RUN: gantry-opt %s --gantry-emit-transposes | FileCheck %s

#from = affine_map<(n, p, c) -> (n, c, p)>
#to = affine_map<(n, p, c) -> (n, p, c)>

// A work item may have fewer images than the others.
// CHECK-LABEL: @open(
// CHECK-SAME: %[[X:.*]]: memref<?x32x64xf32>, %[[Y:.*]]: memref<?x64x32xf32>
// CHECK: %[[N:.*]] = memref.dim %[[Y]], %c0
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %[[N]]
// CHECK-COUNT-64: vector.shuffle
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @open(%x: memref<?x32x64xf32>, %y: memref<?x64x32xf32>) {
  linalg.generic {indexing_maps = [#from, #to], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : memref<?x32x64xf32>) outs(%y : memref<?x64x32xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}

// What computes is for others, and so are dimensions that are not known or whose rows have gaps.
// CHECK-LABEL: @others(
// CHECK-COUNT-3: linalg.generic
// CHECK-NOT: vector.
// CHECK: return
func.func @others(%x: memref<2x32x64xf32>, %y: memref<2x64x32xf32>, %o: memref<2x32x?xf32>, %p: memref<2x?x32xf32>,
                  %r: memref<2x3x64xf32>, %s: memref<2x64x3xf32, strided<[256, 4, 1]>>) {
  linalg.generic {indexing_maps = [#from, #to], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : memref<2x32x64xf32>) outs(%y : memref<2x64x32xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#from, #to], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%o : memref<2x32x?xf32>) outs(%p : memref<2x?x32xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [#from, #to], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%r : memref<2x3x64xf32>) outs(%s : memref<2x64x3xf32, strided<[256, 4, 1]>>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}
